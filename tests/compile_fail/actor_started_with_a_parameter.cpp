// expect: static assertion failed.*bulkhead: started\(\) of this class cannot be called
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void started(int) {}
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
