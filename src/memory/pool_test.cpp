#include "memory/pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "support/seed.hpp"

namespace bulkhead::memory {
namespace {

bool aligned(const void* block) { return reinterpret_cast<std::uintptr_t>(block) % 64 == 0; }

// A chain of blocks, as a core sends them home.
struct Chain {
  Block* newest = nullptr;
  Block* oldest = nullptr;

  void add(void* memory, std::uint8_t size_class) {
    auto* block = static_cast<Block*>(memory);
    block->size_class = size_class;
    block->next = newest;
    if (newest == nullptr) oldest = block;
    newest = block;
  }
};

// A10
TEST(BlockClasses, are_the_smallest_that_fit) {
  EXPECT_EQ(block_class(0), 0);
  EXPECT_EQ(block_class(1), 0);
  EXPECT_EQ(block_class(64), 0);
  EXPECT_EQ(block_class(65), 1);
  EXPECT_EQ(block_class(4096), kBlockClasses - 1);
  EXPECT_EQ(block_class(4097), kHeapClass);
  EXPECT_EQ(block_class(SIZE_MAX), kHeapClass);
  for (std::size_t bytes = 1; bytes <= kLargestBlock; ++bytes) {
    const std::uint8_t size_class = block_class(bytes);
    ASSERT_LT(size_class, kBlockClasses);
    ASSERT_GE(kSmallestBlock << size_class, bytes);
    if (size_class > 0) {
      ASSERT_LT(kSmallestBlock << (size_class - 1), bytes);
    }
  }
}

// A10
TEST(Pool, gives_blocks_of_all_classes_that_do_not_overlap) {
  Pool pool;
  std::vector<std::pair<std::byte*, std::size_t>> blocks;
  for (std::uint8_t size_class = 0; size_class < kBlockClasses; ++size_class) {
    for (int i = 0; i < 200; ++i) {
      auto* block = static_cast<std::byte*>(pool.take(size_class));
      EXPECT_TRUE(aligned(block));
      std::memset(block, size_class + 1, kSmallestBlock << size_class);
      blocks.emplace_back(block, kSmallestBlock << size_class);
    }
  }
  std::ranges::sort(blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    ASSERT_LE(blocks[i - 1].first + blocks[i - 1].second, blocks[i].first);
  }
  for (const auto& [block, bytes] : blocks) {
    ASSERT_TRUE(std::all_of(block, block + bytes, [&](std::byte b) { return b == block[0]; }));
    pool.give(block, block_class(bytes));
  }
}

// A10
TEST(Pool, gives_the_block_first_that_was_given_back_last) {
  Pool pool;
  void* first = pool.take(0);
  void* second = pool.take(0);
  pool.give(first, 0);
  pool.give(second, 0);
  EXPECT_EQ(pool.take(0), second);
  EXPECT_EQ(pool.take(0), first);
  pool.give(first, 0);
  pool.give(second, 0);
}

// A10
TEST(Pool, uses_its_memory_again) {
  Pool pool;
  std::vector<void*> blocks;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5000; ++i) blocks.push_back(pool.take(0));
    for (void* block : blocks) pool.give(block, 0);
    blocks.clear();
  }
  EXPECT_LE(pool.chunks(), 5000 * 64 / kChunkBytes + 2);
}

// A10
TEST(Pool, knows_whether_it_is_dry) {
  Pool pool;
  EXPECT_TRUE(pool.dry(0));
  EXPECT_FALSE(pool.has_free(0));
  void* block = pool.take(0);
  EXPECT_FALSE(pool.dry(0));
  EXPECT_EQ(pool.chunks(0), 1u);
  EXPECT_EQ(pool.chunks(1), 0u);
  pool.give(block, 0);
}

// A10
TEST(Pool, takes_back_chains_from_other_threads) {
  Pool pool;
  std::vector<void*> blocks;
  while (!pool.dry(2) || blocks.empty()) blocks.push_back(pool.take(2));
  EXPECT_FALSE(pool.has_free(2));
  const std::size_t chunks = pool.chunks();
  std::thread([&] {
    Chain chain;
    for (void* block : blocks) chain.add(block, 2);
    pool.give_remote(chain.newest, chain.oldest);
  }).join();
  EXPECT_TRUE(pool.dry(2)) << "not before the owner looks";
  EXPECT_TRUE(pool.has_free(2));
  std::set<void*> again;
  for (std::size_t i = 0; i < blocks.size(); ++i) again.insert(pool.take(2));
  EXPECT_EQ(again, std::set<void*>(blocks.begin(), blocks.end()));
  EXPECT_EQ(pool.chunks(), chunks);
  for (void* block : blocks) pool.give(block, 2);
}

