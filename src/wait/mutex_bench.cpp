// What locks cost: a mutex that nobody else wants, beside std::mutex in the same run; a mutex that
// is handed over, and blocking() there and back.
#include "bulkhead/mutex.hpp"

#include <benchmark/benchmark.h>

#include <mutex>

#include "bulkhead/bulkhead.hpp"

namespace {

using bulkhead::Mutex;
using bulkhead::Runtime;
using bulkhead::SpawnOptions;

/// Runs `body` in an actor of a runtime with so many cores, to its end.
template <class Body>
void in_actor(std::size_t cores, Body body) {
  bulkhead::Config config;
  config.cores = cores;
  Runtime runtime(config);
  runtime.start();
  SpawnOptions pinned;
  pinned.core = 0;
  pinned.pinned = true;
  runtime.spawn_with(pinned, body);
  static_cast<void>(runtime.wait_for_idle());
  runtime.shutdown();
}

void mutex_free_in_an_actor(benchmark::State& state) {
  in_actor(1, [&state] {
    Mutex mutex;
    long turns = 0;
    for (auto _ : state) {
      auto guard = mutex.lock();
      benchmark::DoNotOptimize(++turns);
    }
  });
}
BENCHMARK(mutex_free_in_an_actor);

void mutex_free_in_a_thread(benchmark::State& state) {
  Mutex mutex;
  long turns = 0;
  for (auto _ : state) {
    auto guard = mutex.lock();
    benchmark::DoNotOptimize(++turns);
  }
}
BENCHMARK(mutex_free_in_a_thread);

void mutex_free_std(benchmark::State& state) {
  std::mutex mutex;
  long turns = 0;
  for (auto _ : state) {
    const std::lock_guard guard(mutex);
    benchmark::DoNotOptimize(++turns);
  }
}
BENCHMARK(mutex_free_std);

// From here on the process counts locks: it has had an isolated actor.
void mutex_free_std_counted(benchmark::State& state) {
  Runtime runtime;
  runtime.start();
  SpawnOptions isolated;
  isolated.isolated.emplace();
  runtime.spawn_with(isolated, [] {});
  runtime.shutdown();
  mutex_free_std(state);
}
BENCHMARK(mutex_free_std_counted);

void semaphore_free(benchmark::State& state) {
  bulkhead::Semaphore semaphore(1);
  for (auto _ : state) {
    semaphore.acquire();
    semaphore.release();
  }
}
BENCHMARK(semaphore_free);

// Each turn waits: the others are always in the line. On one core, then on two.
void mutex_handed_over(benchmark::State& state) {
  const auto cores = static_cast<std::size_t>(state.range(0));
  in_actor(cores, [&state, cores] {
    constexpr std::size_t kActors = 4;
    Mutex mutex;
    bool over = false;
    bulkhead::WaitGroup others(kActors - 1);
    const auto turn = [&mutex, &over] {
      auto guard = mutex.lock();
      bulkhead::this_actor::yield();  // with the lock, so that the others come to wait
      return !over;
    };
    for (std::size_t i = 1; i < kActors; ++i) {
      SpawnOptions pinned;
      pinned.core = i % cores;
      pinned.pinned = true;
      bulkhead::spawn_with(pinned, [&] {
        while (turn()) {
        }
        others.done();
      });
    }
    for (auto _ : state) static_cast<void>(turn());
    {
      auto guard = mutex.lock();
      over = true;
    }
    others.wait();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kActors));
  });
}
BENCHMARK(mutex_handed_over)->Arg(1)->Arg(2)->UseRealTime();

void blocking_there_and_back(benchmark::State& state) {
  in_actor(1, [&state] {
    for (auto _ : state) {
      int value = bulkhead::blocking([] { return 1; });
      benchmark::DoNotOptimize(value);
    }
  });
}
BENCHMARK(blocking_there_and_back)->UseRealTime();

}  // namespace
