#include "sync/futex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "support/wait.hpp"

namespace bulkhead::sync {
namespace {

using support::Clock;

TEST(Futex, does_not_sleep_when_the_word_holds_something_else) {
  const std::atomic<std::uint32_t> word{5};
  futex_wait(&word, 4);
  EXPECT_EQ(futex_wait_for(&word, 4, INT64_MAX), FutexWait::kReturned);
}

TEST(Futex, sleeps_no_longer_than_it_was_told) {
  const std::atomic<std::uint32_t> word{5};
  const auto start = Clock::now();
  while (futex_wait_for(&word, 5, 5'000'000) != FutexWait::kTimedOut) {
  }
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(5));
  EXPECT_EQ(futex_wait_for(&word, 5, 0), FutexWait::kTimedOut);
  EXPECT_EQ(futex_wait_for(&word, 5, -1), FutexWait::kTimedOut);
}

TEST(Futex, leaves_errno_as_it_was) {
  const std::atomic<std::uint32_t> word{5};
  errno = 77;
  futex_wait(&word, 4);
  static_cast<void>(futex_wait_for(&word, 5, 1000));
  futex_wake(&word, 1);
  EXPECT_EQ(errno, 77);
}

TEST(Futex, wakes_as_many_as_it_was_told) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<int> awake{0};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] {
      while (word == 0) futex_wait(&word, 0);
      ++awake;
    });
  }
  word = 1;
  // Those that were not asleep yet see the word.
  EXPECT_TRUE(support::eventually([&] {
    futex_wake(&word, 1);
    return awake == 4;
  }));
  for (std::thread& sleeper : sleepers) sleeper.join();
}

}  // namespace
}  // namespace bulkhead::sync
