// expect: no handler for this message: give the class a public member function
#include <bulkhead/bulkhead.hpp>

class Actor {
  void receive(int) {}
};

void use(bulkhead::Address<Actor> actor) { actor.send(1); }
