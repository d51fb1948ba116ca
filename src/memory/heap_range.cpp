#include "memory/heap_range.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>

#include "base/critical.hpp"
#include "machine/pages.hpp"
#include "machine/stack.hpp"
#include "memory/heap.hpp"

namespace bulkhead::memory {

constinit HeapRange heap_range;

namespace {

static_assert(sizeof(Heap) <= kHeapStride && kHeapStride % alignof(Heap) == 0);

constexpr std::size_t kAlignment = machine::kHugePageBytes;

std::size_t whole(std::size_t bytes, std::size_t of) { return (bytes + of - 1) / of * of; }

std::size_t usual_range_bytes() {
  return machine::reserving_takes_time() ? kEmulatedRangeBytes : kUsualRangeBytes;
}

std::byte* reserve_memory(std::size_t bytes) {
  void* memory = machine::reserve_aligned(whole(bytes, kAlignment), kAlignment);
  machine::avoid_huge_pages(memory, whole(bytes, kAlignment));
  return static_cast<std::byte*>(memory);
}

std::uint64_t key_for(const std::byte* base) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto mixed = (static_cast<std::uint64_t>(now) ^ reinterpret_cast<std::uintptr_t>(base)) *
                     0xd6e8feb86659fd93;
  return mixed ^ mixed >> 32;
}

}  // namespace

unsigned order_for(std::size_t bytes) noexcept {
  const std::size_t guard = heap_range.guard_bytes.load(std::memory_order_relaxed);
  const std::size_t units = (bytes + guard + kUnitBytes - 1) >> kUnitShift;
  return std::min(static_cast<unsigned>(std::bit_width(units - 1)), kOrders);
}

void cool(SegmentId segment) noexcept {
  Unit& unit = heap_range.unit(segment);
  const std::size_t touched = touched_bytes(unit);
  if (machine::page_bytes() > kUnitBytes) return;  // it shares its page with others
  unit.touched = 0;
  if (touched != 0) machine::discard(heap_range.begin(segment), touched);
}

HeapStore& HeapStore::process() {
  // Never destroyed: heaps outlive main.
  static auto* store = [] {
    const base::Critical critical("who makes what the process shares must not block");
    auto* made = new HeapStore;
    std::ranges::fill(made->free_, kNoSegment);
    return made;
  }();
  return *store;
}

bool HeapStore::reserve(std::size_t bytes) noexcept {
  sync::Guard guard(lock_);
  return range_bytes_ == 0 && reserve_locked(bytes);
}

bool HeapStore::reserve_locked(std::size_t bytes) noexcept {
  if (range_bytes_ != 0) return true;
  for (bytes = bytes / kExtent * kExtent; bytes >= kLeastRangeBytes;
       bytes = bytes / 2 / kExtent * kExtent) {
    if (try_range(bytes)) return true;
  }
  return false;
}

