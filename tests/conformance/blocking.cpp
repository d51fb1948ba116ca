// C2, D1: any handler may block; who blocks keeps a stack, who does not has none.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::SpawnOptions;
using support::Clock;
using support::Door;
using namespace std::chrono_literals;

class Blocking : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Blocking);

TEST_P(Blocking, a_sleep_lasts_as_long_as_it_was_asked_to) {
  std::atomic<int> early{0};
  for (std::size_t i = 0; i < 200; ++i) {
    runtime.spawn_with(on_core(i), [i, &early] {
      for (int k = 0; k < 5; ++k) {
        const auto time = std::chrono::microseconds(100 * (i % 20));
        const auto start = Clock::now();
        this_actor::sleep_for(time);
        if (Clock::now() - start < time) ++early;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(early, 0);
}

TEST_P(Blocking, those_who_sleep_wake_in_the_order_of_their_deadlines) {
  support::Log<int> log;
  // Apart so far that their beginnings do not matter: all begin together.
  std::atomic<int> begun{0};
  for (int i = 0; i < 10; ++i) {
    const int place = i * 7 % 10;
    runtime.spawn_with(pinned_to(1), [place, &begun, &log] {
      ++begun;
      while (begun < 10) this_actor::yield();
      this_actor::sleep_for(50ms + place * 20ms);
      log.add(place);
    });
  }
  wait_for_idle();
  const auto woken = log.entries();
  ASSERT_EQ(woken.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(woken));
}

TEST_P(Blocking, a_yield_lets_every_other_ready_actor_run) {
  std::atomic<int> turns{0};
  std::atomic<bool> unfair{false};
  std::atomic<int> left{5};
  runtime.spawn_with(pinned_to(0), [&] {
    for (int i = 0; i < 5; ++i) {
      SpawnOptions pinned;
      pinned.pinned = true;
      bulkhead::spawn_with(pinned, [&] {
        for (int turn = 0; turn < 100; ++turn) {
          const int before = turns++;
          this_actor::yield();
          // While all five are at it, the four others had their turn meanwhile.
          if (turn < 99 && left == 5 && turns - before < 4) unfair = true;
        }
        --left;
      });
    }
  });
  wait_for_idle();
  EXPECT_EQ(turns, 500);
  EXPECT_FALSE(unfair);
}

TEST_P(Blocking, locals_and_registers_survive_a_wait) {
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn([i, &wrong] {
      double x = static_cast<double>(i) + 0.5;
      std::array<std::uint64_t, 64> numbers{};
      std::string text = "actor " + std::to_string(i);
      for (std::uint64_t round = 0; round < 50; ++round) {
        for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] += i * k + round;
        x = std::sqrt(x * x + 1.0);
        if (round % 3 == 0) {
          this_actor::yield();
        } else if (round % 7 == 0) {
          this_actor::sleep_for(20us);
        }
      }
      double y = static_cast<double>(i) + 0.5;
      for (int round = 0; round < 50; ++round) y = std::sqrt(y * y + 1.0);
      if (x != y) ++wrong;
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        if (numbers[k] != 50 * i * k + 49 * 50 / 2) ++wrong;
      }
      if (text != "actor " + std::to_string(i)) ++wrong;
    });
  }
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Blocking, an_actor_that_blocks_goes_on_with_the_same_message) {
  class Slow {
   public:
    explicit Slow(support::Log<int>* log) : log_(log) {}
    void receive(int value) {
      log_->add(value);
      this_actor::sleep_for(100us);
      this_actor::yield();
      log_->add(value);
    }

   private:
    support::Log<int>* log_;
  };
  support::Log<int> log;
  const auto slow = runtime.spawn_with<Slow>(on_core(1), &log);
  for (int i = 0; i < 50; ++i) slow.send(i);
  wait_for_idle();
  const auto entries = log.entries();
  ASSERT_EQ(entries.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(entries[i], static_cast<int>(i / 2));
}

// Wakes come from other cores and from outside, at once with timeouts, and never twice.
TEST_P(Blocking, wakes_and_timeouts_that_race_end_a_wait_once) {
  std::atomic<int> ended{0};
  const auto door = runtime.spawn_with<Door>(on_core(1));
  for (std::size_t i = 0; i < 200; ++i) {
    runtime.spawn_with(on_core(i), [door, i, &ended] {
      static_cast<void>(door.ask(Door::Pass{}, std::chrono::microseconds(500 + 5 * i)));
      const auto start = Clock::now();
      this_actor::sleep_for(2ms);
      EXPECT_GE(Clock::now() - start, 2ms) << "no wake-up was left over for the next wait";
      ++ended;
    });
  }
  runtime.spawn_with(on_core(2), [door] {
    this_actor::sleep_for(1ms);
    door.send(Door::Open{});
  });
  wait_for_idle();
  EXPECT_EQ(ended, 200);
}

// --- stacks ---

class Stacks : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Stacks);

// Uses about 1 KiB of stack for each step down.
[[gnu::noinline]] int go_down(int steps) {
  volatile char frame[900];
  frame[0] = static_cast<char>(steps);
  frame[899] = 1;
  if (steps == 0) return frame[899];
  return go_down(steps - 1) + frame[899];
}

TEST_P(Stacks, have_the_size_that_the_options_ask_for) {
  std::atomic<int> right{0};
  const std::pair<std::size_t, int> sizes[] = {{256 << 10, 150},
                                               {1 << 20, 700},
                                               {std::size_t{16} << 20, 12'000},
                                               {std::size_t{64} << 20, 50'000}};
  for (const auto& [bytes, steps] : sizes) {
    SpawnOptions options = on_core(1);
    options.stack_size = bytes;
    for (int i = 0; i < 3; ++i) {
      runtime.spawn_with(options, [steps = steps, &right] {
        if (go_down(steps) == steps + 1) ++right;
        this_actor::yield();
        if (go_down(steps) == steps + 1) ++right;
      });
    }
  }
  wait_for_idle();
  EXPECT_EQ(right, 24);
}

TEST_P(Stacks, of_all_sizes_take_turns) {
  std::atomic<int> right{0};
  const auto door = runtime.spawn<Door>();
  for (std::size_t i = 0; i < 60; ++i) {
    SpawnOptions options = on_core(i);
    int steps = 20;
    if (i % 3 != 0) {
      options.stack_size = std::size_t{256 << 10} << (i % 4);
      steps = 150;
    }
    runtime.spawn_with(options, [door, steps, &right] {
      EXPECT_EQ(go_down(steps), steps + 1);
      EXPECT_TRUE(door.ask(Door::Pass{}, bulkhead::kForever).has_value());
      EXPECT_EQ(go_down(steps), steps + 1);
      ++right;
    });
  }
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 60u; }));
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(right, 60);
}

TEST_P(Stacks, of_a_blocked_actor_are_given_back_when_it_ends) {
  const auto wait_together = [this] {
    const auto door = runtime.spawn<Door>();
    for (std::size_t i = 0; i < 500; ++i) {
      runtime.spawn_with(on_core(i), [door] {
        EXPECT_TRUE(door.ask(Door::Pass{}, bulkhead::kForever).has_value());
      });
    }
    ASSERT_TRUE(
        support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 500u; }));
    door.send(Door::Open{});
    wait_for_idle();
  };
  wait_together();
  const std::size_t mappings = support::mappings();
  const std::size_t resident = support::resident_bytes();
  for (int i = 0; i < 10; ++i) wait_together();
  // ThreadSanitizer keeps mappings of its own for each stack that a core keeps to use again.
  const std::size_t kept = support::kMemoryFactor > 1 ? 64 * cores() : 0;
  EXPECT_LE(support::mappings(), mappings + 20 * support::kMemoryFactor + kept);
  EXPECT_LE(support::resident_bytes(),
            resident + (std::size_t{8} << 20) * support::kMemoryFactor + kept * (512 << 10));
}

// D1: an idle actor with event handlers has no stack.
TEST_P(Stacks, are_not_kept_by_idle_actors) {
  class Small {
   public:
    int receive(int value) { return sum_ += value; }

   private:
    int sum_ = 0;
  };
  constexpr std::size_t kActors = 100'000;
  runtime.spawn([] {
    for (int i = 0; i < 1000; ++i) bulkhead::spawn<Small>();
  });
  wait_for_idle();
  const std::size_t before = support::resident_bytes();
  std::vector<bulkhead::Address<Small>> all;
  support::Log<std::vector<bulkhead::Address<Small>>> made;
  runtime.spawn([&made] {
    std::vector<bulkhead::Address<Small>> mine;
    for (std::size_t i = 0; i < kActors; ++i) {
      mine.push_back(bulkhead::spawn<Small>());
      mine.back().send(1);
    }
    made.add(std::move(mine));
  });
  wait_for_idle();
  const std::size_t each = (support::resident_bytes() - before) / kActors;
  EXPECT_LE(each, 1024 * support::kMemoryFactor)
      << "bytes for each idle actor, its address in the test's list included";
  EXPECT_EQ(made.entries()[0].back().ask(1, support::kDeadline), 2);
}

}  // namespace
