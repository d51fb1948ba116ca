// B2, B21: heaps and threads: blocks that are freed elsewhere, heaps that are discarded meanwhile,
// frees that come too late, lives that begin on one thread and end on another, forks.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "machine/pages.hpp"
#include "memory/heap.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace bulkhead::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

template <class Function>
void on_another_thread(Function function) {
  std::thread(function).join();
}

// Of all segments.
std::size_t bytes_in_memory() {
  const std::size_t page = machine::page_bytes();
  const std::size_t cut = heap_range.bytes.load();
  std::vector<unsigned char> pages((std::size_t{256} << 20) / page);
  std::size_t found = 0;
  for (std::size_t at = 0; at < cut; at += pages.size() * page) {
    const std::size_t bytes = std::min(pages.size() * page, cut - at);
    EXPECT_EQ(mincore(heap_range.begin(0) + at, bytes, pages.data()), 0);
    found += static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(bytes / page),
                      [](unsigned char c) { return (c & 1) != 0; }));
  }
  return found * page;
}

TEST(HeapThreads, a_block_that_is_freed_elsewhere_comes_back) {
  Heap* heap = Heap::take(Heap::kLeastLimit);
  for (const std::size_t bytes : {8u, 100u, 2000u, 4000u}) {
    for (const std::size_t alignment : {16u, 64u}) {
      void* p = heap->allocate(bytes == 4000 ? bytes - alignment + 16 : bytes, alignment);
      ASSERT_NE(p, nullptr);
      const std::size_t live = heap->live_bytes();
      on_another_thread([p] { release_elsewhere(p); });
      EXPECT_EQ(heap->live_bytes(), live) << "its owner has not looked yet";
      EXPECT_STREQ(heap->audit(), nullptr);
      heap->collect();
      EXPECT_EQ(heap->live_bytes(), 0u);
      EXPECT_STREQ(heap->audit(), nullptr);
    }
  }
  // The owner looks by itself before it refuses.
  for (int i = 0; i < 100; ++i) {
    void* p = heap->allocate(Heap::kLeastLimit * 3 / 4);
    ASSERT_NE(p, nullptr) << i;
    on_another_thread([p] { release_elsewhere(p); });
  }
  heap->discard();
}

TEST(HeapThreads, a_merge_leaves_blocks_alone_that_are_on_their_way_back) {
  Heap* heap = Heap::take(kMiB);
  std::vector<void*> blocks(100);
  for (void*& p : blocks) p = heap->allocate(100);
  for (std::size_t i = 0; i < blocks.size(); i += 2) release_elsewhere(blocks[i]);
  for (std::size_t i = 1; i < blocks.size(); i += 2) heap->release(blocks[i]);
  EXPECT_EQ(heap->live_blocks(), 50u);
  heap->merge();
  EXPECT_EQ(heap->live_blocks(), 0u);
  EXPECT_STREQ(heap->audit(), nullptr);
  heap->discard();
}

TEST(HeapThreads, a_block_that_is_freed_twice_elsewhere_is_found) {
  const auto ended = support::run_in_child([] {
    void* p = Heap::take(kMiB)->allocate(100);
    on_another_thread([p] { release_elsewhere(p); });
    on_another_thread([p] { release_elsewhere(p); });
  });
  EXPECT_EQ(ended.signal, SIGABRT);
  EXPECT_NE(ended.errors.find("a block was freed twice"), std::string::npos);
  const auto mixed = support::run_in_child([] {
    Heap* heap = Heap::take(kMiB);
    void* p = heap->allocate(100);
    on_another_thread([p] { release_elsewhere(p); });
    heap->release(p);
  });
  EXPECT_EQ(mixed.signal, SIGABRT);
  EXPECT_NE(mixed.errors.find("a block was freed twice"), std::string::npos);
}

