// expect: static assertion failed.*bulkhead: an actor's class must not be abstract
#include <bulkhead/bulkhead.hpp>

struct Actor {
  virtual ~Actor() = default;
  virtual void receive(int) = 0;
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
