// What a wait costs beside its switch of stacks, while nobody contends for it.
#include "sync/wait_word.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

#include "sync/atomic.hpp"

namespace {

void wait_begun_and_claimed(benchmark::State& state) {
  bulkhead::sync::WaitWord<bulkhead::sync::RealSync> word;
  for (auto _ : state) {
    const std::uint64_t epoch = word.begin();
    bool claimed = word.claim(epoch);
    benchmark::DoNotOptimize(claimed);
  }
}
BENCHMARK(wait_begun_and_claimed);

// A wake-up that comes too late finds another wait.
void wait_claimed_too_late(benchmark::State& state) {
  bulkhead::sync::WaitWord<bulkhead::sync::RealSync> word;
  const std::uint64_t old = word.begin();
  static_cast<void>(word.claim(old));
  static_cast<void>(word.begin());
  for (auto _ : state) {
    bool claimed = word.claim(old);
    benchmark::DoNotOptimize(claimed);
  }
}
BENCHMARK(wait_claimed_too_late);

}  // namespace
