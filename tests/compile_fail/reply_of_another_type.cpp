// A13
// expect: no match(ing function)? for call to .*Reply<int>
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Question {
  using Answer = int;
};

struct Actor {
  void receive(Question, bulkhead::Reply<int> reply) { reply(std::string("text")); }
};

void ask(bulkhead::Address<Actor> actor) { static_cast<void>(actor.ask(Question{})); }
