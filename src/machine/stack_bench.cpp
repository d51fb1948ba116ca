// What a stack costs that its core has at hand.
#include "machine/stack.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using bulkhead::machine::Stack;
using bulkhead::machine::StackPool;

void stack_taken_and_given(benchmark::State& state) {
  StackPool pool;
  for (auto _ : state) {
    Stack* stack = pool.take(0);
    benchmark::DoNotOptimize(stack);
    pool.give(stack);
  }
}
BENCHMARK(stack_taken_and_given);

// So many at a time.
void stacks_taken_then_given(benchmark::State& state) {
  StackPool pool;
  for (auto _ : state) {
    Stack* all = nullptr;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      Stack* stack = pool.take(0);
      stack->next = all;
      all = stack;
    }
    while (all != nullptr) {
      Stack* next = all->next;
      pool.give(all);
      all = next;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(stacks_taken_then_given)->Arg(64)->Arg(1024);

}  // namespace
