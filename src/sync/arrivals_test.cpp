#include "sync/arrivals.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sync/parker.hpp"

namespace bulkhead::sync {
namespace {

struct Node {
  Node* link = nullptr;
  int number = 0;
};

using TestArrivals = Arrivals<RealSync, Node, &Node::link>;

std::vector<int> numbers(Node* first) {
  std::vector<int> all;
  for (; first != nullptr; first = first->link) all.push_back(first->number);
  return all;
}

TEST(Arrivals, are_taken_oldest_first) {
  TestArrivals arrivals;
  Node nodes[3];
  for (int i = 0; i < 3; ++i) {
    nodes[i].number = i;
    EXPECT_EQ(arrivals.push_remote(&nodes[i], &nodes[i]), Arrived::kSeen);
  }
  EXPECT_FALSE(arrivals.empty());
  EXPECT_EQ(numbers(arrivals.take_all()), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(arrivals.empty());
  EXPECT_EQ(arrivals.take_all(), nullptr);
}

TEST(Arrivals, come_in_chains_too) {
  TestArrivals arrivals;
  Node nodes[4];
  for (int i = 0; i < 4; ++i) nodes[i].number = i;
  static_cast<void>(arrivals.push_remote(&nodes[0], &nodes[0]));
  nodes[3].link = &nodes[2];
  nodes[2].link = &nodes[1];
  static_cast<void>(arrivals.push_remote(&nodes[3], &nodes[1]));
  EXPECT_EQ(numbers(arrivals.take_all()), (std::vector<int>{0, 1, 2, 3}));
}

// A1, A2 of arrivals.hpp
TEST(Arrivals, wake_an_owner_that_has_fallen_asleep_and_only_then) {
  TestArrivals arrivals;
  Node first;
  Node second;
  EXPECT_TRUE(arrivals.fall_asleep());
  EXPECT_TRUE(arrivals.asleep());
  EXPECT_TRUE(arrivals.empty());
  EXPECT_EQ(arrivals.push_remote(&first, &first), Arrived::kMustWake);
  EXPECT_FALSE(arrivals.asleep());
  EXPECT_EQ(arrivals.push_remote(&second, &second), Arrived::kSeen);
  EXPECT_FALSE(arrivals.fall_asleep()) << "there is something to take";
  arrivals.wake_up();
  EXPECT_NE(arrivals.take_all(), nullptr);
  EXPECT_TRUE(arrivals.fall_asleep());
  arrivals.wake_up();
  EXPECT_FALSE(arrivals.asleep());
  EXPECT_EQ(arrivals.push_remote(&first, &first), Arrived::kSeen);
}

// A lost wake-up would leave the owner asleep for ever, with something to take.
TEST(Arrivals, lose_no_wake_up_of_many) {
  constexpr int kThreads = 3;
  constexpr int kEach = 5000;
  TestArrivals arrivals;
  Parker<RealSync> parker;
  std::vector<std::vector<Node>> nodes(kThreads, std::vector<Node>(kEach));
  std::vector<std::thread> threads;
  for (auto& mine : nodes) {
    threads.emplace_back([&] {
      for (Node& node : mine) {
        if (arrivals.push_remote(&node, &node) == Arrived::kMustWake) parker.unpark();
      }
    });
  }
  int taken = 0;
  while (taken < kThreads * kEach) {
    for (Node* node = arrivals.take_all(); node != nullptr;) {
      Node* next = node->link;
      ++taken;
      node = next;
    }
    if (taken < kThreads * kEach && arrivals.fall_asleep()) {
      parker.park();
      arrivals.wake_up();
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(arrivals.empty());
}

}  // namespace
}  // namespace bulkhead::sync
