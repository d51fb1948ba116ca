// An actor whose constructor wants something, in an actor and with options.
// expect: bulkhead: an actor of this class cannot be constructed from these
#include <bulkhead/bulkhead.hpp>

struct Actor {
  explicit Actor(int) {}
  void receive(int) {}
};

void make() { bulkhead::spawn_with<Actor>({.pinned = true}); }
