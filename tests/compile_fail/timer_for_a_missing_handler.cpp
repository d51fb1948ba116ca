// expect: error: static assertion failed.*: bulkhead: this actor has no handler for this message
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <string>

struct Actor {
  void receive(int) {}
};

void start(bulkhead::Address<Actor> actor) {
  bulkhead::send_after(std::chrono::seconds(1), actor, std::string("text"));
}
