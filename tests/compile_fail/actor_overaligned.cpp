// expect: bulkhead: an actor's class may be aligned to 64 bytes at most
#include <bulkhead/bulkhead.hpp>

struct alignas(128) Actor {
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
