#include "sync/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/wait.hpp"

namespace bulkhead::sync {
namespace {

TEST(Gate, is_closed_at_first) {
  Gate<RealSync> gate;
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.enter()) << "a refused one leaves no trace";
  gate.open();
  EXPECT_FALSE(gate.closed());
}

TEST(Gate, lets_in_while_it_is_open) {
  Gate<RealSync> gate;
  gate.open();
  EXPECT_TRUE(gate.enter());
  EXPECT_TRUE(gate.enter());
  gate.leave();
  gate.leave();
  gate.close();
  EXPECT_FALSE(gate.enter());
  gate.open();
  EXPECT_TRUE(gate.enter());
  gate.leave();
}

TEST(Gate, can_be_closed_twice) {
  Gate<RealSync> gate;
  gate.close();
  gate.open();
  gate.close();
  gate.close();
  EXPECT_TRUE(gate.closed());
}

TEST(Gate, lets_visitors_in_also_when_it_is_closed_and_waits_for_them) {
  Gate<RealSync> gate;
  gate.visit();
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    gate.close();
    closed = true;
  });
  EXPECT_FALSE(closed);
  gate.leave();
  closer.join();
  EXPECT_TRUE(closed);
}

TEST(Gate, closes_only_when_nobody_is_inside) {
  Gate<RealSync> gate;
  gate.open();
  ASSERT_TRUE(gate.enter());
  std::atomic<bool> left{false};
  std::thread closer([&] {
    gate.close();
    EXPECT_TRUE(left);
  });
  EXPECT_TRUE(support::eventually([&] { return gate.closed(); }));
  left = true;
  gate.leave();
  closer.join();
}

// Nobody is inside once close has returned, however many come and go.
TEST(Gate, keeps_threads_out_from_its_closing_on) {
  Gate<RealSync> gate;
  std::atomic<bool> running{false};
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        if (!gate.enter()) continue;
        if (!running) ++wrong;
        gate.leave();
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    running = true;
    gate.open();
    gate.close();
    running = false;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Those who knock at a closed gate all the time do not keep it from being seen closed. Many of them
// are interrupted by the system at any moment, whatever they are at.
TEST(Gate, closes_soon_however_many_knock) {
  constexpr int kThreads = 60;
  Gate<RealSync> gate;
  std::atomic<bool> done{false};
  std::atomic<int> knocking{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++knocking;
      while (!done) {
        if (gate.enter()) gate.leave();
      }
    });
  }
  EXPECT_TRUE(support::eventually([&] { return knocking == kThreads; }));
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    for (int round = 0; round < 20; ++round) {
      gate.open();
      gate.close();
    }
    closed = true;
  });
  EXPECT_TRUE(support::eventually([&] { return closed.load(); }, std::chrono::seconds(20)));
  done = true;
  for (std::thread& thread : threads) thread.join();
  closer.join();
}

}  // namespace
}  // namespace bulkhead::sync
