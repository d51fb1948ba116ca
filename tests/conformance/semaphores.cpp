// C7: semaphores and wait groups: permits are conserved, first come first served, bad counts are
// errors.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Semaphore;
using bulkhead::WaitGroup;
using support::Clock;
using support::eventually;
using support::kDeadline;
using namespace std::chrono_literals;

class Semaphores : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Semaphores);

TEST_P(Semaphores, no_more_are_inside_than_there_are_permits) {
  Semaphore permits(3, 3);
  std::atomic<int> inside{0};
  std::atomic<bool> crowded{false};
  const auto work = [&](auto pause) {
    for (int i = 0; i < 100 / support::kTimeFactor; ++i) {
      permits.acquire();
      if (++inside > 3) crowded = true;
      pause();
      --inside;
      permits.release();
    }
  };
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [&] { work([] { this_actor::yield(); }); });
  }
  std::thread outside([&] { work([] { std::this_thread::yield(); }); });
  outside.join();
  wait_for_idle();
  EXPECT_FALSE(crowded);
  EXPECT_EQ(permits.available(), 3u);
}

TEST_P(Semaphores, who_waits_for_many_is_not_overtaken) {
  Semaphore permits(1, 4);
  support::Log<int> log;
  runtime.spawn_with(pinned_to(0), [&] {
    for (const int many : {3, 1, 4}) {
      bulkhead::spawn_with(pinned_to(0), [&, many] {
        permits.acquire(static_cast<std::size_t>(many));
        log.add(many);
        permits.release(static_cast<std::size_t>(many));
      });
      this_actor::sleep_for(5ms);  // it has nothing to do but to wait
    }
    EXPECT_EQ(log.size(), 0u);
    EXPECT_FALSE(permits.try_acquire());  // though one is there
    permits.release(2);
    this_actor::sleep_for(5ms);
    permits.release(1);
  });
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector{3, 1, 4}));
  EXPECT_EQ(permits.available(), 4u);
}

TEST_P(Semaphores, who_gives_up_lets_those_behind_him_through) {
  Semaphore permits(1, 4);
  std::atomic<bool> through{false};
  std::atomic<bool> gave_up{false};
  runtime.spawn_with(pinned_to(0), [&] {
    bulkhead::spawn_with(pinned_to(0), [&] { gave_up = !permits.acquire_for(50ms, 4); });
    bulkhead::spawn_with(pinned_to(0), [&] { through = permits.acquire_for(kDeadline); });
  });
  wait_for_idle();
  EXPECT_TRUE(gave_up);
  EXPECT_TRUE(through);
  EXPECT_EQ(permits.available(), 0u);
}

TEST_P(Semaphores, time_runs_out) {
  Semaphore permits(0);
  const auto wait = [&] {
    const auto start = Clock::now();
    EXPECT_FALSE(permits.acquire_for(20ms));
    EXPECT_GE(Clock::now() - start, 20ms);
    EXPECT_FALSE(permits.try_acquire());
  };
  runtime.spawn(wait);
  wait();
  wait_for_idle();
}

