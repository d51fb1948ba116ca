// C8: blocking(f): on a thread of a pool, while the core runs others; bounded; late results are
// discarded; no thread is left.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/live.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::blocking;
using bulkhead::BlockingLimits;
using bulkhead::ConfigError;
using bulkhead::Runtime;
using support::Event;
using support::eventually;
using support::Live;
using namespace std::chrono_literals;

std::size_t pool_threads() { return support::threads_named("bulkhead-block"); }

// One that was joined may still be listed for a moment.
bool all_threads_go() {
  return eventually([] { return pool_threads() == 0; });
}

class BlockingCalls : public support::Running {
 protected:
  ~BlockingCalls() override {
    bulkhead::set_blocking_limits(BlockingLimits{});
    runtime.shutdown();
    EXPECT_TRUE(all_threads_go());
  }
};
ON_ONE_AND_SEVERAL_CORES(BlockingCalls);

// In a hook nothing waits, also where an actor runs, whose refused send has called it.
TEST(BlockingCallsInHooks, are_just_calls) {
  struct Taker {
    void receive(int /*message*/) {}
  };
  std::thread::id called_by;
  std::atomic<int> told{0};
  bulkhead::Config config;
  config.cores = 1;
  config.on_dead_letter = [&](const bulkhead::DeadLetter& /*letter*/) {
    told += blocking([&] {
      called_by = std::this_thread::get_id();
      return 1;
    });
    try {
      blocking([] { throw std::runtime_error("why"); });
    } catch (const std::runtime_error&) {
      ++told;
    }
  };
  bulkhead::Runtime runtime(config);
  runtime.start();
  const auto taker = runtime.spawn<Taker>();
  bulkhead::stop(taker);
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  auto sender = runtime.spawn_joinable([&] {
    const auto mine = std::this_thread::get_id();
    EXPECT_EQ(taker.send(1), bulkhead::Delivery::kGone);
    EXPECT_EQ(called_by, mine);
  });
  EXPECT_TRUE(sender.join().has_value());
  EXPECT_EQ(told, 2);
  EXPECT_EQ(pool_threads(), 0u);
}

TEST_P(BlockingCalls, are_refused_inside_NoPreempt_and_nothing_is_called) {
  std::atomic<bool> called{false};
  auto caller = runtime.spawn_joinable([&] {
    const bulkhead::NoPreempt scope;
    EXPECT_THROW(blocking([&] { called = true; }), std::logic_error);
  });
  EXPECT_TRUE(caller.join().has_value());
  EXPECT_FALSE(called);
}

