// What is sent again and again must be copied (B11).
// expect: send_every sends copies of its message
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <memory>

struct Actor {
  void receive(std::unique_ptr<int>) {}
};

void start(bulkhead::Address<Actor> actor) {
  bulkhead::send_every(std::chrono::seconds(1), actor, std::make_unique<int>(1));
}
