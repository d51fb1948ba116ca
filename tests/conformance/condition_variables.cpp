// C7: condition variables: no notification is lost, the mutex is held again after a wait, and a
// notification that its receiver cannot act on is the next one's.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <thread>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::ConditionVariable;
using bulkhead::Mutex;
using support::Clock;
using support::eventually;
using support::kDeadline;
using namespace std::chrono_literals;

class ConditionVariables : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(ConditionVariables);

TEST_P(ConditionVariables, what_is_put_into_a_queue_is_taken_out_once_by_actors_and_threads) {
  Mutex mutex;
  ConditionVariable not_empty;
  ConditionVariable not_full;
  std::deque<int> queue;
  long sum = 0;
  constexpr int kEach = 300 / support::kTimeFactor;
  const auto put = [&] {
    for (int i = 1; i <= kEach; ++i) {
      auto guard = mutex.lock_for(kDeadline);
      not_full.wait(guard, [&] { return queue.size() < 4; });
      queue.push_back(i);
      not_empty.notify_one();
    }
  };
  const auto take = [&] {
    for (int i = 1; i <= kEach; ++i) {
      auto guard = mutex.lock_for(kDeadline);
      not_empty.wait(guard, [&] { return !queue.empty(); });
      sum += queue.front();
      queue.pop_front();
      not_full.notify_one();
    }
  };
  for (std::size_t i = 0; i < 5; ++i) {
    runtime.spawn_with(on_core(i), put);
    runtime.spawn_with(on_core(i + 1), take);
  }
  std::thread putter(put);
  std::thread taker(take);
  putter.join();
  taker.join();
  wait_for_idle();
  EXPECT_EQ(sum, 6L * kEach * (kEach + 1) / 2);
  EXPECT_TRUE(queue.empty());
}

TEST_P(ConditionVariables, all_are_woken_by_notify_all) {
  Mutex mutex;
  ConditionVariable opened;
  bool open = false;
  std::atomic<int> waiting{0};
  std::atomic<int> through{0};
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      auto guard = mutex.lock();
      ++waiting;
      opened.wait(guard, [&] { return open; });
      EXPECT_TRUE(guard);
      ++through;
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 50; }));
  {
    auto guard = mutex.lock();  // so all of them wait by now
    EXPECT_EQ(through, 0);
    open = true;
    opened.notify_all();
  }
  wait_for_idle();
  EXPECT_EQ(through, 50);
}

TEST_P(ConditionVariables, one_is_woken_by_notify_one_the_first) {
  Mutex mutex;
  ConditionVariable turn;
  int tickets = 0;
  int waiting = 0;
  support::Log<int> log;
  for (int i = 0; i < 5; ++i) {
    runtime.spawn([&, i] {
      auto guard = mutex.lock();
      ++waiting;
      const int place = waiting;
      turn.wait(guard, [&] { return tickets >= place; });
      log.add(i);
    });
  }
  const auto all_wait = [&] {
    auto guard = mutex.lock();
    return waiting == 5;
  };
  ASSERT_TRUE(eventually(all_wait));
  for (int i = 1; i <= 5; ++i) {
    {
      auto guard = mutex.lock();
      tickets = i;
      turn.notify_one();
    }
    ASSERT_TRUE(eventually([&] { return log.size() == static_cast<std::size_t>(i); }));
  }
  wait_for_idle();
}

TEST_P(ConditionVariables, time_runs_out_and_the_mutex_is_held_all_the_same) {
  Mutex mutex;
  ConditionVariable never;
  const auto wait = [&] {
    auto guard = mutex.lock();
    const auto start = Clock::now();
    EXPECT_FALSE(never.wait_for(guard, 20ms, [] { return false; }));
    EXPECT_GE(Clock::now() - start, 20ms);
    EXPECT_TRUE(guard);
    EXPECT_FALSE(never.wait_until(guard, Clock::now() + 1ms, [] { return false; }));
    EXPECT_FALSE(never.wait_until(guard, Clock::now() - 1h, [] { return false; }));
    EXPECT_TRUE(never.wait_for(guard, 0s, [] { return true; }));
    EXPECT_TRUE(guard);
  };
  runtime.spawn(wait);
  wait();
  wait_for_idle();
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(ConditionVariables, bad_input_is_refused) {
  Mutex mutex;
  ConditionVariable condition;
  auto guard = mutex.lock();
  EXPECT_THROW(static_cast<void>(condition.wait_for(guard, -1ms, [] { return true; })),
               std::invalid_argument);
  guard.unlock();
  EXPECT_THROW(condition.wait(guard, [] { return true; }), std::logic_error);
}

TEST_P(ConditionVariables, an_exception_of_the_predicate_leaves_with_the_mutex_held) {
  Mutex mutex;
  ConditionVariable condition;
  auto guard = mutex.lock();
  EXPECT_THROW(condition.wait(guard, []() -> bool { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_TRUE(guard);
}

// Frames between find the lock held, as they expect.
TEST_P(ConditionVariables, who_is_unwound_from_a_wait_has_the_mutex_again) {
  Mutex mutex;
  ConditionVariable never;
  std::atomic<int> waiting{0};
  int inside = 0;
  int most = 0;
  int ended = 0;
  struct Leaves {
    int& inside;
    int& most;
    int& ended;
    Mutex::Guard& guard;
    ~Leaves() {
      EXPECT_TRUE(guard);
      most = std::max(most, ++inside);
      this_actor::yield();
      --inside;
      ++ended;
    }
  };
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      auto guard = mutex.lock();
      const Leaves leaves{inside, most, ended, guard};
      ++waiting;
      never.wait(guard, [] { return false; });
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 20; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_EQ(ended, 20);
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(mutex.try_lock());
}

}  // namespace
