// C10, A21: handlers that run long give way: at allocations, at check(), and in code that is
// compiled for it; and not where they must not.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
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
using support::pinned_to;
using support::preempting;
using namespace std::chrono_literals;

// The ways to run for long.
enum class Way { kAllocate, kCheck, kSpin, kCount, kRecurse };

std::string name_of(Way way) {
  switch (way) {
    case Way::kAllocate:
      return "allocations";
    case Way::kCheck:
      return "checks";
    case Way::kSpin:
      return "an_empty_loop";
    case Way::kCount:
      return "a_counting_loop";
    case Way::kRecurse:
      return "recursion";
  }
  return "";
}

void run_until(const std::atomic<bool>& over, Way way) {
  switch (way) {
    case Way::kAllocate:
      while (!over) allocate();
      break;
    case Way::kCheck:
      while (!over) bulkhead::check();
      break;
    case Way::kSpin:
      preemptible::spin(over);
      break;
    case Way::kCount:
      preemptible::count(over);
      break;
    case Way::kRecurse:
      preemptible::recurse(over, 50);
      break;
  }
}

// --- who runs for long does not starve the others ------------------------------------------------

class Endless : public testing::TestWithParam<std::tuple<Way, std::size_t>> {
 protected:
  Endless() : runtime(preempting(std::get<1>(GetParam()))) { runtime.start(); }

  void loop_on(std::size_t core) {
    const Way way = std::get<0>(GetParam());
    runtime.spawn_with(pinned_to(core), [this, way] { run_until(over, way); });
  }

  std::atomic<bool> over{false};
  Runtime runtime;
};
INSTANTIATE_TEST_SUITE_P(Ways, Endless,
                         testing::Combine(testing::Values(Way::kAllocate, Way::kCheck, Way::kSpin,
                                                          Way::kCount, Way::kRecurse),
                                          testing::Values<std::size_t>(1, 2, 5)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) + "_on_" +
                                  std::to_string(std::get<1>(test.param));
                         });

// Two that loop on each core, and one that wants its turn: for messages from outside, from its own
// core, for timers, and to start.
TEST_P(Endless, do_not_starve_their_core) {
  std::atomic<std::size_t> done{0};
  for (std::size_t core = 0; core < runtime.cores(); ++core) {
    loop_on(core);
    loop_on(core);
    runtime.spawn_with(pinned_to(core), [&] {
      for (int i = 0; i < 10; ++i) {
        this_actor::sleep_for(1ms);
        bulkhead::spawn([] {});
        this_actor::yield();
      }
      ++done;
    });
  }
  const bool all = support::eventually([&] { return done == runtime.cores(); });
  over = true;
  EXPECT_TRUE(all);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
}

class EndlessAlone : public Endless {};
INSTANTIATE_TEST_SUITE_P(Ways, EndlessAlone,
                         testing::Combine(testing::Values(Way::kAllocate, Way::kCheck, Way::kSpin),
                                          testing::Values<std::size_t>(1)),
                         [](const auto& test) { return name_of(std::get<0>(test.param)); });

// The slice is 100 us; machines that are shared, and sanitizers, may need a hundred times as long.
TEST_P(EndlessAlone, leave_the_others_a_good_latency) {
  loop_on(0);
  const auto echo = runtime.spawn_with<Echo>(pinned_to(0));
  std::vector<support::Clock::duration> times;
  for (int i = 0; i < 51; ++i) {
    const auto start = support::Clock::now();
    EXPECT_TRUE(echo.ask(Ping{}));
    times.push_back(support::Clock::now() - start);
    std::this_thread::sleep_for(1ms);
  }
  over = true;
  std::sort(times.begin(), times.end());
  EXPECT_LT(times[25], 10ms * support::kTimeFactor);
}

// --- and does when preemption is off -------------------------------------------------------------

class Off : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, Off, testing::Values(Way::kAllocate, Way::kSpin),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(Off, nobody_gives_way_unasked) {
  if (GetParam() == Way::kAllocate && support::kMemoryFactor > 1) return;  // checks stand for it
  Config config;
  config.cores = 1;
  config.preempt_reductions = 0;
  config.hand_over_after = bulkhead::kForever;
  Runtime runtime(config);
  runtime.start();
  std::atomic<bool> over{false};
  std::atomic<bool> other_ran{false};
  std::atomic<bool> looping{false};
  runtime.spawn([&] {
    bulkhead::spawn([&] { other_ran = true; });
    looping = true;
    run_until(over, GetParam());
    EXPECT_FALSE(other_ran);
  });
  ASSERT_TRUE(support::eventually([&] { return looping.load(); }));
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(other_ran);
  over = true;
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_TRUE(other_ran);
}

// --- where an actor may be made to give way ------------------------------------------------------

using support::Preempted;
ON_ONE_AND_SEVERAL_CORES(Preempted);

