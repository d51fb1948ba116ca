// A4: idle cores get work, whole actors at a time; actors that may not move stay.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <set>

#include "support/log.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using support::Clock;
using namespace std::chrono_literals;

// What is shared out is of partitioned run queues.
class Sharing : public support::Running {
 protected:
  static bulkhead::Config config() {
    bulkhead::Config partitioned = support::Running::config();
    partitioned.run_queue = bulkhead::RunQueue::kPartitioned;
    return partitioned;
  }
  Sharing() : Running(config()) {}
};
ON_ONE_AND_SEVERAL_CORES(Sharing);

// On which cores actors ran.
class Places {
 public:
  void note() { ran_[this_actor::core()].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t cores() const {
    std::size_t used = 0;
    for (const auto& ran : ran_) used += ran.load() != 0 ? 1 : 0;
    return used;
  }
  [[nodiscard]] bool elsewhere() const {
    for (std::size_t core = 1; core < ran_.size(); ++core) {
      if (ran_[core].load() != 0) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<long>, 16> ran_{};
};

// A4
TEST_P(Sharing, idle_cores_take_over_actors_of_a_busy_one) {
  Places places;
  support::Event enough;
  std::atomic<int> left{60};
  for (int i = 0; i < 60; ++i) {
    runtime.spawn([&] {
      while (!enough.happened()) {
        places.note();
        support::burn(50us);
        this_actor::yield();
      }
      --left;
    });
  }
  // The machine may have fewer processors than the runtime has cores; all the same every core gets
  // its share in the end.
  EXPECT_TRUE(support::eventually([&] { return places.cores() == cores(); }));
  enough.set();
  wait_for_idle();
  EXPECT_EQ(left, 0);
}

// A4
TEST_P(Sharing, pinned_actors_stay) {
  Places places;
  for (int i = 0; i < 40; ++i) {
    runtime.spawn_with(pinned_to(0), [&] {
      for (int k = 0; k < 50; ++k) {
        places.note();
        support::burn(20us);
        this_actor::yield();
      }
    });
  }
  wait_for_idle();
  EXPECT_FALSE(places.elsewhere());
  EXPECT_EQ(runtime.stats().moved, 0u);
}

// A4
TEST_P(Sharing, nothing_moves_when_sharing_is_off) {
  bulkhead::Config still = config();
  still.share_work = false;
  bulkhead::Runtime other(still);
  other.start();
  Places places;
  for (int i = 0; i < 40; ++i) {
    other.spawn([&] {
      for (int k = 0; k < 50; ++k) {
        places.note();
        support::burn(20us);
        this_actor::yield();
      }
    });
  }
  ASSERT_TRUE(other.wait_for_idle(support::kDeadline));
  EXPECT_FALSE(places.elsewhere());
  EXPECT_EQ(other.stats().moved, 0u);
}

// Handles messages slowly, so that a queue of them builds up and moves along.
class Slow : public support::NumberedReceiver {
 public:
  Slow(support::Tally* tally, Places* places) : NumberedReceiver(tally, 1), places_(places) {}
  void receive(support::Numbered message) {
    places_->note();
    support::burn(20us);
    NumberedReceiver::receive(message);
  }

 private:
  Places* places_;
};

// A4, A7
TEST_P(Sharing, an_actor_moves_with_all_its_messages) {
  constexpr std::uint32_t kActors = 40;
  constexpr std::uint32_t kMessages = 500;
  Places places;
  support::Tally tally;
  runtime.spawn([&] {
    for (std::uint32_t i = 0; i < kActors; ++i) {
      const auto slow = bulkhead::spawn<Slow>(&tally, &places);
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        slow.send(support::Numbered{0, number});
      }
    }
  });
  wait_for_idle();
  EXPECT_EQ(tally.handled, kActors * kMessages);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(places.elsewhere(), cores() > 1);
}

// A4
TEST_P(Sharing, one_actor_alone_is_left_where_it_is) {
  Places places;
  runtime.spawn([&] {
    for (int i = 0; i < 200; ++i) {
      places.note();
      support::burn(50us);
      this_actor::yield();
    }
  });
  wait_for_idle();
  EXPECT_FALSE(places.elsewhere());
}

// A4: those that wait for each other across cores must not hold each other up.
TEST_P(Sharing, goes_on_while_the_cores_talk_to_each_other) {
  Places places;
  support::Tally tally;
  support::Receivers receivers;
  for (std::size_t core = 0; core < cores(); ++core) {
    receivers.push_back(
        runtime.spawn_with<support::NumberedReceiver>(pinned_to(core), &tally, std::size_t{40}));
  }
  for (std::uint32_t sender = 0; sender < 40; ++sender) {
    runtime.spawn([&, receivers, sender] {
      for (std::uint32_t number = 0; number < 200; ++number) {
        places.note();
        for (const auto& receiver : receivers) receiver.send(support::Numbered{sender, number});
        if (number % 20 == 0) {
          EXPECT_TRUE(receivers[number % receivers.size()].ask(
              support::NumberedAsk{sender, number + 1}, support::kDeadline));
          for (const auto& receiver : receivers) {
            if (receiver != receivers[number % receivers.size()]) {
              receiver.send(support::Numbered{sender, number + 1});
            }
          }
          ++number;
        }
        support::burn(5us);
        this_actor::yield();
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, 40u * 200 * cores());
}

}  // namespace
