// A class that is final is asked as well, for what is public in it.
// expect: static assertion failed.*bulkhead: started\(\) of this class cannot be called
#include <bulkhead/bulkhead.hpp>

struct Actor final {
  void started(int) {}
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