TEST_P(Preempted, in_catch_blocks_and_nested_exceptions) {
  std::atomic<int> faults{0};
  std::atomic<int> moves{0};
  std::atomic<int> left{20};
  const auto end = support::Clock::now() + support::kDeadline / 2;
  for (int i = 0; i < 20; ++i) {
    runtime.spawn([&] {
      // Those taken over before they began end soon, so that their cores take over others.
      const bool stays = this_actor::core() == 0;
      const auto enough = [&] { return cores() == 1 || moves > 0 || support::Clock::now() > end; };
      for (int round = 0; round < 2 || (stays && !enough()); ++round) {
        const std::size_t core = this_actor::core();
        faults += preemptible::unwind(3);
        if (this_actor::core() != core) ++moves;
      }
      --left;
    });
  }
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(left, 0);
  EXPECT_EQ(faults, 0);
  EXPECT_TRUE(moves > 0 || cores() == 1) << "some go on on other cores";
}

TEST_P(Preempted, at_allocations_in_catch_blocks) {
  std::atomic<int> faults{0};
  runtime.spawn([&] {
    compete();
    for (int round = 0; round < 200; ++round) {
      const long before = turns;
      try {
        throw std::runtime_error("outer " + std::to_string(round));
      } catch (const std::exception& outer) {
        for (int i = 0; i < 20; ++i) allocate();
        try {
          throw std::invalid_argument("inner " + std::to_string(round));
        } catch (const std::exception& inner) {
          for (int i = 0; i < 20; ++i) allocate();
          if (inner.what() != "inner " + std::to_string(round)) ++faults;
        }
        if (outer.what() != "outer " + std::to_string(round)) ++faults;
        try {
          std::rethrow_exception(std::current_exception());
        } catch (const std::runtime_error&) {
        } catch (...) {
          ++faults;
        }
      }
      // On several cores, those who compete may be elsewhere.
      if (cores() == 1 && turns == before) ++faults;
    }
    over = true;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(faults, 0);
}

TEST_P(Preempted, in_destructors_but_not_while_an_exception_is_in_flight) {
  if (cores() > 1) return;  // who competes must not run on another core
  struct Counts {
    const std::atomic<long>& turns;
    long& meanwhile;
    ~Counts() {
      const long before = turns;
      for (int i = 0; i < 20; ++i) allocate();
      meanwhile = turns - before;
    }
  };
  long normal = 0;
  long unwinding = 0;
  runtime.spawn([&] {
    compete();
    { const Counts counts{turns, normal}; }
    try {
      const Counts counts{turns, unwinding};
      throw std::runtime_error("failed");
    } catch (const std::exception&) {
    }
    over = true;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_GT(normal, 0);
  EXPECT_EQ(unwinding, 0);
}

TEST_P(Preempted, keeps_errno) {
  std::atomic<int> faults{0};
  for (int i = 0; i < 4; ++i) {
    runtime.spawn([&faults, i] {
      for (int round = 0; round < 500; ++round) {
        support::set_error_number(1000 + i);
        allocate();
        bulkhead::check();
        preemptible::work(500);
        if (support::error_number() != 1000 + i) ++faults;
      }
    });
  }
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(faults, 0);
}

// --- the end of those who run for long -----------------------------------------------------------

class Ended : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, Ended, testing::Values(Way::kAllocate, Way::kCheck),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(Ended, by_shutdown_which_unwinds_them) {
  std::atomic<bool> never{false};
  std::atomic<int> destroyed{0};
  std::atomic<int> deaths{0};
  struct Counted {
    std::atomic<int>& count;
    ~Counted() { ++count; }
  };
  Config config = preempting(2);
  config.on_death = [&](const bulkhead::Death& death) {
    if (death.exit.kind() == bulkhead::Exit::Kind::kShutdown) ++deaths;
  };
  Runtime runtime(config);
  runtime.start();
  std::atomic<int> running{0};
  for (std::size_t core = 0; core < 2; ++core) {
    runtime.spawn_with(pinned_to(core), [&] {
      const Counted counted{destroyed};
      ++running;
      run_until(never, GetParam());
    });
  }
  ASSERT_TRUE(support::eventually([&] { return running == 2; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(deaths, 2);
}

TEST_P(Ended, but_not_inside_no_preempt) {
  std::atomic<bool> never{false};
  bool came_to_the_end = false;
  bool went_on = false;
  std::atomic<bool> running{false};
  std::atomic<bool> go_on{false};
  Runtime runtime(preempting(1));
  runtime.start();
  runtime.spawn([&] {
    {
      const NoPreempt scope;
      running = true;
      while (!go_on) {
        allocate();
        bulkhead::check();
      }
      came_to_the_end = true;
    }
    run_until(never, GetParam());
    went_on = true;
  });
  ASSERT_TRUE(support::eventually([&] { return running.load(); }));
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    go_on = true;
  });
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  later.join();
  EXPECT_TRUE(came_to_the_end);
  EXPECT_FALSE(went_on);
}

}  // namespace
