// expect: bulkhead: an actor is an object of a class of yours
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<const Actor>(); }
