// expect: static assertion failed.*takes a number that cannot hold all of its values
#include <bulkhead/bulkhead.hpp>

struct Actor {
  int receive(unsigned char number) { return number; }
};

bool use(bulkhead::Address<Actor> actor) { return actor.ask(300).has_value(); }