bool HeapStore::try_range(std::size_t bytes) noexcept {
  std::byte* base = nullptr;
  std::byte* units = nullptr;
  const std::size_t table = (bytes >> kUnitShift) * sizeof(Unit);
  try {
    base = reserve_memory(bytes);
    units = reserve_memory(table);
    most_heaps_ = static_cast<std::uint32_t>(
        std::min(bytes >> kUnitShift, static_cast<std::size_t>(kMostHeaps)));
    heap_range.heaps.store(reserve_memory(most_heaps_ * kHeapStride), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    if (units != nullptr) machine::release(units, whole(table, kAlignment));
    if (base != nullptr) machine::release(base, whole(bytes, kAlignment));
    return false;
  }
  const std::size_t page = machine::page_bytes();
  const bool guards =
      4 * page <= kUnitBytes && machine::supported_guard() == machine::GuardKind::kMadvise;
  heap_range.guard_bytes.store(guards ? static_cast<std::uint32_t>(page) : 0,
                               std::memory_order_relaxed);
  heap_range.page_bytes.store(static_cast<std::uint32_t>(std::min(page, kUnitBytes)),
                              std::memory_order_relaxed);
  heap_range.key.store(key_for(base), std::memory_order_relaxed);
  heap_range.base.store(reinterpret_cast<std::uintptr_t>(base), std::memory_order_relaxed);
  heap_range.units.store(reinterpret_cast<Unit*>(units), std::memory_order_relaxed);
  range_bytes_ = bytes;
  return true;
}

SegmentId HeapStore::take_segment(unsigned order) noexcept {
  const base::Critical critical("who takes memory for an actor must not block");
  SegmentId id = kNoSegment;
  {
    sync::Guard guard(lock_);
    if (order >= kOrders || !reserve_locked(usual_range_bytes())) return kNoSegment;
    id = free_[order];
    if (id != kNoSegment) {
      free_[order] = heap_range.unit(id).next;
    } else {
      id = cut(order);
    }
  }
  if (id == kNoSegment) return id;
  Unit& unit = heap_range.unit(id);
  if (!unit.guarded) {
    // Without memory for it, or in a sandbox that forbids it, the segment has none.
    const std::size_t guard_bytes = HeapRange::size(unit) - usable_bytes(unit);
    std::byte* end = heap_range.begin(id) + usable_bytes(unit);
    if (guard_bytes != 0) static_cast<void>(machine::guard(end, guard_bytes));
    unit.guarded = true;
  }
  return id;
}

// A larger segment begins at a multiple of its size; what lies before that becomes smaller ones.
SegmentId HeapStore::cut(unsigned order) noexcept {
  const SegmentId units = SegmentId{1} << order;
  const std::size_t first = whole(fresh_, units);
  if ((first + units) << kUnitShift > range_bytes_) return kNoSegment;
  if (!commit_up_to((first + units) << kUnitShift)) return kNoSegment;
  while (fresh_ < first) {
    const SegmentId piece = fresh_;
    const auto piece_order = static_cast<unsigned>(std::countr_zero(piece));
    make_segment(piece, piece_order);
    put(piece);
  }
  const SegmentId id = fresh_;
  make_segment(id, order);
  return id;
}

void HeapStore::make_segment(SegmentId id, unsigned order) noexcept {
  const SegmentId units = SegmentId{1} << order;
  for (SegmentId i = id; i < id + units; ++i) {
    heap_range.unit(i).order.store(static_cast<std::uint8_t>(order), std::memory_order_relaxed);
  }
  fresh_ = id + units;
  heap_range.bytes.store(std::size_t{fresh_} << kUnitShift,
                         std::memory_order_release);  // [pair range.bytes]
}

bool HeapStore::commit_up_to(std::size_t bytes) noexcept {
  if (bytes <= committed_) return true;
  const std::size_t end = std::min(whole(bytes, kExtent), range_bytes_);
  // Of an extent's part of the table the ends may lie within a page: a multiple is committed.
  constexpr std::size_t kTableShift = kUnitShift - 4;
  static_assert(sizeof(Unit) << kTableShift == kUnitBytes);
  auto* table = reinterpret_cast<std::byte*>(heap_range.units.load(std::memory_order_relaxed));
  const std::size_t from = committed_ >> kTableShift;
  try {
    machine::commit(heap_range.begin(0) + committed_, end - committed_);
    machine::commit(table + from, whole((end >> kTableShift) - from, machine::page_bytes()));
  } catch (const std::bad_alloc&) {
    return false;
  }
  committed_ = end;
  return true;
}

void HeapStore::put(SegmentId id) noexcept {
  Unit& unit = heap_range.unit(id);
  SegmentId& first = free_[unit.order.load(std::memory_order_relaxed)];
  unit.next = first;
  first = id;
}

void HeapStore::give_segments(SegmentId chain) noexcept {
  if (chain == kNoSegment) return;
  sync::Guard guard(lock_);
  while (chain != kNoSegment) {
    const SegmentId next = heap_range.unit(chain).next;
    put(chain);
    chain = next;
  }
}

Heap* HeapStore::take_heaps(std::uint32_t most) noexcept {
  const base::Critical critical("who takes a heap must not block");
  sync::Guard guard(lock_);
  if (!reserve_locked(usual_range_bytes())) return nullptr;
  Heap*& from = warm_heaps_ != nullptr ? warm_heaps_ : cold_heaps_;
  const bool warm = warm_heaps_ != nullptr;
  Heap* chain = nullptr;
  std::uint32_t taken = 0;
  for (; taken < most && from != nullptr; ++taken) {
    Heap* heap = from;
    from = heap->next_;
    heap->next_ = chain;
    chain = heap;
  }
  if (warm) warm_.store(warm_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
  return chain != nullptr ? chain : make_heap();
}

Heap* HeapStore::make_heap() noexcept {
  const std::uint32_t number = made_.load(std::memory_order_relaxed);
  if (number == most_heaps_) return nullptr;
  if ((std::size_t{number} + 1) * kHeapStride > heap_bytes_) {
    try {
      machine::commit(heap_range.heaps.load(std::memory_order_relaxed) + heap_bytes_, kHeapExtent);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    heap_bytes_ += kHeapExtent;
  }
  Heap* heap = new (heap_range.heap(number)) Heap(number);
  made_.store(number + 1, std::memory_order_release);  // [pair heaps.made]
  return heap;
}

void HeapStore::give_heaps(Heap* chain, Pages pages) noexcept {
  if (chain == nullptr) return;
  sync::Guard guard(lock_);
  Heap*& to = pages == Pages::kWarm ? warm_heaps_ : cold_heaps_;
  std::uint32_t given = 0;
  for (; chain != nullptr; ++given) {
    Heap* next = chain->next_;
    chain->next_ = to;
    to = chain;
    chain = next;
  }
  if (pages == Pages::kWarm) {
    warm_.store(warm_.load(std::memory_order_relaxed) + given, std::memory_order_relaxed);
  }
}

std::size_t HeapStore::reserved_bytes() noexcept {
  sync::Guard guard(lock_);
  return range_bytes_;
}

}  // namespace bulkhead::memory
