#include "core/slab.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace bulkhead::core {
namespace {

std::vector<Slot*> list(Slot* chain) {
  std::vector<Slot*> slots;
  for (; chain != nullptr; chain = chain->next_free) slots.push_back(chain);
  return slots;
}

Slot* chain(const std::vector<Slot*>& slots) {
  Slot* first = nullptr;
  for (Slot* slot : slots) {
    slot->next_free = first;
    first = slot;
  }
  return first;
}

TEST(Slab, gives_slots_that_are_vacant_and_where_their_index_says) {
  Slab& slab = Slab::process();
  const auto slots = list(slab.take(100));
  ASSERT_EQ(slots.size(), 100u);
  for (Slot* slot : slots) {
    const std::uint32_t index = Slab::index_of(*slot);
    EXPECT_LT(index, Slab::used());
    EXPECT_EQ(Slab::find(index), slot);
    EXPECT_EQ(&Slab::at(index), slot);
    EXPECT_EQ(slot->turn, Turn::kVacant);
    EXPECT_GE(slot->generation.load(), 1u);
    EXPECT_EQ(slot->flags, 0);
    EXPECT_FALSE(slot->inbox.has_mail());
    EXPECT_FALSE(slot->inbox.claim_right()) << "its taker has the right already";
  }
  slab.give(chain(slots));
}

TEST(Slab, gives_no_slot_twice) {
  Slab& slab = Slab::process();
  std::set<Slot*> all;
  std::vector<Slot*> chains;
  for (int i = 0; i < 20; ++i) {
    chains.push_back(slab.take(50));
    for (Slot* slot : list(chains.back())) EXPECT_TRUE(all.insert(slot).second);
  }
  EXPECT_EQ(all.size(), 1000u);
  for (Slot* each : chains) slab.give(each);
}

TEST(Slab, gives_used_slots_again_before_fresh_ones) {
  Slab& slab = Slab::process();
  slab.give(slab.take(500));
  const std::uint32_t used = Slab::used();
  for (int i = 0; i < 100; ++i) slab.give(slab.take(500));
  EXPECT_EQ(Slab::used(), used);
}

TEST(Slab, an_unused_slot_was_nobodys) {
  Slab& slab = Slab::process();
  slab.give(slab.take(10));
  const std::uint32_t used = Slab::used();
  Slot* slot = slab.take_unused();
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(Slab::index_of(*slot), used);
  EXPECT_EQ(slot->generation.load(), 1u);
  slab.give(chain({slot}));
}

TEST(Slab, finds_nothing_beyond_what_was_used) {
  EXPECT_EQ(Slab::find(Slab::used()), nullptr);
  EXPECT_EQ(Slab::find(UINT32_MAX), nullptr);
  EXPECT_EQ(Slab::find(static_cast<std::uint32_t>(kMaxSlots)), nullptr);
}

TEST(Slab, serves_many_threads) {
  Slab& slab = Slab::process();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&slab] {
      for (int i = 0; i < 300; ++i) {
        const auto slots = list(slab.take(20));
        EXPECT_EQ(slots.size(), 20u);
        for (Slot* slot : slots) {
          EXPECT_EQ(slot->state, nullptr) << "another thread has it too";
          slot->state = &slab;
        }
        for (Slot* slot : slots) slot->state = nullptr;
        slab.give(chain(slots));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A million slots: memory is committed as needed, and looked up while it grows.
TEST(Slab, grows_to_a_million_slots) {
  Slab& slab = Slab::process();
  std::vector<Slot*> chains;
  for (int i = 0; i < 1000; ++i) chains.push_back(slab.take(1000));
  EXPECT_GE(Slab::used(), 1'000'000u);
  Slot* last = Slab::find(Slab::used() - 1);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->turn, Turn::kVacant);
  for (Slot* each : chains) slab.give(each);
}

}  // namespace
}  // namespace bulkhead::core