TEST_P(BlockingCalls, what_the_function_returns_is_returned) {
  std::atomic<int> right{0};
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn_with(on_core(i), [&, i] {
      for (std::size_t k = 0; k < 20; ++k) {
        right += blocking([i, k] { return i * 1000 + k; }) == i * 1000 + k ? 1 : 0;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(right, 1000);
}

TEST_P(BlockingCalls, values_that_only_move_and_nothing_at_all_are_returned) {
  Event done;
  runtime.spawn([&] {
    auto text = std::make_unique<std::string>("moved there");
    const auto back = blocking([text = std::move(text)]() mutable {
      *text += " and back";
      return std::move(text);
    });
    EXPECT_EQ(*back, "moved there and back");
    int changed = 0;
    blocking([&changed] { changed = 1; });
    EXPECT_EQ(changed, 1);
    static_assert(std::is_void_v<decltype(blocking([] {}))>);
    done.set();
  });
  wait_for_idle();
  EXPECT_TRUE(done.happened());
}

TEST_P(BlockingCalls, what_the_function_throws_is_thrown) {
  std::string caught;
  runtime.spawn([&] {
    try {
      blocking([]() -> int { throw std::runtime_error("from the pool"); });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  });
  wait_for_idle();
  EXPECT_EQ(caught, "from the pool");
}

TEST_P(BlockingCalls, it_runs_on_another_thread_and_the_core_runs_others) {
  Event go_on;
  std::atomic<bool> other_ran{false};
  runtime.spawn_with(pinned_to(0), [&] {
    const auto mine = std::this_thread::get_id();
    bulkhead::spawn_with(pinned_to(0), [&] {
      other_ran = true;
      go_on.set();
    });
    const auto theirs = blocking([&go_on] {
      EXPECT_FALSE(bulkhead::in_actor());
      EXPECT_TRUE(go_on.wait());
      return std::this_thread::get_id();
    });
    EXPECT_NE(mine, theirs);
    EXPECT_TRUE(other_ran);
  });
  wait_for_idle();
}

TEST_P(BlockingCalls, what_the_function_holds_has_ended_when_the_actor_goes_on) {
  std::atomic<int> late{0};
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      for (int k = 0; k < 20; ++k) {
        auto held = std::make_shared<int>(k);
        const std::weak_ptr<int> seen = held;
        blocking([held = std::move(held)] { return *held; });
        if (!seen.expired()) ++late;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(late, 0);
}

TEST_P(BlockingCalls, outside_actors_the_function_is_just_called) {
  EXPECT_EQ(blocking([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  EXPECT_THROW(blocking([] { throw std::runtime_error("no"); }), std::runtime_error);
  std::thread([] { blocking([] {}); }).join();
  EXPECT_EQ(pool_threads(), 0u);
}

TEST_P(BlockingCalls, it_may_be_nested) {
  int found = 0;
  runtime.spawn([&] { found = blocking([] { return blocking([] { return 7; }); }); });
  wait_for_idle();
  EXPECT_EQ(found, 7);
}

TEST_P(BlockingCalls, no_more_threads_than_the_limit_are_at_work) {
  bulkhead::set_blocking_limits({.threads = 3, .idle_time = 1s});
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  for (std::size_t i = 0; i < 30; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      blocking([&] {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(2ms);
        --inside;
        ++done;
      });
    });
  }
  wait_for_idle();
  EXPECT_EQ(done, 30);
  EXPECT_LE(most, 3);
  EXPECT_LE(pool_threads(), 3u);
}

TEST_P(BlockingCalls, idle_threads_end) {
  bulkhead::set_blocking_limits({.threads = 8, .idle_time = 10ms});
  std::atomic<int> inside{0};
  for (std::size_t i = 0; i < 4; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      blocking([&] {
        ++inside;
        return eventually([&] { return inside == 4; });
      });
    });
  }
  wait_for_idle();
  EXPECT_TRUE(eventually([] { return pool_threads() == 0; }));
  std::atomic<int> again{0};
  runtime.spawn([&] { again = blocking([] { return 1; }); });
  wait_for_idle();
  EXPECT_EQ(again, 1);
}

TEST_P(BlockingCalls, limits_that_make_no_sense_are_refused) {
  EXPECT_THROW(bulkhead::set_blocking_limits({.threads = 0}), ConfigError);
  EXPECT_THROW(bulkhead::set_blocking_limits({.threads = 4097}), ConfigError);
  EXPECT_THROW(bulkhead::set_blocking_limits({.idle_time = -1s}), std::invalid_argument);
  EXPECT_EQ(bulkhead::blocking_limits().threads, BlockingLimits{}.threads);
}

// The function goes on; nobody waits for it; what it returns is destroyed once.
TEST_P(BlockingCalls, who_is_ended_meanwhile_leaves_and_the_late_result_is_discarded) {
  Live::reset();
  const long before = Live::alive();
  auto entered = std::make_shared<std::atomic<int>>(0);
  auto go_on = std::make_shared<Event>();
  std::atomic<int> left{0};
  struct Leaves {
    std::atomic<int>& left;
    ~Leaves() { ++left; }
  };
  for (std::size_t i = 0; i < 5; ++i) {
    runtime.spawn_with(on_core(i), [&left, entered, go_on] {
      const Leaves leaves{left};
      static_cast<void>(blocking([entered, go_on] {
        ++*entered;
        static_cast<void>(go_on->wait());
        return Live(1);
      }));
      ADD_FAILURE() << "the result is late";
    });
  }
  ASSERT_TRUE(eventually([&] { return *entered == 5; }));
  std::thread release([&] {
    EXPECT_TRUE(eventually([&] { return left == 5; }));  // before any of the functions has returned
    go_on->set();
  });
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  release.join();
  EXPECT_EQ(left, 5);
  EXPECT_EQ(Live::alive(), before);
  EXPECT_EQ(Live::ended(), 5);
}

TEST_P(BlockingCalls, what_has_not_been_begun_when_its_actor_ends_never_is) {
  bulkhead::set_blocking_limits({.threads = 1, .idle_time = 1s});
  auto entered = std::make_shared<std::atomic<int>>(0);
  auto go_on = std::make_shared<Event>();
  std::atomic<int> left{0};
  std::atomic<int> waiting{0};
  struct Leaves {
    std::atomic<int>& left;
    ~Leaves() { ++left; }
  };
  for (std::size_t i = 0; i < 5; ++i) {
    runtime.spawn_with(on_core(i), [&left, &waiting, entered, go_on] {
      const Leaves leaves{left};
      ++waiting;
      blocking([entered, go_on] {
        ++*entered;
        return go_on->wait();
      });
    });
  }
  ASSERT_TRUE(eventually([&] { return *entered == 1 && waiting == 5; }));
  std::thread release([&] {
    EXPECT_TRUE(eventually([&] { return left == 5; }));
    go_on->set();
  });
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  release.join();
  EXPECT_EQ(*entered, 1);
}

TEST_P(BlockingCalls, what_takes_too_long_is_left_behind_by_the_last_shutdown_and_told) {
  auto go_on = std::make_shared<Event>();
  auto ended = std::make_shared<Event>();
  auto entered = std::make_shared<Event>();
  runtime.spawn([go_on, ended, entered] {
    blocking([go_on, ended, entered] {
      entered->set();
      static_cast<void>(go_on->wait());
      ended->set();
    });
  });
  ASSERT_TRUE(entered->wait());
  const std::string said = support::stderr_of([&] { runtime.shutdown(1ms); });
  EXPECT_NE(said.find("1 call of blocking() has not returned"), std::string::npos) << said;
  go_on->set();
  EXPECT_TRUE(ended->wait());
  EXPECT_TRUE(eventually([] { return pool_threads() == 0; }));
}

// Runs for as long as the process.
void block_for_ever(Runtime& runtime) {
  Event entered;
  runtime.spawn([&] {
    blocking([&entered] {
      entered.set();
      for (;;) std::this_thread::sleep_for(1h);
    });
  });
  if (!entered.wait()) std::fputs("it was not called\n", stderr);
}

TEST(BlockingCallsLeftBehind, are_told_and_waited_for_once) {
  // In a fresh process, at whose end they are looked for, too.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        for (int round = 1; round <= 2; ++round) {
          Runtime runtime;
          runtime.start();
          if (round == 1) block_for_ever(runtime);
          const auto before = support::Clock::now();
          runtime.shutdown(1ms);
          if (round == 2 && support::Clock::now() - before > 1500ms) std::fputs("; slow", stderr);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "ended now.bulkhead: shutdown: 1 call of blocking.. has not returned; it is left[^;]*$");
}

// Who is left behind, and returns, may be used by the next runtime, and left behind by that again.
TEST(BlockingCallsLeftBehind, are_told_again_when_they_are_others) {
  const auto ended = support::run_in_child([] {
    bulkhead::set_blocking_limits({.threads = 1});
    Event go_on;
    Event entered;
    Runtime first;
    first.start();
    first.spawn([&] {
      blocking([&] {
        entered.set();
        static_cast<void>(go_on.wait());
      });
    });
    if (!entered.wait()) std::fputs("it was not called\n", stderr);
    first.shutdown(1ms);
    Runtime second;
    second.start();
    std::thread later([&] {
      std::this_thread::sleep_for(50ms);
      go_on.set();
    });
    block_for_ever(second);  // in the thread that comes back
    later.join();
    second.shutdown(1ms);
  });
  EXPECT_EQ(ended.status, 0);
  const std::string part = "1 call of blocking() has not returned";
  const std::size_t told = ended.errors.find(part);
  ASSERT_NE(told, std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find(part, told + 1), std::string::npos) << ended.errors;
}

TEST_P(BlockingCalls, a_runtime_that_starts_again_can_block_again) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> found{0};
    runtime.spawn([&] { found = blocking([] { return 1; }); });
    wait_for_idle();
    EXPECT_EQ(found, 1);
    runtime.shutdown();
    EXPECT_TRUE(all_threads_go());
    runtime.start();
  }
}

}  // namespace
