// expect: static assertion failed.*bulkhead: spawn was given an object that cannot be called
// expect: (Object = |refuse_object<)Actor
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn(Actor{}); }
