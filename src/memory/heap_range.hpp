// The addresses of all heaps: one reservation for the process, cut into segments, and the table
// that says whose they are.
//
// A *unit* is 16 KiB. A *segment* is 16 KiB * 2^order, at a multiple of its size from the base, and
// is never cut or merged again. Its last page is a guard, where the kernel has guards that split no
// mapping: who runs over the end of a segment faults there.
// What is known of units lies outside of them, so that nothing that is written into a heap's memory
// reaches it, and so that a free segment costs no memory.
//
// Who touches what
//  R1  base, bounds, table: written under the lock of HeapStore, read by any thread.
//  R2  A unit's owner: written by who takes its segment for a heap, read by any thread. It stays
//      when the segment is free again: a stale free is then led to a heap that knows no such block.
//      A unit's order is written once, before its segment is taken for the first time.
//  R3  The rest of a unit: whoever has its segment, that is its heap's owner, the cache of a
//      thread, or the store under its lock.
// The loads and stores of R1 and R2 order nothing: who has a pointer into a segment got it from
// somebody who has seen them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/fork.hpp"
#include "sync/lock.hpp"

namespace bulkhead::memory {

class Heap;

inline constexpr unsigned kUnitShift = 14;
inline constexpr std::size_t kUnitBytes = std::size_t{1} << kUnitShift;
inline constexpr unsigned kOrders = 23;  // the largest segment has 64 GiB
inline constexpr std::size_t kUsualRangeBytes = std::size_t{1} << 40;
inline constexpr std::size_t kEmulatedRangeBytes = std::size_t{1} << 34;
inline constexpr std::size_t kLeastRangeBytes = std::size_t{64} << 20;
inline constexpr std::uint32_t kMostHeaps = std::uint32_t{1} << 22;
inline constexpr std::size_t kHeapStride = 1152;  // from one Heap to the next

/// Names a segment: the number of its first unit.
using SegmentId = std::uint32_t;
inline constexpr SegmentId kNoSegment = UINT32_MAX;

struct Unit {
  sync::RealSync::atomic<std::uint32_t> owner;  // number of its heap + 1, or 0
  SegmentId next;                               // in a list of segments
  std::uint32_t touched;                        // pages from its begin that may be in memory
  sync::RealSync::atomic<std::uint8_t> order;
  bool guarded;  // or there are no guards
};
static_assert(sizeof(Unit) == 16);

struct HeapRange {
  sync::RealSync::atomic<std::uintptr_t> base{0};
  sync::RealSync::atomic<std::size_t> bytes{0};  // of which segments have been cut
  sync::RealSync::atomic<Unit*> units{nullptr};
  sync::RealSync::atomic<std::byte*> heaps{nullptr};
  sync::RealSync::atomic<std::uint64_t> key{0};          // random, for the secrets of heaps
  sync::RealSync::atomic<std::uint32_t> guard_bytes{0};  // at the end of each segment
  sync::RealSync::atomic<std::uint32_t> page_bytes{0};   // that memory is counted in

