// expect: bulkhead: an actor's destructor must not throw
#include <bulkhead/bulkhead.hpp>

struct Actor {
  ~Actor() noexcept(false) {}
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
