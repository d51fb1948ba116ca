// expect: static assertion failed.*no handler for this message.*by value, const& or &&
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(int& number) { ++number; }
};

void use(bulkhead::Address<Actor> actor) { actor.send(1); }
