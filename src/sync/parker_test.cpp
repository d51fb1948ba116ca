#include "sync/parker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace bulkhead::sync {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(Parker, a_token_left_before_ends_the_next_park_at_once) {
  Parker<RealSync> parker;
  parker.unpark();
  parker.park();
  EXPECT_EQ(parker.park_for(0), Parked::kNone);
}

TEST(Parker, tokens_coalesce) {
  Parker<RealSync> parker;
  for (int i = 0; i < 3; ++i) parker.unpark();
  EXPECT_EQ(parker.park_for(0), Parked::kToken);
  EXPECT_EQ(parker.park_for(0), Parked::kNone);
}

TEST(Parker, park_for_gives_up_when_nobody_unparks) {
  Parker<RealSync> parker;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(parker.park_for(kMillisecond), Parked::kNone);
  }
}

TEST(Parker, park_for_takes_times_of_any_size) {
  Parker<RealSync> parker;
  EXPECT_EQ(parker.park_for(-1), Parked::kNone);
  EXPECT_EQ(parker.park_for(INT64_MIN), Parked::kNone);
  parker.unpark();
  EXPECT_EQ(parker.park_for(INT64_MAX), Parked::kToken);
}

TEST(Parker, wakes_an_owner_that_sleeps) {
  Parker<RealSync> parker;
  std::atomic<bool> awake{false};
  std::thread owner([&] {
    parker.park();
    awake = true;
  });
  EXPECT_FALSE(awake.load());
  parker.unpark();
  owner.join();
  EXPECT_TRUE(awake.load());
}

TEST(Parker, wakes_an_owner_that_sleeps_for_a_time) {
  Parker<RealSync> parker;
  std::thread owner([&] {
    while (parker.park_for(INT64_MAX) != Parked::kToken) {
    }
  });
  parker.unpark();
  owner.join();
}

// Two threads that hand a turn to and fro: one lost token, and this never ends.
TEST(Parker, loses_no_token_of_many) {
  constexpr int kTurns = 20'000;
  Parker<RealSync> ping;
  Parker<RealSync> pong;
  int turns = 0;  // of whoever has the turn
  std::thread other([&] {
    for (int i = 0; i < kTurns; ++i) {
      pong.park();
      ++turns;
      ping.unpark();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    pong.unpark();
    ping.park();
  }
  other.join();
  EXPECT_EQ(turns, kTurns);
}

TEST(Parker, loses_no_token_of_many_threads_with_and_without_a_limit) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kEach = 5'000;
  Parker<RealSync> parker;
  std::atomic<unsigned> brought{0};
  std::vector<std::thread> producers;
  for (unsigned t = 0; t < kThreads; ++t) {
    producers.emplace_back([&] {
      for (unsigned i = 0; i < kEach; ++i) {
        brought.fetch_add(1, std::memory_order_relaxed);
        parker.unpark();
      }
    });
  }
  for (unsigned round = 0; brought.load(std::memory_order_relaxed) < kThreads * kEach; ++round) {
    if (round % 2 == 0) {
      parker.park();
    } else {
      static_cast<void>(parker.park_for(kMillisecond));
    }
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(brought.load(), kThreads * kEach);
}

}  // namespace
}  // namespace bulkhead::sync
