// What must hold in a heap, looked at block by block.
#include <cstdint>

#include "memory/heap.hpp"

namespace bulkhead::memory {

/// What is found in the segments, to be compared with what the heap knows.
struct HeapAudit {
  const Heap& heap;
  const char* wrong = nullptr;
  std::uint64_t live_units = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t held = 0;
  std::size_t committed = 0;
  std::uint32_t free_blocks[Heap::kMediumUnits + 1] = {};  // by size
  std::uint32_t runs[Heap::kBins] = {};

  void require(bool holds, const char* what) {
    if (!holds && wrong == nullptr) wrong = what;
  }

  void look_at_block(Heap::Block* block, std::uint32_t units) {
    using State = Heap::State;
    if (heap.is(block, State::kUsed) || heap.is(block, State::kRemote)) {
      live_units += units;
      ++live_blocks;
      require(units == Heap::rounded(units), "a block in use has the size of a class");
    } else if (heap.is_free(block, State::kFree)) {
      require(units <= Heap::kMediumUnits, "a free block is of a class");
      if (wrong == nullptr) ++free_blocks[units];
    } else if (heap.is_free(block, State::kRun) || heap.is_free(block, State::kBareRun)) {
      ++runs[std::bit_width(units) - 1];
      if (heap.is_free(block, State::kBareRun)) {
        const Heap::Pages inner = Heap::inner_pages(block, units);
        committed -= static_cast<std::size_t>(inner.end - inner.begin);
      }
    } else {
      require(false, "a header is right");
    }
  }

  void look_at_segment(SegmentId id) {
    const Unit& unit = heap_range.unit(id);
    std::byte* at = heap_range.begin(id) + 8;
    std::byte* end = heap_range.begin(id) + usable_bytes(unit) - 8;
    committed += touched_bytes(unit);
    held += static_cast<std::uint64_t>(end - at) / 16;
    for (std::size_t i = 0; i < HeapRange::size(unit) / kUnitBytes; ++i) {
      const Unit& part = heap_range.unit(id + static_cast<SegmentId>(i));
      require(part.owner.load(Heap::kRelaxed) == heap.number_ + 1, "all of a segment is owned");
    }
    while (at < end && wrong == nullptr) {
      if (at == heap.bump_ && heap.bump_ != heap.run_end_) {
        at = heap.run_end_;
        continue;
      }
      Heap::Block* block = Heap::as_block(at);
      const std::uint32_t units = Heap::units_of(block);
      require(units != 0 && units <= static_cast<std::size_t>(end - at) / 16, "blocks are whole");
      if (wrong == nullptr) look_at_block(block, units);
      at += std::size_t{units} * 16;
    }
    require(wrong != nullptr || at == end, "blocks fill a segment");
  }

  void compare_list(Heap::Block* first, std::uint32_t units, std::uint32_t& found) {
    for (Heap::Block* block = first; block != nullptr && wrong == nullptr; block = block->link) {
      require(found > 0, "a list holds the free blocks that there are");
      require(heap.is_free(block, Heap::State::kFree) && Heap::units_of(block) == units,
              "what a list of free blocks holds is of its class");
      --found;
    }
  }

  void compare_lists() {
    for (std::uint32_t units = 1; units <= Heap::kMediumUnits; ++units) {
      if (units != Heap::rounded(units)) continue;
      const bool small = units <= Heap::kSmallClasses;
      if (small) compare_list(heap.free_[units - 1], units, free_blocks[units]);
      const std::uint32_t of = small ? 0 : Heap::class_of(units);
      if (!small && (heap.medium_lists_ >> of & 1) != 0) {
        compare_list(heap.medium_[of], units, free_blocks[units]);
      }
    }
    for (const std::uint32_t left : free_blocks) require(left == 0, "free blocks are in lists");
    for (std::uint32_t bin = 0; bin < Heap::kBins; ++bin) {
      if ((heap.bins_in_use_ >> bin & 1) == 0) continue;
      Heap::Block* run = heap.bins_[bin];
      require(run != nullptr, "a bin in use holds a run");
      for (; run != nullptr && wrong == nullptr; run = run->link, --runs[bin]) {
        require(runs[bin] > 0, "a bin holds the runs that there are");
        require(Heap::units_of(run) >> bin == 1, "a run is in the bin of its size");
      }
    }
    for (const std::uint32_t left : runs) require(left == 0, "runs are in bins");
  }

  void compare_sums() {
    const std::uint64_t live = heap.live_.load(Heap::kRelaxed);
    require(live_units == Heap::units_in(live), "live bytes are counted");
    require(live_blocks == live >> 32, "live blocks are counted");
    require(live_units <= heap.limit_.load(Heap::kRelaxed), "the limit holds");
    require(held == heap.held_, "what segments hold is counted");
    require(committed == heap.committed_.load(Heap::kRelaxed), "what is committed is counted");
    require(heap.bump_ <= heap.room_end_ && heap.room_end_ <= heap.run_end_,
            "the current run is in order");
  }
};

const char* Heap::audit() const noexcept {
  HeapAudit audit{*this};
  audit.look_at_segment(first_);
  for (SegmentId id = larger_; id != kNoSegment; id = heap_range.unit(id).next) {
    audit.look_at_segment(id);
  }
  audit.compare_sums();
  audit.compare_lists();
  return audit.wrong;
}

}  // namespace bulkhead::memory