TEST(HeapThreads, frees_that_come_too_late_are_counted_and_dropped) {
  Heap* heap = Heap::take(kMiB);
  std::vector<void*> blocks(1000);
  for (std::size_t i = 0; i < 1000; ++i) blocks[i] = heap->allocate(200, i % 2 == 0 ? 16 : 128);
  heap->release(blocks[0]);
  heap->discard();
  const std::uint64_t before = heap_stats().stale_frees;
  for (void* p : blocks) release_elsewhere(p);
  EXPECT_EQ(heap_stats().stale_frees, before + 1000);
  // Its next life has a block that is spread over all those.
  Heap* next = Heap::take(kMiB);
  ASSERT_EQ(next, heap);
  auto* all = static_cast<unsigned char*>(next->allocate(11'000));
  std::memset(all, 0x33, 11'000);
  for (void* p : blocks) {
    if (p != all) release_elsewhere(p);
  }
  EXPECT_GE(heap_stats().stale_frees, before + 1999);
  for (std::size_t i = 0; i < 11'000; ++i) ASSERT_EQ(all[i], 0x33);
  next->collect();
  EXPECT_EQ(next->live_blocks(), 1u);
  EXPECT_STREQ(next->audit(), nullptr);
  next->discard();
}

TEST(HeapThreads, what_is_no_block_is_left_alone) {
  Heap* heap = Heap::take(kMiB);
  auto* p = static_cast<std::byte*>(heap->allocate(1000));
  std::memset(p, 0, 1000);
  const std::uint64_t before = heap_stats().stale_frees;
  std::byte* segment = heap_range.begin(heap_range.segment_at(heap_range.offset(p)));
  std::uint64_t tried = 0;
  for (std::byte* at = segment; at < segment + kUnitBytes; at += 8, ++tried) {
    if (at == p) ++at;
    release_elsewhere(at);
    if (at == p + 1) --at;
  }
  int local = 0;
  release_elsewhere(&local);
  EXPECT_EQ(heap_stats().stale_frees, before + tried + 1);
  heap->collect();
  EXPECT_EQ(heap->live_blocks(), 1u);
  EXPECT_STREQ(heap->audit(), nullptr);
  heap->discard();
}

TEST(HeapThreads, blocks_that_many_free_at_once_all_come_back) {
  constexpr int kThreads = 3;
  constexpr std::size_t kBlocks = 3000;
  Heap* heap = Heap::take(16 * kMiB);
  std::vector<std::thread> threads;
  std::vector<std::atomic<void*>> handed(kThreads * kBlocks);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&handed, t] {
      for (std::size_t i = 0; i < kBlocks; ++i) {
        void* p = nullptr;
        while ((p = handed[t * kBlocks + i].load()) == nullptr) std::this_thread::yield();
        release_elsewhere(p);
      }
    });
  }
  support::Random random(support::seed_of_test());
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::size_t bytes = random.one_in(50) ? 40'000 : random.below(2000);
      void* p = heap->allocate(bytes, random.one_in(4) ? 256 : 16);
      while (p == nullptr) {
        std::this_thread::yield();
        p = heap->allocate(bytes);
      }
      std::memset(p, 1, bytes);
      handed[t * kBlocks + i].store(p);
    }
    if (random.one_in(100)) heap->merge();
  }
  for (std::thread& thread : threads) thread.join();
  heap->collect();
  EXPECT_EQ(heap->live_blocks(), 0u);
  EXPECT_EQ(heap->live_bytes(), 0u);
  EXPECT_STREQ(heap->audit(), nullptr);
  heap->discard();
}

