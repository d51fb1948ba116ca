// The lives of heaps, and what a thread keeps between them.
#include "memory/heap_cache.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "memory/heap.hpp"

namespace bulkhead::memory {

namespace {

constinit thread_local HeapCache cache [[gnu::tls_model("initial-exec")]];

/// Until this has ended, what the thread keeps finds its way back.
struct AtThreadEnd {
  AtThreadEnd() { cache.phase = HeapCache::Phase::kInUse; }
  AtThreadEnd(const AtThreadEnd&) = delete;
  AtThreadEnd& operator=(const AtThreadEnd&) = delete;
  ~AtThreadEnd() {
    cache.trim();
    cache.phase = HeapCache::Phase::kOver;
  }
};

[[gnu::noinline]] void begin_use() {
  static thread_local const AtThreadEnd at_end;
  static_cast<void>(at_end);
}

}  // namespace

// --- a life ---

Heap* Heap::take(std::size_t limit) noexcept {
  BULKHEAD_CHECK(limit >= kLeastLimit && limit <= kMostLimit, "a heap's limit lies within bounds");
  Heap* heap = cache.heaps;
  if (heap != nullptr) [[likely]] {
    cache.heaps = heap->next_;
    --cache.heap_count;
  } else {
    heap = cache.take_heap();
    if (heap == nullptr) return nullptr;
  }
  heap->limit_bytes_ = limit;
  heap->limit_.store(static_cast<std::uint32_t>(limit / 16), kRelaxed);
  return heap;
}

void Heap::start_in_first_segment() noexcept {
  const Unit& unit = heap_range.unit(first_);
  std::byte* begin = heap_range.begin(first_);
  bump_ = begin + 8;
  run_end_ = begin + usable_bytes(unit) - 8;
  const std::size_t touched = touched_bytes(unit);
  room_end_ = std::clamp(begin + touched, bump_, run_end_);
  held_ = static_cast<std::size_t>(run_end_ - bump_) / 16;
  adopted_ = held_;
  idle_then_ = 0;
  committed_.store(touched, kRelaxed);
}

void Heap::discard() noexcept {
  BULKHEAD_CHECK(limit_.load(kRelaxed) != 0, "a heap is discarded once in each life");
  const std::uint32_t epoch = frees_.discard();
  secret_ = secret_of(number_, epoch);
  limit_.store(0, kRelaxed);
  live_.store(0, kRelaxed);
  empty_lists();
  if (larger_ != kNoSegment) give_larger_segments();
  if (epoch == RemoteFrees<sync::RealSync, Block>::kLastEpoch) [[unlikely]] {
    // Its next lives would have the secrets of earlier ones.
    cool(first_);
    return;
  }
  start_in_first_segment();
  cache.keep(this);
}

void Heap::give_larger_segments() noexcept {
  SegmentId surplus = kNoSegment;
  while (larger_ != kNoSegment) {
    const SegmentId segment = larger_;
    Unit& unit = heap_range.unit(segment);
    larger_ = unit.next;
    if (cache.keep(segment)) continue;
    cool(segment);
    unit.next = surplus;
    surplus = segment;
  }
  HeapStore::process().give_segments(surplus);
}

// --- what a thread keeps ---

SegmentId HeapCache::take_segment(unsigned order) noexcept {
  if (order < kOrdersKept && cache.segments[order] != kNoSegment) {
    const SegmentId segment = cache.segments[order];
    const Unit& unit = heap_range.unit(segment);
    cache.segments[order] = unit.next;
    cache.segment_bytes -= HeapRange::size(unit);
    return segment;
  }
  return HeapStore::process().take_segment(order);
}

bool HeapCache::keep(SegmentId segment) noexcept {
  Unit& unit = heap_range.unit(segment);
  const std::size_t bytes = HeapRange::size(unit);
  const unsigned order = unit.order.load(std::memory_order_relaxed);
  if (order >= kOrdersKept || segment_bytes + bytes > kMostBytes || phase == Phase::kOver) {
    return false;
  }
  if (phase == Phase::kFresh) begin_use();
  unit.next = segments[order];
  segments[order] = segment;
  segment_bytes += bytes;
  return true;
}

void HeapCache::keep(Heap* heap) noexcept {
  heap->next_ = heaps;
  heaps = heap;
  ++heap_count;
  if (phase != Phase::kInUse) [[unlikely]] {
    if (phase == Phase::kFresh) begin_use();
    if (phase == Phase::kOver) give_heaps(0);
  }
  if (heap_count > kMostHeaps) [[unlikely]]
    give_heaps(kMostHeaps - kBatch);
}

Heap* HeapCache::take_heap() noexcept {
  if (phase == Phase::kFresh) begin_use();
  Heap* heap = HeapStore::process().take_heaps(phase == Phase::kInUse ? kBatch : 1);
  if (heap == nullptr) return nullptr;
  heaps = heap->next_;
  for (const Heap* other = heaps; other != nullptr; other = other->next_) ++heap_count;
  if (heap->first_ != kNoSegment) return heap;
  const SegmentId first = take_segment(0);
  if (first == kNoSegment) {
    heap->next_ = nullptr;
    HeapStore::process().give_heaps(heap, HeapStore::Pages::kGivenBack);
    return nullptr;
  }
  heap->first_ = first;
  heap->secret_ = Heap::secret_of(heap->number_, heap->frees_.epoch());
  heap->own(first);
  heap->start_in_first_segment();
  return heap;
}

/// The ones that were used last are kept.
void HeapCache::give_heaps(std::uint32_t kept) noexcept {
  Heap** link = &heaps;
  for (std::uint32_t i = 0; i < kept && *link != nullptr; ++i) link = &(*link)->next_;
  Heap* chain = *link;
  *link = nullptr;
  heap_count = std::min(heap_count, kept);
  HeapStore& store = HeapStore::process();
  const bool warm = kept != 0 && store.keeps_warm();
  if (!warm) {
    for (Heap* heap = chain; heap != nullptr; heap = heap->next_) {
      cool(heap->first_);
      heap->start_in_first_segment();
    }
  }
  store.give_heaps(chain, warm ? HeapStore::Pages::kWarm : HeapStore::Pages::kGivenBack);
}

void HeapCache::trim() noexcept {
  give_heaps(0);
  SegmentId surplus = kNoSegment;
  for (SegmentId& list : segments) {
    while (list != kNoSegment) {
      const SegmentId segment = list;
      Unit& unit = heap_range.unit(segment);
      list = unit.next;
      cool(segment);
      unit.next = surplus;
      surplus = segment;
    }
  }
  segment_bytes = 0;
  HeapStore::process().give_segments(surplus);
}

// --- for all ---

void trim_heaps() noexcept { cache.trim(); }

bool reserve_heaps(std::size_t bytes) noexcept { return HeapStore::process().reserve(bytes); }

HeapStats heap_stats() noexcept {
  HeapStore& store = HeapStore::process();
  HeapStats stats;
  const std::uint32_t made = store.made();
  for (std::uint32_t i = 0; i < made; ++i) {
    const Heap& heap = *heap_range.heap(i);
    if (heap.limit_.load(Heap::kRelaxed) == 0) continue;
    ++stats.live;
    stats.bytes_used += heap.live_bytes();
    stats.bytes_committed += heap.committed_bytes();
  }
  stats.bytes_reserved = store.reserved_bytes();
  stats.stale_frees = store.stale_frees.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace bulkhead::memory
