// expect: (no matching function for call to .*send_after|could not convert|no viable conversion)
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <string>

struct Actor {
  void receive(int) {}
};

void start(bulkhead::Address<Actor> actor) {
  bulkhead::send_after(std::chrono::seconds(1), actor, std::string("text"));
}