// A10: blocks of different classes may come home in one chain.
TEST(Pool, sorts_what_comes_home_by_its_class) {
  Pool pool;
  void* small = pool.take(0);
  void* large = pool.take(5);
  Chain chain;
  chain.add(small, 0);
  chain.add(large, 5);
  pool.give_remote(chain.newest, chain.oldest);
  pool.collect_returned();
  EXPECT_EQ(pool.take(5), large);
  EXPECT_EQ(pool.take(0), small);
  pool.give(small, 0);
  pool.give(large, 5);
}

// A10
TEST(Pool, gives_chunks_back_that_are_wholly_free) {
  Pool pool;
  std::vector<void*> blocks;
  for (int i = 0; i < 50'000; ++i) blocks.push_back(pool.take(0));
  const std::size_t most = pool.chunks();
  EXPECT_GE(most, 40u);
  EXPECT_EQ(pool.chunks_since_trim(), most);
  for (void* block : blocks) pool.give(block, 0);
  pool.trim(5);
  EXPECT_EQ(pool.chunks(), 5u);
  EXPECT_EQ(pool.chunks(0), 5u);
  EXPECT_EQ(pool.chunks_since_trim(), 5u);
  pool.trim(0);
  EXPECT_EQ(pool.chunks(), 0u);
  EXPECT_TRUE(pool.dry(0));
  void* block = pool.take(0);
  EXPECT_EQ(pool.chunks(), 1u);
  pool.give(block, 0);
}

// A10
TEST(Pool, keeps_chunks_of_which_one_block_is_in_use) {
  Pool pool;
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(pool.take(0));
  std::vector<void*> kept;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 1000 == 0) {
      std::memset(blocks[i], 0x5a, 64);
      kept.push_back(blocks[i]);
    } else {
      pool.give(blocks[i], 0);
    }
  }
  pool.trim(0);
  EXPECT_GE(pool.chunks(), 15u);
  for (const void* block : kept) {
    EXPECT_EQ(static_cast<const unsigned char*>(block)[63], 0x5a);
  }
  for (int i = 0; i < 5000; ++i) blocks[static_cast<std::size_t>(i)] = pool.take(0);
  for (const void* block : kept) {
    EXPECT_EQ(std::count(blocks.begin(), blocks.begin() + 5000, block), 0) << "given twice";
  }
  for (int i = 0; i < 5000; ++i) pool.give(blocks[static_cast<std::size_t>(i)], 0);
  for (void* block : kept) pool.give(block, 0);
}

// A10: any mixture of takes, gives from here and from other threads, and trims.
TEST(Pool, survives_random_use) {
  support::Random random(support::seed_of_test());
  Pool pool;
  struct Taken {
    unsigned char* memory;
    std::uint8_t size_class;
    unsigned char mark;
  };
  std::vector<Taken> taken;
  Chain going_home;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint32_t what = random.below(20);
    if (what < 10 || taken.empty()) {
      const auto size_class = static_cast<std::uint8_t>(random.below(kBlockClasses));
      Taken one{static_cast<unsigned char*>(pool.take(size_class)), size_class,
                static_cast<unsigned char>(random.below(256))};
      std::memset(one.memory, one.mark, kSmallestBlock << size_class);
      taken.push_back(one);
    } else if (what < 19) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(taken.size()));
      const Taken one = taken[at];
      taken[at] = taken.back();
      taken.pop_back();
      ASSERT_EQ(one.memory[0], one.mark);
      ASSERT_EQ(one.memory[(kSmallestBlock << one.size_class) - 1], one.mark);
      if (random.one_in(3)) {
        going_home.add(one.memory, one.size_class);
      } else {
        pool.give(one.memory, one.size_class);
      }
    } else if (random.one_in(10)) {
      if (going_home.newest != nullptr) pool.give_remote(going_home.newest, going_home.oldest);
      going_home = Chain{};
      pool.collect_returned();
      pool.trim(random.below(5));
    }
    if (taken.size() > 3000) {
      for (; taken.size() > 100; taken.pop_back()) {
        pool.give(taken.back().memory, taken.back().size_class);
      }
    }
  }
  for (const Taken& one : taken) pool.give(one.memory, one.size_class);
  if (going_home.newest != nullptr) pool.give_remote(going_home.newest, going_home.oldest);
  pool.collect_returned();
  pool.trim(0);
  EXPECT_EQ(pool.chunks(), 0u);
}

