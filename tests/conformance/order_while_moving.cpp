// A7: the order holds while senders and receivers move between cores.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstdint>
#include <vector>

#include "support/numbered.hpp"
#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using support::Numbered;
using support::NumberedReceiver;
using support::Receivers;
using namespace std::chrono_literals;

// What draws an actor over to a core: it is idle when a message comes from there, time and again.
struct Draw {
  using Answer = void;
};

// A receiver of numbered messages that lets itself be drawn.
class Wanderer : public NumberedReceiver {
 public:
  using NumberedReceiver::NumberedReceiver;
  using NumberedReceiver::receive;
  void receive(Draw /*message*/) {}
};

// Sends the next number to each receiver, each time that it is drawn.
class Sender {
 public:
  Sender(std::uint32_t self, std::vector<Address<Wanderer>> to) : self_(self), to_(std::move(to)) {}
  void receive(Draw /*message*/) {
    for (const auto& receiver : to_) receiver.send(Numbered{self_, number_});
    ++number_;
  }

 private:
  std::uint32_t self_;
  std::vector<Address<Wanderer>> to_;
  std::uint32_t number_ = 0;
};

class OrderWhileMoving : public support::Running {
 protected:
  // From each core in turn, asks until the wanderers have followed.
  template <class A>
  void draw_around(std::vector<Address<A>> actors, int rounds) {
    for (std::size_t core = 0; core < cores(); ++core) {
      runtime.spawn_with(pinned_to(core), [actors, rounds, core] {
        support::Random random(core);
        for (int round = 0; round < rounds; ++round) {
          const auto& actor = actors[random.below(static_cast<std::uint32_t>(actors.size()))];
          for (int i = 0; i < 20; ++i) EXPECT_TRUE(actor.ask(Draw{}, support::kDeadline));
        }
      });
    }
  }

  std::vector<Address<Wanderer>> wanderers(std::size_t count, std::size_t senders) {
    std::vector<Address<Wanderer>> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(runtime.spawn_with<Wanderer>(on_core(i), &tally, senders));
    }
    return made;
  }

  void expect_moves() {
    if (is_shared(config().run_queue)) return;  // all roam
    if (cores() > 1) {
      EXPECT_GT(runtime.stats().moved, 0u) << "nothing moved, so nothing was tested";
    } else {
      EXPECT_EQ(runtime.stats().moved, 0u);
    }
  }

  support::Tally tally;
};
ON_ONE_AND_SEVERAL_CORES(OrderWhileMoving);

// A7
TEST_P(OrderWhileMoving, receivers_that_are_drawn_from_core_to_core_get_everything_in_order) {
  constexpr std::uint32_t kSenders = 4;
  constexpr std::uint32_t kMessages = 4000;
  const auto to = wanderers(3, kSenders);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(pinned_to(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        for (const auto& receiver : to) receiver.send(Numbered{sender, number});
        if (number % 8 == 0) this_actor::yield();
      }
    });
  }
  draw_around(to, 100);
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, std::uint64_t{kSenders} * kMessages * to.size());
  expect_moves();
}

// A7
TEST_P(OrderWhileMoving, senders_that_are_drawn_from_core_to_core_are_heard_in_order) {
  constexpr std::uint32_t kSenders = 4;
  constexpr int kRounds = 150;
  const auto to = wanderers(3, kSenders);
  std::vector<Address<Sender>> senders;
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    senders.push_back(runtime.spawn_with<Sender>(on_core(sender), sender, to));
  }
  draw_around(senders, kRounds);
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, std::uint64_t{cores()} * kRounds * 20 * to.size());
  expect_moves();
}

// A7
TEST_P(OrderWhileMoving, both_ends_may_move_at_once) {
  constexpr std::uint32_t kSenders = 3;
  constexpr int kRounds = 100;
  const auto to = wanderers(3, kSenders);
  std::vector<Address<Sender>> senders;
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    senders.push_back(runtime.spawn_with<Sender>(on_core(sender), sender, to));
  }
  draw_around(senders, kRounds);
  draw_around(to, kRounds);
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, std::uint64_t{cores()} * kRounds * 20 * to.size());
  expect_moves();
}

// A7, A4: all start on one core with plenty to do, so that idle cores take some over.
TEST_P(OrderWhileMoving, actors_that_are_shared_out_keep_their_order) {
  constexpr std::uint32_t kPairs = 40;
  constexpr std::uint32_t kMessages = 400;
  for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
    const auto receiver = runtime.spawn<Wanderer>(&tally, 1u);
    runtime.spawn([receiver] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        receiver.send(Numbered{0, number});
        support::burn(5us);
        if (number % 10 == 0) this_actor::yield();
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, std::uint64_t{kPairs} * kMessages);
  expect_moves();
}

// A7: a sender that blocks in the middle of its handler may go on on another core.
TEST_P(OrderWhileMoving, senders_that_sleep_between_their_sends_keep_the_order) {
  constexpr std::uint32_t kSenders = 60;
  constexpr std::uint32_t kMessages = 100;
  const auto to = wanderers(2, kSenders);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn([to, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        for (const auto& receiver : to) receiver.send(Numbered{sender, number});
        support::burn(10us);
        if (number % 4 == 0) {
          this_actor::sleep_for(20us);
        } else {
          this_actor::yield();
        }
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, std::uint64_t{kSenders} * kMessages * to.size());
  expect_moves();
}

}  // namespace
