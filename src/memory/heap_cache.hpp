// What a thread keeps of heaps and segments, so that most lives begin and end without a lock and in
// warm memory. Owned by its thread; what it holds belongs to no life.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/heap_range.hpp"

namespace bulkhead::memory {

class Heap;

struct HeapCache {
  static constexpr unsigned kOrdersKept = 5;  // segments of up to 256 KiB
  static constexpr std::size_t kMostBytes = std::size_t{512} << 10;
  static constexpr std::uint32_t kMostHeaps = 64;
  static constexpr std::uint32_t kBatch = kMostHeaps / 2;

  Heap* heaps = nullptr;
  std::uint32_t heap_count = 0;
  enum class Phase : std::uint8_t { kFresh, kInUse, kOver } phase = Phase::kFresh;
  SegmentId segments[kOrdersKept] = {kNoSegment, kNoSegment, kNoSegment, kNoSegment, kNoSegment};
  std::size_t segment_bytes = 0;

  /// Of the calling thread, else of the store; kNoSegment when there is none.
  [[nodiscard]] static SegmentId take_segment(unsigned order) noexcept;

  [[nodiscard]] bool keep(SegmentId segment) noexcept;
  void keep(Heap* heap) noexcept;
  [[nodiscard]] Heap* take_heap() noexcept;
  void give_heaps(std::uint32_t kept) noexcept;
  void trim() noexcept;
};

}  // namespace bulkhead::memory