// A10: many threads give back at once.
TEST(Pool, loses_nothing_that_many_threads_give_back) {
  Pool pool;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 3000;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kThreads * kEach; ++i) blocks.push_back(pool.take(1));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kEach; i += 3) {
        Chain chain;
        for (std::size_t k = 0; k < 3; ++k) chain.add(blocks[t * kEach + i + k], 1);
        pool.give_remote(chain.newest, chain.oldest);
      }
    });
  }
  for (int i = 0; i < 100; ++i) pool.collect_returned();
  for (std::thread& thread : threads) thread.join();
  pool.collect_returned();
  pool.trim(0);
  EXPECT_EQ(pool.chunks(), 0u) << "every block is back";
}

// A10
TEST(Heap, gives_blocks_of_any_size_aligned_like_those_of_the_pools) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{1} << 20}) {
    void* block = take_from_heap(bytes);
    EXPECT_TRUE(aligned(block));
    std::memset(block, 1, bytes);
    give_to_heap(block);
  }
}

// --- where memory lies ---

// A machine with two nodes, of which even CPUs belong to the first.
class TwoNodes final : public NodePolicy {
 public:
  [[nodiscard]] int nodes() const override { return 2; }
  [[nodiscard]] int node_of_cpu(int cpu) const override { return cpu % 2; }
  void place(void* begin, std::size_t bytes, int node) const override {
    placed.push_back({begin, bytes, node});
  }

  struct Placed {
    void* begin;
    std::size_t bytes;
    int node;
  };
  mutable std::vector<Placed> placed;
};

// A5
TEST(Pool, takes_its_chunks_from_the_node_of_its_core) {
  const TwoNodes nodes;
  for (const int cpu : {0, 1}) {
    Pool pool;
    nodes.placed.clear();
    pool.place_on(nodes.node_of_cpu(cpu), nodes);
    std::vector<void*> blocks;
    for (int i = 0; i < 5000; ++i) blocks.push_back(pool.take(0));
    EXPECT_EQ(nodes.placed.size(), pool.chunks());
    for (const auto& placed : nodes.placed) {
      EXPECT_EQ(placed.node, cpu);
      EXPECT_EQ(placed.bytes, kChunkBytes);
    }
    for (void* block : blocks) {
      const bool placed = std::ranges::any_of(nodes.placed, [&](const auto& each) {
        return block >= each.begin && block < static_cast<std::byte*>(each.begin) + each.bytes;
      });
      ASSERT_TRUE(placed);
      pool.give(block, 0);
    }
  }
}

// A5: a chunk that another core gave back may lie elsewhere, and is placed anew.
TEST(Pool, places_chunks_anew_that_were_somebody_elses) {
  const TwoNodes nodes;
  Pool first;
  first.place_on(0, nodes);
  void* block = first.take(0);
  first.give(block, 0);
  first.trim(0);
  nodes.placed.clear();
  Pool second;
  second.place_on(1, nodes);
  second.give(second.take(0), 0);
  ASSERT_EQ(nodes.placed.size(), 1u);
  EXPECT_EQ(nodes.placed[0].node, 1);
}

TEST(Pool, reserves_what_is_asked_for_and_no_more) {
  Pool pool;
  pool.reserve(0, 0);
  EXPECT_EQ(pool.chunks(), 0u);
  pool.reserve(0, 3000);
  const std::size_t chunks = pool.chunks();
  EXPECT_GE(chunks * kChunkBytes, 3000 * kSmallestBlock);
  EXPECT_LE(chunks * kChunkBytes, 3000 * kSmallestBlock + 2 * kChunkBytes);
  pool.reserve(0, 3000);
  std::vector<void*> blocks(3000);
  for (void*& block : blocks) block = pool.take(0);
  EXPECT_EQ(pool.chunks(), chunks);
  for (void* block : blocks) pool.give(block, 0);
}

}  // namespace
}  // namespace bulkhead::memory
