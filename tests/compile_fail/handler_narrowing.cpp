// expect: static assertion failed.*takes a number that cannot hold all of its values
// expect: (Message = |check_handled<Actor, )double
#include <bulkhead/bulkhead.hpp>

struct Actor {
  void receive(unsigned char) {}
};

void use(bulkhead::Address<Actor> actor) { actor.send(3.7); }