// The next life begins at once, in the same memory, while the frees of the one before still come:
// no byte of it may change.
TEST(HeapThreads, frees_that_meet_a_discard_write_nothing_into_the_next_life) {
  constexpr int kThreads = 2;
  constexpr std::size_t kBlocks = 40;
  std::atomic<void*> handed[kThreads][kBlocks] = {};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (auto& mine : handed) {
    threads.emplace_back([&mine, &done] {
      while (!done.load()) {
        bool some = false;
        for (auto& place : mine) {
          void* p = place.load();
          if (p == nullptr) continue;
          some = true;
          release_elsewhere(p);
          place.store(nullptr);
        }
        if (!some) std::this_thread::yield();
      }
    });
  }
  const std::uint64_t before = heap_stats().stale_frees;
  std::uint64_t back = 0;
  support::Random random(support::seed_of_test());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    Heap* heap = Heap::take(kMiB);
    static_cast<void>(heap->allocate(8));  // so that no block is where the next life has one
    for (std::size_t i = 0; i < kBlocks; ++i) {
      for (auto& mine : handed) {
        mine[i].store(heap->allocate(64));
      }
    }
    while (random.one_in(2) && handed[1][0].load() != nullptr) std::this_thread::yield();
    heap->collect();
    back += 1 + kThreads * kBlocks - heap->live_blocks();
    heap->discard();
    Heap* next = Heap::take(kMiB);
    ASSERT_EQ(next, heap);
    auto* all = static_cast<unsigned char*>(next->allocate(10'000));
    std::memset(all, 0x44, 10'000);
    for (std::uint32_t i = random.below(1000); i > 0; --i) sync::RealSync::spin_hint();
    ASSERT_TRUE(std::all_of(all, all + 10'000, [](unsigned char c) { return c == 0x44; }));
    // A free that comes so late that a block begins at its address again would free that.
    for (auto& mine : handed) {
      for (auto& place : mine) {
        while (place.load() != nullptr) std::this_thread::yield();
      }
    }
    ASSERT_TRUE(std::all_of(all, all + 10'000, [](unsigned char c) { return c == 0x44; }));
    next->collect();
    ASSERT_EQ(next->live_blocks(), 1u);
    next->discard();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(back, 0u) << "some frees were in time";
  EXPECT_GT(heap_stats().stale_frees, before) << "and some were not";
}

TEST(HeapThreads, a_life_may_end_on_another_thread) {
  const HeapStats before = heap_stats();
  const std::size_t in_memory = bytes_in_memory();
  constexpr std::size_t kAtOnce = 64;
  std::vector<Heap*> heaps(kAtOnce);
  for (int round = 0; round < 300; ++round) {
    for (Heap*& heap : heaps) {
      heap = Heap::take(kMiB);
      static_cast<void>(heap->allocate(64));
      static_cast<void>(heap->allocate(30'000));
    }
    on_another_thread([&heaps] {
      for (Heap* heap : heaps) {
        static_cast<void>(heap->allocate(64));
        heap->discard();
      }
    });
  }
  EXPECT_EQ(heap_stats().live, before.live);
  EXPECT_LE(bytes_in_memory(), in_memory + 8 * kMiB);
}

// Threads that start and end: what they keep is not lost with them.
TEST(HeapThreads, threads_leave_nothing_behind) {
  const auto work = [] {
    on_another_thread([] {
      std::vector<Heap*> heaps(100);
      for (Heap*& heap : heaps) {
        heap = Heap::take(kMiB);
        std::memset(heap->allocate(100'000), 1, 100'000);
      }
      for (Heap* heap : heaps) heap->discard();
    });
  };
  for (int i = 0; i < 10; ++i) work();
  const std::size_t in_memory = bytes_in_memory();
  const std::uint32_t made = HeapStore::process().made();
  for (int i = 0; i < 100; ++i) work();
  EXPECT_EQ(HeapStore::process().made(), made);
  EXPECT_LE(bytes_in_memory(), in_memory + kMiB);
}

// Heaps of many threads at once, each of its own.
TEST(HeapThreads, threads_have_heaps_of_their_own) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      support::Random random(t);
      for (int round = 0; round < 300 / support::kTimeFactor; ++round) {
        Heap* heap = Heap::take(4 * kMiB);
        std::vector<std::pair<unsigned char*, std::size_t>> blocks;
        for (int i = 0; i < 300; ++i) {
          const std::size_t bytes = random.one_in(30) ? 60'000 : random.below(600);
          auto* p = static_cast<unsigned char*>(heap->allocate(bytes));
          if (p == nullptr) continue;
          std::memset(p, static_cast<int>(t), bytes);
          blocks.emplace_back(p, bytes);
        }
        for (const auto& [p, bytes] : blocks) {
          EXPECT_EQ(owner_of(p), heap);
          EXPECT_TRUE(bytes == 0 || p[bytes - 1] == t);
        }
        EXPECT_STREQ(heap->audit(), nullptr);
        heap->discard();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HeapThreads, a_forked_child_has_its_own_heaps) {
  std::atomic<bool> done{false};
  std::thread busy([&done] {
    while (!done) {
      std::vector<Heap*> heaps(200);
      for (Heap*& heap : heaps) heap = Heap::take(kMiB);
      for (Heap* heap : heaps) heap->discard();
    }
  });
  Heap* heap = Heap::take(kMiB);
  auto* p = static_cast<char*>(heap->allocate(100));
  std::strcpy(p, "parent");
  for (int i = 0; i < 20; ++i) {
    const auto ended = support::run_in_child([&] {
      std::strcpy(p, "child");
      heap->release(p);
      heap->discard();
      std::vector<Heap*> heaps(300);
      for (Heap*& one : heaps) {
        one = Heap::take(kMiB);
        if (one->allocate(20'000) == nullptr) std::_Exit(1);
      }
      for (Heap* one : heaps) one->discard();
    });
    EXPECT_EQ(ended.status, 0);
  }
  EXPECT_STREQ(p, "parent");
  heap->discard();
  done = true;
  busy.join();
}

}  // namespace
}  // namespace bulkhead::memory
