// C10: where an actor is not made to give way: inside NoPreempt, while it begins a wait, in hooks,
// and outside.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "preemptible/loops.hpp"
#include "support/preempting.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Config;
using bulkhead::NoPreempt;
using bulkhead::Runtime;
using support::allocate;
using support::Echo;
using support::Ping;
using support::preempting;
using namespace std::chrono_literals;

using Refused = support::Preempted;
ON_ONE_AND_SEVERAL_CORES(Refused);

TEST_P(Refused, not_inside_no_preempt) {
  if (cores() > 1) return;  // who competes must not run on another core
  long inside = 0;
  long nested = 0;
  long after = 0;
  const auto run = [&] {
    const long before = turns;
    for (int i = 0; i < 20; ++i) {
      allocate();
      bulkhead::check();
      preemptible::work(5'000);
    }
    return turns - before;
  };
  runtime.spawn([&] {
    compete();
    {
      const NoPreempt outer;
      inside = run();
      { const NoPreempt inner; }
      nested = run();
    }
    after = run();
    over = true;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(nested, 0);
  EXPECT_GT(after, 0);
}

TEST_P(Refused, nothing_blocks_inside_no_preempt) {
  const auto echo = runtime.spawn<Echo>();
  std::vector<std::string> errors;
  bool can_ask_after = false;
  runtime.spawn([&] {
    const auto error_of = [&](auto function) {
      const NoPreempt scope;
      try {
        function();
        errors.emplace_back("none");
      } catch (const std::logic_error& error) {
        errors.emplace_back(error.what());
      }
    };
    error_of([&] { static_cast<void>(echo.ask(Ping{})); });
    error_of([] { this_actor::sleep_for(1ms); });
    error_of([] { this_actor::yield(); });
    can_ask_after = echo.ask(Ping{}).has_value();
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const std::string expected = "bulkhead: an actor must not block inside NoPreempt";
  EXPECT_EQ(errors, std::vector<std::string>(3, expected));
  EXPECT_TRUE(can_ask_after);
}

// A message's constructors run before the wait of whoever asks begins: they may do all.
struct Restless {
  using Answer = bool;
  explicit Restless(std::atomic<int>* count) : moves(count) {}
  Restless(Restless&& other) : moves(other.moves) {
    for (int i = 0; i < 5; ++i) {
      allocate();
      bulkhead::check();
      preemptible::work(2'000);
    }
    this_actor::sleep_for(10us);
    ++*moves;
  }
  std::atomic<int>* moves;
};

TEST_P(Refused, not_in_the_constructors_of_messages_that_are_asked) {
  struct Taker {
    bool receive(Restless message) { return message.moves != nullptr; }
  };
  std::atomic<int> answered{0};
  std::atomic<int> moves{0};
  runtime.spawn([&] {
    const auto taker = bulkhead::spawn<Taker>();
    compete();
    for (int i = 0; i < 100; ++i) {
      if (taker.ask(Restless(&moves)).value_or(false)) ++answered;
    }
    over = true;
    bulkhead::stop(taker);
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(answered, 100);
  EXPECT_GE(moves, 100);
}

// The message fails while the asker has opened its wait: it goes on, and gives way again.
TEST_P(Refused, after_an_ask_that_failed_while_it_began) {
  struct Failing {
    using Answer = bool;
    Failing() = default;
    Failing(Failing&& /*other*/) { throw std::runtime_error("does not move"); }
  };
  struct Taker {
    bool receive(Failing /*message*/) { return true; }
  };
  long before = 0;
  long after = 0;
  int failed = 0;
  runtime.spawn([&] {
    const auto taker = bulkhead::spawn<Taker>();
    compete();
    try {
      static_cast<void>(taker.ask(Failing{}));
    } catch (const std::runtime_error&) {
      ++failed;
    }
    before = turns;
    // (On several cores the others may be on their way to another one.)
    for (int i = 0; i < 100'000 && turns == before; ++i) allocate();
    after = turns;
    over = true;
    bulkhead::stop(taker);
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(failed, 1);
  EXPECT_GT(after, before);
}

TEST(PreemptedHooks, are_not) {
  Config config = preempting(1);
  config.preempt_allocations = 1;
  config.time_slice = 0ns;
  bool inside = false;
  int interrupted = 0;
  int told = 0;
  const auto hook = [&](const auto& /*what*/) {
    inside = true;
    for (int i = 0; i < 20; ++i) {
      allocate();
      bulkhead::check();
      preemptible::work(10'000);
    }
    inside = false;
    ++told;
  };
  config.on_dead_letter = hook;
  config.on_death = hook;
  Runtime runtime(config);
  runtime.start();
  bool over = false;
  runtime.spawn([&] {
    for (int i = 0; i < 3; ++i) {
      bulkhead::spawn([&] {
        while (!over) {
          if (inside) ++interrupted;
          this_actor::yield();
        }
      });
    }
    const auto echo = bulkhead::spawn<Echo>();
    bulkhead::stop(echo);
    this_actor::sleep_for(5ms);
    for (int i = 0; i < 20; ++i) echo.send(Ping{});
    over = true;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(interrupted, 0);
  EXPECT_GE(told, 21);
}

TEST(PreemptionOutside, does_nothing) {
  for (int i = 0; i < 100'000; ++i) {
    bulkhead::check();
    allocate();
  }
  const NoPreempt scope;
  preemptible::work(100'000);
  Runtime runtime(preempting(1));
  runtime.start();
  const auto echo = runtime.spawn<Echo>();
  EXPECT_TRUE(echo.ask(Ping{})) << "a thread outside may block";
}

}  // namespace
