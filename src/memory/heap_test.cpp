// B2, B21: heaps of actors: what they give out, limits, alignments, merging, pages, many at once.
// Faults: heap_faults_test.cpp; several threads: heap_threads_test.cpp.
#include "memory/heap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "machine/pages.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace bulkhead::memory {

/// What the test looks at, or sets, that nobody else has to.
struct HeapProbe {
  using Frees = decltype(Heap::frees_);

  static void set_epoch(Heap& heap, std::uint32_t epoch) {
    static_cast<void>(new (&heap.frees_) Frees(epoch));
    heap.secret_ = Heap::secret_of(heap.number_, epoch);
  }
  static constexpr std::uint32_t kLastEpoch = Frees::kLastEpoch;
};

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A heap for the length of a scope.
class Scoped {
 public:
  explicit Scoped(std::size_t limit) : heap_(Heap::take(limit)) { EXPECT_NE(heap_, nullptr); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;
  ~Scoped() {
    EXPECT_STREQ(heap_->audit(), nullptr);
    heap_->discard();
  }
  Heap* operator->() const { return heap_; }
  Heap& operator*() const { return *heap_; }

 private:
  Heap* heap_;
};

bool aligned(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

std::size_t block_bytes(std::size_t asked) {
  Scoped heap(Heap::kMostLimit);
  static_cast<void>(heap->allocate(asked));
  return heap->live_bytes();
}

// Allocates blocks of one size until there are no more.
std::vector<void*> fill(Heap& heap, std::size_t bytes) {
  std::vector<void*> blocks;
  while (void* p = heap.allocate(bytes)) blocks.push_back(p);
  return blocks;
}

TEST(Heap, gives_blocks_of_all_sizes_that_do_not_overlap) {
  Scoped heap(64 * kMiB);
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 0; bytes < 1100; ++bytes) sizes.push_back(bytes);
  for (std::size_t bytes = 1100; bytes < 200'000; bytes += bytes / 7) sizes.push_back(bytes);
  for (const std::size_t bytes : sizes) {
    auto* p = static_cast<unsigned char*>(heap->allocate(bytes));
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(aligned(p, 16));
    ASSERT_GE(heap->usable_size(p), bytes);
    std::memset(p, static_cast<int>(bytes % 251), bytes);
    blocks.emplace_back(p, bytes);
  }
  EXPECT_EQ(heap->live_blocks(), sizes.size());
  EXPECT_STREQ(heap->audit(), nullptr);
  for (const auto& [p, bytes] : blocks) {
    EXPECT_EQ(std::count(p, p + bytes, static_cast<unsigned char>(bytes % 251)),
              static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(owner_of(p), &*heap);
    EXPECT_EQ(owner_of(p + bytes / 2), &*heap);
    heap->release(p);
  }
  EXPECT_EQ(heap->live_blocks(), 0u);
  EXPECT_EQ(heap->live_bytes(), 0u);
}

TEST(Heap, gives_the_block_that_was_released_last) {
  Scoped heap(kMiB);
  for (const std::size_t bytes : {8u, 64u, 1000u, 5000u, 32000u, 100'000u}) {
    void* p = heap->allocate(bytes);
    heap->release(p);
    EXPECT_EQ(heap->allocate(bytes), p) << bytes;
  }
}

TEST(Heap, blocks_are_rounded_up_to_classes) {
  EXPECT_EQ(block_bytes(0), 16u);
  EXPECT_EQ(block_bytes(8), 16u);
  EXPECT_EQ(block_bytes(9), 32u);
  EXPECT_EQ(block_bytes(24), 32u);
  EXPECT_EQ(block_bytes(64), 80u);
  EXPECT_EQ(block_bytes(1016), 1024u);
  EXPECT_EQ(block_bytes(1017), 1280u);
  EXPECT_EQ(block_bytes(2000), 2048u);
  EXPECT_EQ(block_bytes(32'760), 32'768u);
  EXPECT_EQ(block_bytes(32'761), 32'784u);
  for (std::size_t bytes = 0; bytes < 40'000; bytes += 13) {
    EXPECT_LE(block_bytes(bytes), 16 + (bytes + 8) * 5 / 4) << bytes;
  }
}

// B2
TEST(Heap, keeps_its_limit_to_the_byte) {
  for (const std::size_t limit : {Heap::kLeastLimit, std::size_t{5000}, std::size_t{100'000}}) {
    for (const std::size_t bytes : {8u, 64u, 500u, 1016u, 3000u}) {
      Scoped heap(limit);
      EXPECT_EQ(heap->limit(), limit);
      const std::vector<void*> blocks = fill(*heap, bytes);
      EXPECT_EQ(blocks.size(), limit / block_bytes(bytes)) << limit << ' ' << bytes;
      EXPECT_LE(heap->live_bytes(), limit);
      if (blocks.empty()) continue;
      heap->release(blocks.back());
      EXPECT_EQ(heap->allocate(bytes), blocks.back());
      EXPECT_EQ(heap->allocate(bytes), nullptr);
    }
    Scoped heap(limit);
    EXPECT_EQ(heap->allocate(limit / 16 * 16 - 7), nullptr);
    void* all = heap->allocate(limit / 16 * 16 - 8);
    // The sizes of larger classes have steps; then all but a fifth can be had at once.
    EXPECT_EQ(all != nullptr, block_bytes(limit / 16 * 16 - 8) <= limit);
    EXPECT_EQ(all != nullptr, heap->allocate(limit * 4 / 5 - 8) == nullptr);
  }
}

// B2
TEST(Heap, refuses_what_no_heap_could_give) {
  Scoped heap(Heap::kMostLimit);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 15, SIZE_MAX / 2,
                                  Heap::kMostLimit, Heap::kMostLimit + 1, Heap::kMostLimit * 2}) {
    EXPECT_EQ(heap->allocate(bytes), nullptr) << bytes;
    EXPECT_EQ(heap->allocate(bytes, 64), nullptr) << bytes;
    EXPECT_EQ(heap->allocate(bytes, std::size_t{1} << 40), nullptr) << bytes;
    EXPECT_EQ(heap->allocate(SIZE_MAX - bytes / 2, 64), nullptr) << bytes;
  }
  EXPECT_EQ(heap->live_blocks(), 0u);
  heap->release(nullptr);
  EXPECT_NE(heap->allocate(8), nullptr);
}

// B2: where there are addresses for that.
TEST(Heap, can_be_as_large_as_the_largest_limit) {
  Scoped heap(Heap::kMostLimit);
  const bool room = heap_stats().bytes_reserved > 2 * Heap::kMostLimit;
  auto* p = static_cast<char*>(heap->allocate(Heap::kMostLimit - 8));
  ASSERT_EQ(p != nullptr, room);
  if (room) {
    p[0] = 1;
    p[Heap::kMostLimit - 9] = 2;
    EXPECT_EQ(owner_of(p + Heap::kMostLimit - 9), &*heap);
    EXPECT_EQ(heap->allocate(1), nullptr);
    heap->release(p);
  }
  EXPECT_NE(heap->allocate(1), nullptr);
}

TEST(Heap, of_a_limit_out_of_bounds_is_refused_loudly) {
  for (const std::size_t limit :
       {std::size_t{0}, Heap::kLeastLimit - 1, Heap::kMostLimit + 1, SIZE_MAX}) {
    const auto ended = support::run_in_child([&] { static_cast<void>(Heap::take(limit)); });
    EXPECT_EQ(ended.signal, SIGABRT) << limit;
    EXPECT_NE(ended.errors.find("a heap's limit lies within bounds"), std::string::npos);
  }
}

TEST(Heap, aligns_blocks_to_any_power_of_two) {
  Scoped heap(64 * kMiB);
  std::vector<void*> blocks;
  for (std::size_t alignment = 1; alignment <= 4 * kMiB; alignment *= 2) {
    for (const std::size_t bytes : {0u, 1u, 24u, 100u, 5000u}) {
      void* p = heap->allocate(bytes, alignment);
      ASSERT_NE(p, nullptr) << alignment;
      EXPECT_TRUE(aligned(p, std::max(alignment, std::size_t{16})));
      ASSERT_GE(heap->usable_size(p), bytes);
      ASSERT_LE(heap->usable_size(p), heap->live_bytes());
      std::memset(p, 0x5a, heap->usable_size(p));
      blocks.push_back(p);
      if (alignment > 1 && blocks.size() % 3 == 0) {
        heap->release(blocks[blocks.size() / 2]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2));
      }
    }
  }
  EXPECT_STREQ(heap->audit(), nullptr);
  for (void* p : blocks) heap->release(p);
  EXPECT_EQ(heap->live_bytes(), 0u);
}

TEST(Heap, refuses_an_alignment_that_is_none_loudly) {
  for (const std::size_t alignment : {0u, 3u, 48u}) {
    const auto ended =
        support::run_in_child([&] { static_cast<void>(Heap::take(kMiB)->allocate(8, alignment)); });
    EXPECT_EQ(ended.signal, SIGABRT) << alignment;
    EXPECT_NE(ended.errors.find("an alignment is a power of two"), std::string::npos);
  }
}

// What phases of a program leave behind serves the next one, whose blocks have other sizes.
TEST(Heap, serves_phases_of_other_sizes_with_the_same_memory) {
  constexpr std::size_t kLimit = 2 * kMiB;
  Scoped heap(kLimit);
  std::size_t most = 0;
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t bytes : {48u, 900'000u, 300u, 40'000u, 4000u, 16u}) {
      const std::vector<void*> blocks = fill(*heap, bytes);
      ASSERT_EQ(blocks.size(), kLimit / block_bytes(bytes)) << bytes;
      for (void* p : blocks) heap->release(p);
    }
    if (round == 1) most = heap->committed_bytes();
  }
  EXPECT_LE(heap->committed_bytes(), most);
  EXPECT_LE(most, kLimit * 5 / 2);
}

// Blocks that stay in between keep their neighbours apart.
TEST(Heap, uses_the_gaps_between_blocks) {
  constexpr std::size_t kLimit = 2 * kMiB;
  Scoped heap(kLimit);
  std::vector<void*> stay;
  for (int round = 0; round < 6; ++round) {
    const std::vector<void*> blocks = fill(*heap, 48);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i % 8 == 0) {
        stay.push_back(blocks[i]);
      } else {
        heap->release(blocks[i]);
      }
    }
    for (void* p : fill(*heap, 7 * 64 - 8)) heap->release(p);
  }
  EXPECT_LE(heap->committed_bytes(), kLimit * 5 / 2);
  for (void* p : stay) heap->release(p);
  EXPECT_EQ(heap->live_bytes(), 0u);
}

// How many pages of a range are in memory.
std::size_t pages_in_memory(const void* begin, std::size_t bytes) {
  const std::size_t page = machine::page_bytes();
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  std::vector<unsigned char> pages((bytes - page) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(from), pages.size() * page, pages.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](unsigned char c) { return (c & 1) != 0; }));
}

