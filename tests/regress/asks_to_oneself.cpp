// A13: who asks itself cannot answer before it has stopped waiting. What was wrong: such an ask
// waited for its whole time limit, for ever with kForever, and so did a send_or_wait.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Delivery;

struct Get {};
struct Fill {};
struct Go {};
struct Owner {
  std::unique_ptr<int> kept;
};

class Narcissus {
 public:
  explicit Narcissus(std::atomic<int>* right) : right_(right) {}

  int receive(Get /*message*/) { return 7; }
  void receive(Fill /*message*/) {}
  void receive(Owner /*message*/) {}
  void receive(Go /*message*/) {
    const auto self = this_actor::address(this);
    const auto answer = self.ask(Get{}, bulkhead::kForever);
    if (!answer && answer.error() == AskError::kSelf) ++*right_;
    while (self.send(Fill{}) == Delivery::kQueued) continue;
    Owner owner{std::make_unique<int>(1)};
    if (self.send_or_wait(owner, bulkhead::kForever) == Delivery::kFull && owner.kept != nullptr)
      ++*right_;
  }

 private:
  std::atomic<int>* right_;
};

class AsksToOneself : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(AsksToOneself);

TEST_P(AsksToOneself, fail_at_once) {
  std::atomic<int> right{0};
  bulkhead::SpawnOptions narrow = on_core(1);
  narrow.mailbox_bound = 10;
  const auto narcissus = runtime.spawn_with<Narcissus>(narrow, &right);
  narcissus.send(Go{});
  wait_for_idle();
  EXPECT_EQ(right, 2);
  const auto stats = runtime.stats();
  EXPECT_EQ(stats.sent, 11u) << "the messages that filled the mailbox, and no question";
  EXPECT_EQ(stats.handled, 11u);
  EXPECT_EQ(stats.refused, 1u);
  EXPECT_EQ(narcissus.ask(Get{}), 7) << "others may ask it";
}

}  // namespace