  /// Offset of an address; SIZE_MAX when it is no heap's.
  [[nodiscard]] std::size_t offset(const void* p) const noexcept {
    const std::size_t cut = bytes.load(std::memory_order_acquire);  // [pair range.bytes]
    const std::size_t at =
        reinterpret_cast<std::uintptr_t>(p) - base.load(std::memory_order_relaxed);
    return at < cut ? at : SIZE_MAX;
  }
  [[nodiscard]] Unit& unit(SegmentId id) const noexcept {
    return units.load(std::memory_order_relaxed)[id];
  }
  [[nodiscard]] std::byte* begin(SegmentId id) const noexcept {
    return reinterpret_cast<std::byte*>(base.load(std::memory_order_relaxed) +
                                        (std::size_t{id} << kUnitShift));
  }
  [[nodiscard]] static std::size_t size(const Unit& unit) noexcept {
    return kUnitBytes << unit.order.load(std::memory_order_relaxed);
  }
  /// The segment that the unit at this offset belongs to.
  [[nodiscard]] SegmentId segment_at(std::size_t offset) const noexcept {
    const auto id = static_cast<SegmentId>(offset >> kUnitShift);
    return id >> unit(id).order.load(std::memory_order_relaxed)
                     << unit(id).order.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Heap* heap(std::uint32_t number) const noexcept {
    return reinterpret_cast<Heap*>(heaps.load(std::memory_order_relaxed) + number * kHeapStride);
  }
};

extern constinit HeapRange heap_range;

/// Bytes of a segment in front of its guard.
[[nodiscard]] inline std::size_t usable_bytes(const Unit& unit) noexcept {
  return HeapRange::size(unit) - heap_range.guard_bytes.load(std::memory_order_relaxed);
}
/// The first byte of a segment that is counted as never touched.
[[nodiscard]] inline std::size_t touched_bytes(const Unit& unit) noexcept {
  return std::size_t{unit.touched} * heap_range.page_bytes.load(std::memory_order_relaxed);
}
/// The smallest order whose segments have so many usable bytes; kOrders if there is none.
[[nodiscard]] unsigned order_for(std::size_t bytes) noexcept;
/// Gives the pages of a segment back to the kernel. Its guard stays.
void cool(SegmentId segment) noexcept;

/// Segments and heaps that no thread holds. Any thread; locked inside.
class HeapStore {
 public:
  static HeapStore& process();

  /// Reserves the range, or less where the kernel refuses. False when it is there already, or when
  /// there is not even the least.
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;

  /// One that is in no list; what it holds is not defined. kNoSegment when there is none.
  [[nodiscard]] SegmentId take_segment(unsigned order) noexcept;
  /// A chain, linked by Unit::next. Their pages should have been given back.
  void give_segments(SegmentId chain) noexcept;

  enum class Pages : std::uint8_t { kWarm, kGivenBack };
  /// A chain of up to so many that are done with, or a new one; null when there is none.
  [[nodiscard]] Heap* take_heaps(std::uint32_t most) noexcept;
  void give_heaps(Heap* chain, Pages pages) noexcept;
  /// May heaps come with their pages?
  [[nodiscard]] bool keeps_warm() const noexcept {
    return warm_.load(std::memory_order_relaxed) < kMostWarm;
  }

  /// Heaps that were ever made. Any thread.
  [[nodiscard]] std::uint32_t made() const noexcept {
    return made_.load(std::memory_order_acquire);  // [pair heaps.made]
  }
  [[nodiscard]] std::size_t reserved_bytes() noexcept;

  /// Frees of blocks whose heap had been discarded.
  sync::RealSync::atomic<std::uint64_t> stale_frees{0};

 private:
  static constexpr std::size_t kExtent = std::size_t{64} << 20;  // made usable at a time
  static constexpr std::size_t kHeapExtent = std::size_t{1} << 20;

  static constexpr std::uint32_t kMostWarm = 512;

  HeapStore() = default;
  Heap* make_heap() noexcept;
  bool reserve_locked(std::size_t bytes) noexcept;
  bool try_range(std::size_t bytes) noexcept;
  SegmentId cut(unsigned order) noexcept;
  bool commit_up_to(std::size_t bytes) noexcept;
  void make_segment(SegmentId id, unsigned order) noexcept;
  void put(SegmentId id) noexcept;

  machine::ForkMutex lock_{machine::Nesting::kInner};
  std::size_t range_bytes_ = 0;
  std::size_t committed_ = 0;
  SegmentId fresh_ = 0;  // the first unit that belongs to no segment yet
  SegmentId free_[kOrders];
  Heap* cold_heaps_ = nullptr;
  Heap* warm_heaps_ = nullptr;
  sync::RealSync::atomic<std::uint32_t> warm_{0};  // written under the lock
  std::size_t heap_bytes_ = 0;                     // usable
  std::uint32_t most_heaps_ = 0;
  sync::RealSync::atomic<std::uint32_t> made_{0};
};

}  // namespace bulkhead::memory