TEST(Heap, gives_the_pages_of_large_blocks_back) {
  constexpr std::size_t kBytes = 4 * kMiB;
  Scoped heap(256 * kMiB);
  const std::size_t committed = heap->committed_bytes();
  for (int i = 0; i < 20; ++i) {
    void* p = heap->allocate(kBytes);
    ASSERT_NE(p, nullptr);
    EXPECT_GE(heap->committed_bytes(), committed + kBytes);
    std::memset(p, 1, kBytes);
    EXPECT_GT(pages_in_memory(p, kBytes), 50u);
    void* behind = heap->allocate(100);
    heap->release(p);
    heap->release(behind);
    EXPECT_LE(pages_in_memory(p, kBytes), 1u);
    EXPECT_LE(heap->committed_bytes(), committed + kMiB);
    EXPECT_STREQ(heap->audit(), nullptr);
  }
}

// B21
TEST(Heap, takes_8_kib_at_most_while_it_is_small) {
  trim_heaps();
  Scoped heap(kMiB);
  for (int i = 0; i < 30; ++i) static_cast<void>(heap->allocate(64));
  EXPECT_LE(heap->committed_bytes(), 8192u);
}

TEST(Heap, is_empty_in_its_next_life) {
  Heap* first = Heap::take(kMiB);
  void* p = first->allocate(64);
  static_cast<void>(fill(*first, 5000));
  first->discard();
  Heap* second = Heap::take(Heap::kLeastLimit);
  EXPECT_EQ(second, first) << "it is warm";
  EXPECT_EQ(second->live_bytes(), 0u);
  EXPECT_EQ(second->live_blocks(), 0u);
  EXPECT_EQ(second->limit(), Heap::kLeastLimit);
  EXPECT_STREQ(second->audit(), nullptr);
  EXPECT_EQ(second->allocate(64), p);
  second->discard();
}

