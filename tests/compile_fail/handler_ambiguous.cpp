// expect: static assertion failed.*no handler for this message.*no two that take it equally well
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Actor {
  void receive(std::string) {}
  void receive(const std::string&) {}
};

void use(bulkhead::Address<Actor> actor) { actor.send(std::string("text")); }
