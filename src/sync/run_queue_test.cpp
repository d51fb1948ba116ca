// C9: the contract of the queues that cores share, for all three; rules Q1 to Q5 of run_queue.hpp.
#include "sync/run_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/seed.hpp"
#include "sync/parker.hpp"
#include "sync/sleepers.hpp"

namespace bulkhead::sync {
namespace {

struct Node {
  Node* next = nullptr;
  std::uint64_t written = 0;      // by who holds it
  std::atomic<bool> held{false};  // by a thread, and not in a queue: for a check
  std::atomic<std::uint64_t> times{0};
};

constexpr std::size_t kPlaces = 4;

struct Mutex {
  using Queue = MutexQueue<RealSync, Node, &Node::next>;
  static std::unique_ptr<Queue> make() { return std::make_unique<Queue>(kPlaces); }
};
struct Ring {
  using Queue = RingQueue<RealSync, Node, &Node::next>;
  static std::unique_ptr<Queue> make() { return std::make_unique<Queue>(kPlaces, 8); }
};
struct Striped {
  using Queue = StripedQueue<RealSync, Node, &Node::next>;
  static std::unique_ptr<Queue> make() { return std::make_unique<Queue>(kPlaces, 8); }
};
/// As a domain makes them.
struct UsualRing : Ring {
  static std::unique_ptr<Queue> make() { return std::make_unique<Queue>(kPlaces); }
};
struct UsualStripes : Striped {
  static std::unique_ptr<Queue> make() { return std::make_unique<Queue>(kPlaces); }
};

template <class Kind>
class SharedRunQueue : public testing::Test {
 protected:
  using Queue = typename Kind::Queue;
  std::unique_ptr<Queue> queue = Kind::make();
};

using Kinds = testing::Types<Mutex, Ring, Striped, UsualRing, UsualStripes>;
TYPED_TEST_SUITE(SharedRunQueue, Kinds);

TYPED_TEST(SharedRunQueue, is_empty_at_first_and_gives_nothing) {
  EXPECT_TRUE(this->queue->empty());
  for (std::size_t place = 0; place < kPlaces; ++place) {
    EXPECT_EQ(this->queue->pop(place), nullptr);
  }
}

TYPED_TEST(SharedRunQueue, gives_each_node_once_in_the_order_in_which_it_was_pushed) {
  std::vector<Node> nodes(100);
  for (int round = 0; round < 3; ++round) {
    for (Node& node : nodes) this->queue->push(&node, 1);
    EXPECT_FALSE(this->queue->empty());
    for (Node& node : nodes) EXPECT_EQ(this->queue->pop(1), &node);
    EXPECT_TRUE(this->queue->empty());
    EXPECT_EQ(this->queue->pop(1), nullptr);
  }
}

// Q1: more than any ring has room for.
TYPED_TEST(SharedRunQueue, has_room_for_all) {
  std::vector<Node> nodes(50'000);
  for (std::size_t i = 0; i < nodes.size(); ++i) this->queue->push(&nodes[i], i);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node* node = this->queue->pop(i % kPlaces);
    ASSERT_NE(node, nullptr);
    ++node->times;
  }
  EXPECT_TRUE(this->queue->empty());
  for (const Node& node : nodes) ASSERT_EQ(node.times, 1u);
}

TYPED_TEST(SharedRunQueue, takes_a_node_again_that_has_been_popped) {
  Node node;
  for (std::size_t i = 0; i < 10'000; ++i) {
    this->queue->push(&node, i);
    ASSERT_EQ(this->queue->pop((i + 1) % kPlaces), &node);
  }
  EXPECT_TRUE(this->queue->empty());
}

TYPED_TEST(SharedRunQueue, gives_any_place_what_any_other_or_a_thread_outside_has_pushed) {
  Node node;
  for (std::size_t from = 0; from < 2 * kPlaces; ++from) {
    for (std::size_t to = 0; to < kPlaces; ++to) {
      this->queue->push(&node, from);
      EXPECT_EQ(this->queue->pop(to), &node);
    }
  }
}

// Q5: one place keeps itself busy, and those of another place that never comes still have their
// turn.
TYPED_TEST(SharedRunQueue, lets_nobody_starve) {
  std::vector<Node> own(40);
  std::vector<Node> others(20);
  for (Node& node : own) this->queue->push(&node, 0);
  for (Node& node : others) this->queue->push(&node, 2);
  std::size_t seen = 0;
  const std::size_t bound =
      (own.size() + others.size()) * kPlaces * StripedQueue<RealSync, Node, &Node::next>::kPatience;
  for (std::size_t i = 0; i < bound && seen < others.size(); ++i) {
    Node* node = this->queue->pop(0);
    ASSERT_NE(node, nullptr);
    if (++node->times == 1 && node >= others.data() && node < others.data() + others.size()) ++seen;
    this->queue->push(node, 0);
  }
  EXPECT_EQ(seen, others.size());
  for (const Node& node : own) EXPECT_GT(node.times, 0u);
}

// Q2, Q3: nodes go round among threads; none is lost, none is held by two, and what was written to
// it is seen. In bursts, so that rings overflow and run dry.
TYPED_TEST(SharedRunQueue, loses_and_doubles_nothing_when_threads_race) {
  const std::uint64_t seed = support::seed_of_test();
  constexpr std::size_t kNodes = 64;
  constexpr std::uint64_t kPops = 60'000;
  std::vector<Node> nodes(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) this->queue->push(&nodes[i], i);
  std::vector<std::uint64_t> popped(kPlaces);
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    threads.emplace_back([&, place] {
      support::Random random(seed + place);
      std::vector<Node*> in_hand;
      while (popped[place] < kPops) {
        const std::uint32_t burst = 1 + random.below(20);
        for (std::uint32_t i = 0; i < burst; ++i) {
          Node* node = this->queue->pop(place);
          if (node == nullptr) break;
          if (node->held.exchange(true, std::memory_order_relaxed)) ++faults;
          if (node->written != node->times.load(std::memory_order_relaxed)) ++faults;
          ++popped[place];
          in_hand.push_back(node);
        }
        if (in_hand.empty()) std::this_thread::yield();
        for (Node* node : in_hand) {
          ++node->written;
          node->times.fetch_add(1, std::memory_order_relaxed);
          node->held.store(false, std::memory_order_relaxed);
          this->queue->push(node, random.one_in(8) ? random.below(100) : place);
        }
        in_hand.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  std::size_t left = 0;
  std::uint64_t times = 0;
  while (Node* node = this->queue->pop(0)) {
    ++left;
    times += node->written;
  }
  EXPECT_EQ(left, kNodes);
  std::uint64_t pops = 0;
  for (const std::uint64_t of_place : popped) pops += of_place;
  EXPECT_EQ(times, pops);
  EXPECT_TRUE(this->queue->empty());
}

// Q4, and sleepers.hpp: those who pop sleep whenever they find nothing; those who push come in
// bursts with pauses. A wake-up that is lost leaves the test hanging.
TYPED_TEST(SharedRunQueue, loses_no_wake_up_when_those_who_pop_go_to_sleep) {
  const std::uint64_t seed = support::seed_of_test();
  constexpr std::size_t kPushers = 2;
  constexpr std::size_t kEach = 5'000;
  std::vector<Node> nodes(kPushers * kEach);
  Sleepers<RealSync, kPlaces> sleepers;
  Parker<RealSync> parkers[kPlaces];
  std::atomic<std::size_t> popped{0};
  std::vector<std::thread> threads;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    threads.emplace_back([&, place] {
      const auto wake_one = [&] {
        const std::size_t who = sleepers.pick();
        if (who != sleepers.kNobody) parkers[who].unpark();
      };
      for (bool picked = false;;) {
        if (Node* node = this->queue->pop(place); node != nullptr) {
          if (std::exchange(picked, false) && !this->queue->empty()) wake_one();
          ++node->times;
          if (popped.fetch_add(1) + 1 == nodes.size()) {
            for (auto& parker : parkers) parker.unpark();
          }
          continue;
        }
        if (popped.load() == nodes.size()) return;
        sleepers.announce(place);
        if (this->queue->empty() && popped.load() < nodes.size()) parkers[place].park();
        picked = sleepers.wake_up(place);
      }
    });
  }
  for (std::size_t pusher = 0; pusher < kPushers; ++pusher) {
    threads.emplace_back([&, pusher] {
      support::Random random(seed + pusher);
      for (std::size_t i = 0; i < kEach; ++i) {
        this->queue->push(&nodes[pusher * kEach + i], random.below(kPlaces));
        const std::size_t who = sleepers.pick();
        if (who != sleepers.kNobody) parkers[who].unpark();
        if (random.one_in(50)) std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Node& node : nodes) ASSERT_EQ(node.times, 1u);
  EXPECT_TRUE(this->queue->empty());
}

}  // namespace
}  // namespace bulkhead::sync
