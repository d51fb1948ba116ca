// expect: no matching (member )?function for call to .*spawn
#include <bulkhead/bulkhead.hpp>

struct Actor {
  explicit Actor(int) {}
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>("text"); }
