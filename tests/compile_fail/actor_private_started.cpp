// expect: static assertion failed.*bulkhead: started\(\) of this class cannot be called
#include <bulkhead/bulkhead.hpp>

class Actor {
 public:
  void receive(int) {}

 private:
  void started() {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
