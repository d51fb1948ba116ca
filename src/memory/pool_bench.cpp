// What a block of a core's pool costs.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "memory/pool.hpp"

namespace {

using bulkhead::memory::Block;
using bulkhead::memory::Pool;

constexpr std::uint8_t kClass = 0;
constexpr std::size_t kChain = 64;

void block_taken_and_given(benchmark::State& state) {
  Pool pool;
  for (auto _ : state) {
    void* block = pool.take(kClass);
    benchmark::DoNotOptimize(block);
    pool.give(block, kClass);
  }
}
BENCHMARK(block_taken_and_given);

// So many at a time: more than the first-level cache holds, then more than the second.
void blocks_taken_then_given(benchmark::State& state) {
  Pool pool;
  const std::int64_t blocks = state.range(0);
  for (auto _ : state) {
    Block* all = nullptr;
    for (std::int64_t i = 0; i < blocks; ++i) {
      auto* block = static_cast<Block*>(pool.take(kClass));
      block->next = all;
      all = block;
    }
    while (all != nullptr) {
      Block* next = all->next;
      pool.give(all, kClass);
      all = next;
    }
  }
  state.SetItemsProcessed(state.iterations() * blocks);
}
BENCHMARK(blocks_taken_then_given)->Arg(64)->Arg(4096)->Arg(65536);

// A chain goes home as if from another core, and is sorted in by the owner.
void block_taken_and_brought_home(benchmark::State& state) {
  Pool pool;
  for (auto _ : state) {
    std::array<Block*, kChain> blocks{};
    for (Block*& block : blocks) block = static_cast<Block*>(pool.take(kClass));
    for (std::size_t i = 0; i < kChain; ++i) {
      blocks[i]->next = i == 0 ? nullptr : blocks[i - 1];
      blocks[i]->size_class = kClass;
    }
    pool.give_remote(blocks.back(), blocks.front());
    pool.collect_returned();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kChain));
}
BENCHMARK(block_taken_and_brought_home);

}  // namespace