TEST_P(Semaphores, permits_of_those_who_are_ended_are_not_lost) {
  Semaphore permits(5, 5);
  std::atomic<int> waiting{0};
  struct Permit {
    Semaphore& of;
    explicit Permit(Semaphore& semaphore) : of(semaphore) { of.acquire(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { of.release(); }
  };
  for (std::size_t i = 0; i < 30; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      ++waiting;
      const Permit permit(permits);
      this_actor::sleep_for(bulkhead::kForever);
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 30; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_EQ(permits.available(), 5u);
}

TEST_P(Semaphores, bad_counts_are_refused_and_change_nothing) {
  EXPECT_THROW(Semaphore(2, 1), std::invalid_argument);
  EXPECT_THROW(Semaphore(0, 0), std::invalid_argument);
  EXPECT_THROW(Semaphore(0, Semaphore::kMost + 1), std::invalid_argument);
  Semaphore permits(1, 2);
  EXPECT_THROW(permits.acquire(0), std::invalid_argument);
  EXPECT_THROW(permits.acquire(3), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(permits.acquire_for(-1ns)), std::invalid_argument);
  EXPECT_THROW(permits.release(0), std::invalid_argument);
  EXPECT_THROW(permits.release(2), std::overflow_error);
  EXPECT_THROW(permits.release(static_cast<std::size_t>(-1)), std::overflow_error);
  EXPECT_EQ(permits.available(), 1u);
  Semaphore most(Semaphore::kMost);
  EXPECT_THROW(most.release(1), std::overflow_error);
  EXPECT_EQ(most.available(), Semaphore::kMost);
}

class WaitGroups : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(WaitGroups);

TEST_P(WaitGroups, who_waits_goes_on_when_all_is_done_and_sees_it) {
  for (int round = 0; round < 20; ++round) {
    WaitGroup group(10);
    std::vector<int> done(10, 0);
    std::atomic<int> right{0};
    for (std::size_t i = 0; i < 10; ++i) {
      runtime.spawn_with(on_core(i), [&, i] {
        this_actor::yield();
        done[i] = 1;
        group.done();
      });
    }
    for (std::size_t i = 0; i < 3; ++i) {
      runtime.spawn_with(on_core(i), [&] {
        group.wait();
        if (done == std::vector<int>(10, 1)) ++right;
      });
    }
    group.wait();
    EXPECT_EQ(done, std::vector<int>(10, 1));
    wait_for_idle();
    EXPECT_EQ(right, 3);
  }
}

// It may end as soon as its wait has ended, though who did the last may still be in done().
TEST_P(WaitGroups, one_in_a_frame_may_end_at_once) {
  constexpr std::size_t kRounds = 200 / support::kTimeFactor;
  std::atomic<std::size_t> rounds{0};
  for (std::size_t i = 0; i < 4; ++i) {
    runtime.spawn_with(on_core(i), [&, i] {
      for (std::size_t k = 0; k < kRounds; ++k) {
        auto group = std::make_unique<WaitGroup>(1);
        bulkhead::spawn_with(on_core(i + k), [group = group.get()] { group->done(); });
        group->wait();
        group.reset();
        ++rounds;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(rounds, 4 * kRounds);
}

TEST_P(WaitGroups, one_can_be_used_again) {
  WaitGroup group;
  group.wait();
  for (int round = 0; round < 50; ++round) {
    group.add(2);
    for (std::size_t i = 0; i < 2; ++i) runtime.spawn_with(on_core(i), [&] { group.done(); });
    group.wait();
    EXPECT_EQ(group.count(), 0u);
  }
}

TEST_P(WaitGroups, time_runs_out) {
  WaitGroup group(1);
  const auto wait = [&] { EXPECT_FALSE(group.wait_for(20ms)); };
  runtime.spawn(wait);
  wait();
  EXPECT_FALSE(group.wait_for(0s));
  wait_for_idle();
  group.done();
  EXPECT_TRUE(group.wait_for(0s));
}

TEST_P(WaitGroups, bad_counts_are_refused_and_change_nothing) {
  WaitGroup group(1);
  EXPECT_THROW(group.done(2), std::logic_error);
  EXPECT_EQ(group.count(), 1u);
  EXPECT_THROW(group.add(WaitGroup::kMost), std::overflow_error);
  EXPECT_EQ(group.count(), 1u);
  group.done();
  EXPECT_THROW(group.done(), std::logic_error);
  EXPECT_THROW(static_cast<void>(group.wait_for(-1s)), std::invalid_argument);
  EXPECT_THROW(WaitGroup(WaitGroup::kMost + 1), std::overflow_error);
}

TEST(SemaphoresEnd, one_that_is_waited_for_aborts) {
  const auto ended = support::run_in_child([] {
    bulkhead::Config config;
    config.cores = 1;
    bulkhead::Runtime runtime(config);
    runtime.start();
    {
      bulkhead::Semaphore semaphore(0);
      runtime.spawn([&] { semaphore.acquire(); });
      // Another one has its turn on the only core when the first one waits.
      static_cast<void>(runtime.spawn_joinable([] {}).join());
    }
  });
  EXPECT_EQ(ended.signal, 6);
  EXPECT_NE(ended.errors.find("a Semaphore was destroyed while somebody waits for it"),
            std::string::npos)
      << ended.errors;
}

}  // namespace
