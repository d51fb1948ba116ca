// What a heap costs, beside malloc of the C library, and of mimalloc where it is found: that one is
// loaded at run time, so that it does not replace malloc, and all three are called alike.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "memory/heap.hpp"

namespace {

using bulkhead::memory::Heap;

constexpr std::size_t kLimit = std::size_t{64} << 20;

struct Ours {
  Heap* heap = Heap::take(kLimit);

  Ours() = default;
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  ~Ours() { heap->discard(); }
  void* allocate(std::size_t bytes) { return heap->allocate(bytes); }
  void release(void* p) { heap->release(p); }
  static bool found() { return true; }
};

/// As operator new and delete do it: one call deep, and the owner is found by the address.
struct OursByAddress : Ours {
  [[gnu::noinline]] void* allocate(std::size_t bytes) { return heap->allocate(bytes); }
  [[gnu::noinline]] void release(void* p) {
    Heap* owner = bulkhead::memory::owner_of(p);
    if (owner != nullptr) [[likely]]
      return owner->release(p);
    std::free(p);
  }
};

struct CLibrary {
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void release(void* p) { std::free(p); }
  static bool found() { return true; }
};

struct Mimalloc {
  using Take = void* (*)(std::size_t);
  using Give = void (*)(void*);

  static void* library() {
    static void* const found = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return found;
  }
  static bool found() { return library() != nullptr; }
  Take take = found() ? reinterpret_cast<Take>(dlsym(library(), "mi_malloc")) : nullptr;
  Give give = found() ? reinterpret_cast<Give>(dlsym(library(), "mi_free")) : nullptr;
  void* allocate(std::size_t bytes) { return take(bytes); }
  void release(void* p) { give(p); }
};

template <class Allocator>
bool skipped(benchmark::State& state) {
  if (!Allocator::found()) state.SkipWithError("mimalloc is not installed (libmimalloc2.0)");
  return !Allocator::found();
}

template <class Allocator>
void heap_64_bytes(benchmark::State& state) {
  if (skipped<Allocator>(state)) return;
  Allocator allocator;
  for (auto _ : state) {
    void* p = allocator.allocate(64);
    benchmark::DoNotOptimize(p);
    allocator.release(p);
  }
}
BENCHMARK(heap_64_bytes<Ours>);
BENCHMARK(heap_64_bytes<OursByAddress>);
BENCHMARK(heap_64_bytes<CLibrary>);
BENCHMARK(heap_64_bytes<Mimalloc>);

// Among a thousand live blocks, a random one is replaced by one of another size.
template <class Allocator>
void heap_random_sizes(benchmark::State& state) {
  if (skipped<Allocator>(state)) return;
  Allocator allocator;
  std::mt19937 random(1);
  std::vector<std::uint16_t> sizes(8192);
  std::vector<std::uint16_t> places(8192);
  for (auto& size : sizes) size = static_cast<std::uint16_t>(random() % 1024 + 1);
  for (auto& place : places) place = static_cast<std::uint16_t>(random() % 1000);
  std::array<void*, 1000> live{};
  std::size_t i = 0;
  for (auto _ : state) {
    void*& p = live[places[i]];
    allocator.release(p);
    p = allocator.allocate(sizes[i]);
    benchmark::DoNotOptimize(p);
    i = (i + 1) % sizes.size();
  }
  for (void* p : live) allocator.release(p);
}
BENCHMARK(heap_random_sizes<Ours>);
BENCHMARK(heap_random_sizes<OursByAddress>);
BENCHMARK(heap_random_sizes<CLibrary>);
BENCHMARK(heap_random_sizes<Mimalloc>);

template <class Allocator>
void heap_1000_then_released(benchmark::State& state) {
  if (skipped<Allocator>(state)) return;
  Allocator allocator;
  std::array<void*, 1000> live{};
  for (auto _ : state) {
    for (void*& p : live) p = allocator.allocate(48);
    benchmark::DoNotOptimize(live);
    for (void* p : live) allocator.release(p);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(heap_1000_then_released<Ours>);
BENCHMARK(heap_1000_then_released<CLibrary>);
BENCHMARK(heap_1000_then_released<Mimalloc>);

// A buffer that doubles up to 64 KiB, as a vector's.
template <class Allocator>
void heap_growing_buffer(benchmark::State& state) {
  if (skipped<Allocator>(state)) return;
  Allocator allocator;
  for (auto _ : state) {
    void* held = nullptr;
    for (std::size_t bytes = 16; bytes <= 65536; bytes *= 2) {
      void* p = allocator.allocate(bytes);
      benchmark::DoNotOptimize(p);
      allocator.release(held);
      held = p;
    }
    allocator.release(held);
  }
}
BENCHMARK(heap_growing_buffer<Ours>);
BENCHMARK(heap_growing_buffer<CLibrary>);
BENCHMARK(heap_growing_buffer<Mimalloc>);

void heap_life_of_10_blocks(benchmark::State& state) {
  for (auto _ : state) {
    Heap* heap = Heap::take(kLimit);
    for (int i = 0; i < 10; ++i) benchmark::DoNotOptimize(heap->allocate(64));
    heap->discard();
  }
}
BENCHMARK(heap_life_of_10_blocks);

void heap_life_of_none(benchmark::State& state) {
  for (auto _ : state) Heap::take(kLimit)->discard();
}
BENCHMARK(heap_life_of_none);

// Grows to four segments, which it gets and gives with the thread's others.
void heap_life_of_64_kib(benchmark::State& state) {
  for (auto _ : state) {
    Heap* heap = Heap::take(kLimit);
    for (int i = 0; i < 64; ++i) benchmark::DoNotOptimize(heap->allocate(1000));
    heap->discard();
  }
}
BENCHMARK(heap_life_of_64_kib);

// So many are alive at once; each life touches one page that the kernel has to give.
void heap_lives_at_once(benchmark::State& state) {
  std::vector<Heap*> heaps(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (Heap*& heap : heaps) {
      heap = Heap::take(kLimit);
      benchmark::DoNotOptimize(heap->allocate(64));
    }
    for (Heap* heap : heaps) heap->discard();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(heap_lives_at_once)->Arg(32)->Arg(10'000);

// Taken here and discarded by another thread, by way of a ring of 256.
void heap_life_across_threads(benchmark::State& state) {
  std::array<std::atomic<Heap*>, 256> ring{};
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (std::size_t i = 0;; ++i) {
      Heap* heap = nullptr;
      for (bool last = false; heap == nullptr;) {
        if (last) return;
        last = done.load();
        heap = ring[i % ring.size()].exchange(nullptr);
        if (heap == nullptr && !last) std::this_thread::yield();
      }
      heap->discard();
    }
  });
  std::size_t i = 0;
  for (auto _ : state) {
    Heap* heap = Heap::take(kLimit);
    for (int k = 0; k < 10; ++k) benchmark::DoNotOptimize(heap->allocate(64));
    auto& place = ring[i++ % ring.size()];
    while (place.load() != nullptr) std::this_thread::yield();
    place.store(heap);
  }
  done = true;
  other.join();
}
BENCHMARK(heap_life_across_threads)->UseRealTime();

void heap_free_from_elsewhere(benchmark::State& state) {
  Heap* heap = Heap::take(kLimit);
  for (auto _ : state) {
    void* p = heap->allocate(64);
    benchmark::DoNotOptimize(p);
    bulkhead::memory::release_elsewhere(p);
    heap->collect();
  }
  heap->discard();
}
BENCHMARK(heap_free_from_elsewhere);

}  // namespace
