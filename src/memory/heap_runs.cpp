// Runs: free memory of any size, how it is found, merged, and asked of the store.
#include <algorithm>

#include "base/check.hpp"
#include "machine/pages.hpp"
#include "memory/heap.hpp"
#include "memory/heap_cache.hpp"

namespace bulkhead::memory {

namespace {

constexpr std::uint32_t kLooksInBin = 8;
constexpr std::uint32_t kUnitsPerMiB = (1u << 20) / 16;
constexpr unsigned kLargestStep = 12;  // segments of more than 64 MiB only for blocks that need it

std::uint32_t bin_of(std::uint32_t units) {
  return static_cast<std::uint32_t>(std::bit_width(units)) - 1;
}

std::uint32_t units_between(const std::byte* begin, const std::byte* end) {
  return static_cast<std::uint32_t>((end - begin) / 16);
}

SegmentId segment_of(const void* p) { return heap_range.segment_at(heap_range.offset(p)); }

}  // namespace

void Heap::release_larger(Block* block, std::uint32_t units) noexcept {
  live_.store(live_.load(kRelaxed) - one_block(units), kRelaxed);
  if (units <= kMediumUnits) {
    put_free(block, units);
  } else if (units >= kUnitsPerMiB) {
    put_run_without_pages(block, units);
  } else if (bytes_of(block) + std::size_t{units} * 16 == bump_) {
    block->header.store(0, kRelaxed);
    bump_ = bytes_of(block);
  } else {
    put_run(block, units, State::kRun);
  }
}

// --- the current run ---

Heap::Block* Heap::carve(std::uint32_t units) noexcept {
  const std::size_t bytes = std::size_t{units} * 16;
  if (bytes > static_cast<std::size_t>(run_end_ - bump_) && !adopt(units)) return nullptr;
  if (bytes > static_cast<std::size_t>(room_end_ - bump_)) extend_room(units);
  Block* block = as_block(bump_);
  bump_ += bytes;
  return block;
}

void Heap::extend_room(std::uint32_t units) noexcept {
  const std::byte* last = bump_ + std::size_t{units} * 16 - 1;
  touch(last);
  const SegmentId segment = segment_of(last);
  room_end_ =
      std::min(run_end_, heap_range.begin(segment) + touched_bytes(heap_range.unit(segment)));
}

/// Counts the pages of a segment as committed, up to that byte.
void Heap::touch(const std::byte* last) noexcept {
  const SegmentId segment = segment_of(last);
  Unit& unit = heap_range.unit(segment);
  const std::size_t page = heap_range.page_bytes.load(kRelaxed);
  const auto pages = static_cast<std::uint32_t>(
                         static_cast<std::size_t>(last - heap_range.begin(segment)) / page) +
                     1;
  if (pages <= unit.touched) return;
  count_committed(static_cast<std::ptrdiff_t>((pages - unit.touched) * page));
  unit.touched = pages;
}

bool Heap::adopt(std::uint32_t units) noexcept {
  Block* run = take_run(units);
  if (run == nullptr && merge_is_due(units)) {
    merge_all(Keep::kClasses);
    run = take_run(units);
  }
  if (run == nullptr) {
    if (grow(units)) return true;
    merge_all(Keep::kNothing);
    run = take_run(units);
  }
  if (run == nullptr) return false;
  make_current(run);
  return true;
}

void Heap::make_current(Block* run) noexcept {
  const std::uint32_t units = units_of(run);
  if (is_free(run, State::kBareRun)) {
    const Pages inner = inner_pages(run, units);
    count_committed(inner.end - inner.begin);
  }
  run->header.store(0, kRelaxed);
  retire_current();
  adopted_ += units;
  bump_ = bytes_of(run);
  run_end_ = bump_ + std::size_t{units} * 16;
  const SegmentId segment = segment_of(bump_);
  std::byte* touched = heap_range.begin(segment) + touched_bytes(heap_range.unit(segment));
  room_end_ = std::clamp(touched, bump_, run_end_);
}

void Heap::retire_current() noexcept {
  if (bump_ != run_end_) put_run(as_block(bump_), units_between(bump_, run_end_), State::kRun);
  bump_ = room_end_ = run_end_ = nullptr;
}

// --- bins ---

void Heap::put_run(Block* run, std::uint32_t units, State state) noexcept {
  const std::uint32_t bin = bin_of(units);
  Block* next = (bins_in_use_ >> bin & 1) != 0 ? bins_[bin] : nullptr;
  touch(bytes_of(run) + sizeof(Block) - 1);
  run->header.store(header(run, units, state, next), kRelaxed);
  run->link = next;
  bins_[bin] = run;
  bins_in_use_ |= 1u << bin;
}

void Heap::put_run_without_pages(Block* run, std::uint32_t units) noexcept {
  const Pages inner = inner_pages(run, units);
  machine::discard(inner.begin, static_cast<std::size_t>(inner.end - inner.begin));
  count_committed(inner.begin - inner.end);
  put_run(run, units, State::kBareRun);
}

/// The pages of a run that are counted as committed, without those of its ends.
Heap::Pages Heap::inner_pages(Block* run, std::uint32_t units) noexcept {
  const SegmentId segment = segment_of(run);
  const Unit& unit = heap_range.unit(segment);
  std::byte* origin = heap_range.begin(segment);
  const std::size_t page = machine::page_bytes();
  const auto from = static_cast<std::size_t>(bytes_of(run) - origin);
  const std::size_t begin = (from + sizeof(Block) + page - 1) / page * page;
  const std::size_t end =
      std::min((from + std::size_t{units} * 16) / page * page, touched_bytes(unit) / page * page);
  return begin < end ? Pages{origin + begin, origin + end} : Pages{origin, origin};
}

/// A run of so many units or more, out of its bin.
Heap::Block* Heap::take_run(std::uint32_t units) noexcept {
  const std::uint32_t bin = bin_of(units);
  if (Block* run = take_from_bin(bin, units); run != nullptr) return run;
  if (bin + 1 == kBins) return nullptr;
  const std::uint32_t higher = bins_in_use_ >> (bin + 1) << (bin + 1);
  if (higher == 0) return nullptr;
  return take_from_bin(static_cast<std::uint32_t>(std::countr_zero(higher)), units);
}

Heap::Block* Heap::take_from_bin(std::uint32_t bin, std::uint32_t units) noexcept {
  if ((bins_in_use_ >> bin & 1) == 0) return nullptr;
  Block* before = nullptr;
  Block* run = bins_[bin];
  for (std::uint32_t looks = 0; run != nullptr && looks < kLooksInBin; ++looks) {
    const bool bare = is_free(run, State::kBareRun);
    if (!bare && !is_free(run, State::kRun)) fault(kOverwritten);
    Block* next = run->link;
    if (units_of(run) >= units) {
      if (before == nullptr) {
        bins_[bin] = next;
        if (next == nullptr) bins_in_use_ &= ~(1u << bin);
      } else {
        const State state = is_free(before, State::kBareRun) ? State::kBareRun : State::kRun;
        before->header.store(header(before, units_of(before), state, next), kRelaxed);
        before->link = next;
      }
      return run;
    }
    before = run;
    run = next;
  }
  return nullptr;
}

// --- merging ---

// A merge looks at all there is. It pays when a good part of that is not in use, and when that part
// is not the same as after the last one.
bool Heap::merge_is_due(std::uint32_t units) const noexcept {
  const std::uint64_t idle = held_ - units_in(live_.load(kRelaxed));
  const std::uint64_t news = held_ / 8;
  return idle >= held_ / 4 && idle >= units && (adopted_ >= news || idle >= idle_then_ + news);
}

void Heap::merge() noexcept {
  collect();
  merge_all(Keep::kClasses);
}

void Heap::empty_lists() noexcept {
  const auto all = std::bit_cast<std::uint64_t>(freed_);
  for (std::uint32_t group = 0; all != 0 && group < kSmallClasses / kGroup; ++group) {
    if (!freed_[group]) continue;
    std::ranges::fill_n(free_ + group * kGroup, kGroup, nullptr);
    freed_[group] = false;
  }
  medium_lists_ = 0;
  bins_in_use_ = 0;
}

void Heap::merge_all(Keep keep) noexcept {
  retire_current();
  empty_lists();
  for (SegmentId id = larger_; id != kNoSegment; id = heap_range.unit(id).next) {
    merge_segment(id, keep);
  }
  merge_segment(first_, keep);
  idle_then_ = held_ - units_in(live_.load(kRelaxed));
  adopted_ = 0;
  BULKHEAD_ASSERT(audit() == nullptr, "a heap that was merged is whole");
}

/// Free neighbours.
struct Heap::Piece {
  Block* begin = nullptr;
  std::uint32_t units = 0;
  std::uint32_t parts = 0;
  State state = State::kRun;  // of the only part
};

void Heap::merge_segment(SegmentId segment, Keep keep) noexcept {
  std::byte* at = heap_range.begin(segment) + 8;
  std::byte* end = heap_range.begin(segment) + usable_bytes(heap_range.unit(segment)) - 8;
  Piece piece;
  std::uint32_t units = 0;
  for (; at < end; at += std::size_t{units} * 16) {
    Block* block = as_block(at);
    units = units_of(block);
    if (units == 0 || units > units_between(at, end)) fault("a block's header was overwritten");
    if (is(block, State::kUsed) || is(block, State::kRemote)) {
      put_merged(piece, keep);
      piece = {};
      continue;
    }
    State state = State::kFree;
    if (is_free(block, State::kRun)) {
      state = State::kRun;
    } else if (is_free(block, State::kBareRun)) {
      state = State::kBareRun;
      const Pages inner = inner_pages(block, units);
      count_committed(inner.end - inner.begin);
    } else if (!is_free(block, State::kFree)) {
      fault("a block's header was overwritten");
    }
    if (piece.parts++ == 0) piece.begin = block;
    piece.units += units;
    piece.state = state;
  }
  put_merged(piece, keep);
}

void Heap::put_merged(const Piece& piece, Keep keep) noexcept {
  if (piece.parts == 0) return;
  const bool alone = piece.parts == 1;
  if (alone && piece.state == State::kFree && keep == Keep::kClasses) {
    put_free(piece.begin, piece.units);
  } else if (alone && piece.state == State::kBareRun) {
    const Pages inner = inner_pages(piece.begin, piece.units);
    count_committed(inner.begin - inner.end);
    put_run(piece.begin, piece.units, State::kBareRun);
  } else if (piece.units >= kUnitsPerMiB) {
    put_run_without_pages(piece.begin, piece.units);
  } else {
    put_run(piece.begin, piece.units, State::kRun);
  }
}

// --- more memory ---

bool Heap::grow(std::uint32_t units) noexcept {
  const unsigned least = order_for(std::size_t{units} * 16 + 16);
  const auto doubled = static_cast<unsigned>(std::bit_width(held_ * 16 / kUnitBytes));
  const unsigned wanted = std::max(least, std::min(doubled, kLargestStep));
  SegmentId segment = HeapCache::take_segment(wanted);
  if (segment == kNoSegment && wanted != least) segment = HeapCache::take_segment(least);
  if (segment == kNoSegment) return false;
  own(segment);
  Unit& unit = heap_range.unit(segment);
  unit.next = larger_;
  larger_ = segment;
  retire_current();
  std::byte* begin = heap_range.begin(segment);
  bump_ = begin + 8;
  run_end_ = begin + usable_bytes(unit) - 8;
  room_end_ = std::clamp(begin + touched_bytes(unit), bump_, run_end_);
  held_ += units_between(bump_, run_end_);
  adopted_ += units_between(bump_, run_end_);
  count_committed(static_cast<std::ptrdiff_t>(touched_bytes(unit)));
  return true;
}

void Heap::own(SegmentId segment) const noexcept {
  const std::size_t units = HeapRange::size(heap_range.unit(segment)) / kUnitBytes;
  for (std::size_t i = 0; i < units; ++i) {
    heap_range.unit(segment + static_cast<SegmentId>(i)).owner.store(number_ + 1, kRelaxed);
  }
}

}  // namespace bulkhead::memory
