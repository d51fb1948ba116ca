#include "core/ready_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "support/seed.hpp"

namespace bulkhead::core {
namespace {

// While there is memory the queue never looks into a slot, so any address will do.
Slot* slot(std::uintptr_t number) { return reinterpret_cast<Slot*>(number * 64); }

TEST(SlotRing, is_open_at_both_ends) {
  SlotRing ring;
  EXPECT_TRUE(ring.empty());
  ring.push_back(slot(1));
  ring.push_back(slot(2));
  ring.push_front(slot(3));
  EXPECT_EQ(ring.size(), 3u);
  EXPECT_EQ(ring.pop_front(), slot(3));
  EXPECT_EQ(ring.pop_back(), slot(2));
  EXPECT_EQ(ring.pop_front(), slot(1));
  EXPECT_TRUE(ring.empty());
}

TEST(SlotRing, grows_and_keeps_its_order) {
  SlotRing ring;
  std::deque<Slot*> expected;
  support::Random random(support::seed_of_test());
  for (std::uintptr_t i = 1; i < 20'000; ++i) {
    switch (random.below(5)) {
      case 0:
        ring.push_front(slot(i));
        expected.push_front(slot(i));
        break;
      case 1:
      case 2:
        ring.push_back(slot(i));
        expected.push_back(slot(i));
        break;
      case 3:
        if (!expected.empty()) {
          ASSERT_EQ(ring.pop_front(), expected.front());
          expected.pop_front();
        }
        break;
      default:
        if (!expected.empty() && random.one_in(2)) {
          ASSERT_EQ(ring.pop_back(), expected.back());
          expected.pop_back();
        }
    }
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
  }
  EXPECT_GT(expected.size(), 1024u) << "it has grown";
  while (!expected.empty()) {
    ASSERT_EQ(ring.pop_front(), expected.front());
    expected.pop_front();
  }
}

TEST(SlotRing, can_be_used_again_after_it_has_shrunk) {
  SlotRing ring;
  for (std::uintptr_t i = 1; i <= 5000; ++i) ring.push_back(slot(i));
  for (std::uintptr_t i = 1; i <= 5000; ++i) EXPECT_EQ(ring.pop_front(), slot(i));
  ring.shrink();
  ring.push_front(slot(7));
  EXPECT_EQ(ring.pop_back(), slot(7));
  ring.shrink();
  for (std::uintptr_t i = 1; i <= 3000; ++i) ring.push_back(slot(i));
  EXPECT_EQ(ring.size(), 3000u);
  EXPECT_EQ(ring.pop_front(), slot(1));
}

TEST(ReadyQueue, serves_the_hot_newest_first_and_then_the_others_oldest_first) {
  ReadyQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(), nullptr);
  for (std::uintptr_t i = 1; i <= 3; ++i) {
    queue.push_fair(slot(10 + i));
    queue.push_hot(slot(20 + i));
  }
  EXPECT_EQ(queue.size(), 6u);
  std::vector<Slot*> served;
  while (!queue.empty()) {
    const Slot* seen = nullptr;
    EXPECT_EQ(queue.next_if([&](const Slot& next) {
      seen = &next;
      return false;
    }),
              nullptr);
    served.push_back(served.size() % 2 == 0 ? queue.next()
                                            : queue.next_if([](const Slot&) { return true; }));
    EXPECT_EQ(served.back(), seen) << "and no other than the one that was seen before";
  }
  EXPECT_EQ(queue.next(), nullptr);
  EXPECT_EQ(served,
            (std::vector<Slot*>{slot(23), slot(22), slot(21), slot(11), slot(12), slot(13)}));
  EXPECT_TRUE(queue.empty());
}

TEST(ReadyQueue, serves_the_longest_waiting_one_when_it_is_to_be_fair) {
  ReadyQueue queue;
  EXPECT_EQ(queue.next_fairly(), nullptr);
  queue.push_hot(slot(1));
  EXPECT_EQ(queue.next_fairly(), slot(1)) << "also when it is the only one";
  queue.push_hot(slot(1));
  queue.push_hot(slot(2));
  queue.push_hot(slot(3));
  EXPECT_EQ(queue.next_fairly(), slot(1)) << "the oldest of the hot when there is nobody else";
  queue.push_fair(slot(4));
  EXPECT_EQ(queue.next_fairly(), slot(4));
  EXPECT_EQ(queue.size(), 2u);
}

// Also when each turn has to be a fair one.
TEST(ReadyQueue, starves_no_hot_one_when_it_is_fair_all_the_time) {
  ReadyQueue queue;
  queue.push_fair(slot(1));
  queue.push_hot(slot(2));
  queue.push_hot(slot(3));
  std::vector<Slot*> served;
  for (int turn = 0; turn < 6; ++turn) {
    served.push_back(queue.next_fairly());
    queue.push_fair(served.back());
  }
  EXPECT_EQ(served, (std::vector<Slot*>{slot(1), slot(2), slot(1), slot(3), slot(2), slot(1)}));
}

// Two hot ones that make each other ready for ever do not keep the others from their turn.
TEST(ReadyQueue, starves_nobody) {
  ReadyQueue queue;
  std::vector<int> turns(20, 0);
  for (std::uintptr_t i = 2; i < 10; ++i) queue.push_fair(slot(100 + i));
  for (std::uintptr_t i = 10; i < 20; ++i) queue.push_hot(slot(100 + i));
  queue.push_hot(slot(100));
  std::uintptr_t next_hot = 1;
  for (int turn = 0; turn < 64 * 200; ++turn) {
    Slot* served = turn % 64 == 0 ? queue.next_fairly() : queue.next();
    ASSERT_NE(served, nullptr);
    const auto number = reinterpret_cast<std::uintptr_t>(served) / 64 - 100;
    ++turns[number];
    if (number < 2) {
      queue.push_hot(slot(100 + next_hot));
      next_hot = 1 - next_hot;
    } else {
      queue.push_fair(served);
    }
  }
  for (std::size_t i = 0; i < turns.size(); ++i) EXPECT_GE(turns[i], 5) << i;
}

TEST(ReadyQueue, gives_away_those_who_would_wait_longest) {
  ReadyQueue queue;
  EXPECT_EQ(queue.take_to_give(), nullptr);
  queue.push_hot(slot(1));
  queue.push_hot(slot(2));
  queue.push_hot(slot(3));
  queue.push_fair(slot(4));
  queue.push_fair(slot(5));
  EXPECT_EQ(queue.take_to_give(), slot(5));
  EXPECT_EQ(queue.take_to_give(), slot(4));
  EXPECT_EQ(queue.take_to_give(), slot(1));
  queue.put_back(slot(1));
  EXPECT_EQ(queue.size(), 3u);
  std::vector<Slot*> served;
  while (Slot* next = queue.next()) served.push_back(next);
  EXPECT_EQ(served, (std::vector<Slot*>{slot(3), slot(2), slot(1)}));
}

TEST(ReadyQueue, shrinks_when_it_is_empty_and_not_otherwise) {
  ReadyQueue queue;
  for (std::uintptr_t i = 1; i <= 4000; ++i) {
    queue.push_hot(slot(i));
    queue.push_fair(slot(10'000 + i));
  }
  queue.shrink();
  EXPECT_EQ(queue.size(), 8000u);
  std::size_t served = 0;
  while (queue.next() != nullptr) ++served;
  EXPECT_EQ(served, 8000u);
  queue.shrink();
  queue.push_hot(slot(1));
  EXPECT_EQ(queue.next(), slot(1));
}

TEST(ReadyQueue, lines_up_in_the_order_of_becoming_ready) {
  ReadyQueue queue;
  queue.reserve(3000);
  EXPECT_EQ(queue.line_up(), 0u);
  EXPECT_EQ(queue.next_in_line(), nullptr);
  queue.push_fair(slot(1));
  for (std::uintptr_t i = 3; i < 10; ++i) queue.push_hot(slot(i));
  queue.push_fair(slot(2));
  EXPECT_EQ(queue.line_up(), 9u);
  queue.push_hot(slot(10));  // of the next line
  for (std::uintptr_t i = 1; i < 10; ++i) EXPECT_EQ(queue.next_in_line(), slot(i));
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.line_up(), 1u);
  EXPECT_EQ(queue.next_in_line(), slot(10));
}

}  // namespace
}  // namespace bulkhead::core