TEST(Heap, owns_no_address_of_others) {
  Scoped heap(kMiB);
  int local = 0;
  static int global = 0;
  auto* p = static_cast<std::byte*>(heap->allocate(1));
  EXPECT_EQ(owner_of(p), &*heap);
  EXPECT_EQ(owner_of(nullptr), nullptr);
  EXPECT_EQ(owner_of(&local), nullptr);
  EXPECT_EQ(owner_of(&global), nullptr);
  EXPECT_EQ(owner_of(&*heap), nullptr);
  EXPECT_EQ(owner_of(std::make_unique<int>().get()), nullptr);
  EXPECT_EQ(owner_of(reinterpret_cast<void*>(UINTPTR_MAX)), nullptr);
  EXPECT_EQ(owner_of(p + (std::size_t{1} << 40)), nullptr);
  EXPECT_EQ(owner_of(p - (std::size_t{1} << 40)), nullptr);
}

TEST(Heap, is_counted_while_it_is_alive) {
  const HeapStats before = heap_stats();
  {
    Scoped one(kMiB);
    Scoped other(kMiB);
    static_cast<void>(one->allocate(100));
    static_cast<void>(other->allocate(50'000));
    const HeapStats during = heap_stats();
    EXPECT_GE(during.bytes_reserved, kLeastRangeBytes);
    EXPECT_EQ(during.live, before.live + 2);
    EXPECT_EQ(during.bytes_used, before.bytes_used + one->live_bytes() + other->live_bytes());
    EXPECT_EQ(during.bytes_committed,
              before.bytes_committed + one->committed_bytes() + other->committed_bytes());
    EXPECT_GE(during.bytes_committed, before.bytes_committed + 50'000);
  }
  const HeapStats after = heap_stats();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.bytes_used, before.bytes_used);
  EXPECT_EQ(after.bytes_committed, before.bytes_committed);
}

// B21
TEST(Heap, there_are_100000_at_once) {
  constexpr std::size_t kHeaps = 100'000;
  constexpr std::size_t kBlocks = 20;
  const HeapStats before = heap_stats();
  const std::size_t resident = support::resident_bytes();
  const std::size_t mappings = support::mappings();
  std::vector<Heap*> heaps(kHeaps);
  for (Heap*& heap : heaps) {
    heap = Heap::take(kMiB);
    ASSERT_NE(heap, nullptr);
    for (std::size_t i = 0; i < kBlocks; ++i) std::memset(heap->allocate(100), 1, 100);
  }
  EXPECT_EQ(heap_stats().live, before.live + kHeaps);
  EXPECT_EQ(heap_stats().bytes_used, before.bytes_used + kHeaps * kBlocks * 112);
  const std::size_t each = (support::resident_bytes() - resident) / kHeaps;
  RecordProperty("resident_bytes_each", static_cast<int>(each));
  EXPECT_LE(each, 8192u * support::kMemoryFactor);
  EXPECT_LE(support::mappings(), mappings + 16 * support::kMemoryFactor);
  for (std::size_t i = 0; i < kHeaps; i += 997) EXPECT_STREQ(heaps[i]->audit(), nullptr);
  for (Heap* heap : heaps) heap->discard();
  EXPECT_EQ(heap_stats().live, before.live);
  trim_heaps();
  // What is known of heaps stays.
  EXPECT_LE(support::resident_bytes(),
            resident + kHeaps * (kHeapStride + 64) * support::kMemoryFactor + 16 * kMiB);
}

// B21
TEST(Heap, a_million_lives_leave_nothing_behind) {
  constexpr int kLives = 1'000'000 / support::kTimeFactor;
  const auto live = [](int i) {
    Heap* heap = Heap::take(kMiB);
    for (int k = 0; k < 10; ++k) static_cast<void>(heap->allocate(64));
    if (i % 100 == 0) static_cast<void>(heap->allocate(200'000));
    if (i % 1000 == 0) static_cast<void>(fill(*heap, 1000));
    heap->discard();
  };
  for (int i = 0; i < 2000; ++i) live(i);
  const std::size_t resident = support::resident_bytes();
  const std::size_t mappings = support::mappings();
  for (int i = 0; i < kLives; ++i) live(i);
  EXPECT_LE(support::resident_bytes(), resident + 2 * kMiB * support::kMemoryFactor);
  EXPECT_LE(support::mappings(), mappings + 4);
}

// B18: a heap whose epochs are spent has no further life.
TEST(Heap, lives_no_more_when_its_epochs_are_spent) {
  Heap* heap = Heap::take(kMiB);
  HeapProbe::set_epoch(*heap, HeapProbe::kLastEpoch - 2);
  void* p = heap->allocate(64);
  heap->discard();
  Heap* again = Heap::take(kMiB);
  ASSERT_EQ(again, heap);
  release_elsewhere(p);
  EXPECT_NE(again->allocate(64), nullptr);
  again->discard();
  Heap* other = Heap::take(kMiB);
  EXPECT_NE(other, heap);
  other->discard();
}

// B21: a program may ask for few addresses, and then gets along without more.
TEST(HeapDeathTest, ends_with_the_addresses_when_they_are_few) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    if (!reserve_heaps(kLeastRangeBytes) || reserve_heaps(kLeastRangeBytes)) std::_Exit(1);
    if (heap_stats().bytes_reserved != kLeastRangeBytes) std::_Exit(2);
    std::vector<Heap*> heaps;
    while (Heap* heap = Heap::take(kMiB)) heaps.push_back(heap);
    if (heaps.size() != kLeastRangeBytes / kUnitBytes) std::_Exit(3);
    for (Heap* heap : heaps) {
      // 12 KiB or 16 KiB, and no second segment.
      const std::size_t got = fill(*heap, 1000).size();
      if (got < 10 || got > 16 || heap->audit() != nullptr) std::_Exit(4);
    }
    for (Heap* heap : heaps) heap->discard();
    Heap* heap = Heap::take(kMiB);
    if (heap == nullptr || heap->allocate(1000) == nullptr) std::_Exit(5);
    heap->discard();
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// With a limit to the address space there are fewer addresses, or none until it is raised.
TEST(HeapDeathTest, gets_along_with_little_address_space) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::size_t mapped = 0;
  std::ifstream("/proc/self/statm") >> mapped;
  mapped *= machine::page_bytes();
  if (mapped > kUsualRangeBytes) return;  // sanitizers reserve terabytes themselves
  const auto limit_to = [](std::size_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &limit);
  };
  const auto run = [&] {
    limit_to(mapped + 20 * kMiB);
    if (Heap::take(kMiB) != nullptr) std::_Exit(1);
    if (reserve_heaps(kUsualRangeBytes)) std::_Exit(2);
    limit_to(mapped + 500 * kMiB);
    Heap* heap = Heap::take(kMiB);
    if (heap == nullptr) std::_Exit(3);
    const std::size_t reserved = heap_stats().bytes_reserved;
    if (reserved < kLeastRangeBytes || reserved > 512 * kMiB) std::_Exit(4);
    if (fill(*heap, 1000).size() < 900 || heap->audit() != nullptr) std::_Exit(5);
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace bulkhead::memory
