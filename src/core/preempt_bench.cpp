// What preemption costs: an allocation with and without ticks, beside malloc alone; a check; and
// loops that are compiled for it.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "bulkhead/bulkhead.hpp"
#include "preemptible/loops.hpp"

namespace {

using bulkhead::Config;

// Runs the benchmark's loop in an actor, alone on its core.
template <class Body>
void in_actor(benchmark::State& state, const Config& settings, Body body) {
  Config config = settings;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn([&] {
    for (auto _ : state) body();
  });
  runtime.wait_for_idle();
}

void allocate() {
  void* memory = ::operator new(32);
  benchmark::DoNotOptimize(memory);
  ::operator delete(memory);
}

void malloc_and_free(benchmark::State& state) {
  in_actor(state, Config{}, [] {
    void* memory = std::malloc(32);
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  });
}
BENCHMARK(malloc_and_free);

void new_and_delete_without_ticks(benchmark::State& state) { in_actor(state, Config{}, allocate); }
BENCHMARK(new_and_delete_without_ticks);

// The clock is looked at every so many allocations.
void new_and_delete_with_ticks(benchmark::State& state) {
  Config config;
  config.preempt_allocations = static_cast<std::size_t>(state.range(0));
  in_actor(state, config, allocate);
}
BENCHMARK(new_and_delete_with_ticks)->Arg(1)->Arg(16)->Arg(128)->Arg(1024);

void check(benchmark::State& state) {
  in_actor(state, Config{}, [] { bulkhead::check(); });
}
BENCHMARK(check);

void no_preempt(benchmark::State& state) {
  in_actor(state, Config{}, [] {
    const bulkhead::NoPreempt scope;
    benchmark::ClobberMemory();
  });
}
BENCHMARK(no_preempt);

// The same loop as preemptible::work.
[[gnu::noinline]] std::uint64_t work(std::uint64_t rounds) {
  std::uint64_t state = rounds;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 60) == 3) state ^= i;
  }
  return state;
}

constexpr std::uint64_t kRounds = 1000;

void thousand_rounds(benchmark::State& state) {
  std::uint64_t rounds = kRounds;
  in_actor(state, Config{}, [&] {
    benchmark::DoNotOptimize(rounds);
    benchmark::DoNotOptimize(work(rounds));
  });
}
BENCHMARK(thousand_rounds);

void thousand_rounds_compiled_for_preemption(benchmark::State& state) {
  in_actor(state, Config{}, [] { benchmark::DoNotOptimize(preemptible::work(kRounds)); });
}
BENCHMARK(thousand_rounds_compiled_for_preemption);

}  // namespace
