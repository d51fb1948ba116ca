#include "memory/heap.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/check.hpp"

namespace bulkhead::memory {

namespace {

// What is set at one time, and read when there is a fault.
sync::RealSync::atomic<HeapFault> told{nullptr};

}  // namespace

HeapFault set_heap_fault(HeapFault fault) noexcept {
  return told.exchange(fault, std::memory_order_acq_rel);  // [pair heap.fault]
}

void Heap::fault(const char* what) noexcept {
  if (const HeapFault tell = told.load(std::memory_order_acquire)) tell(what);  // [pair heap.fault]
  std::fprintf(stderr, "bulkhead: the heap of an actor is corrupted: %s\n", what);
  std::abort();
}

std::uint32_t Heap::rounded(std::uint32_t units) noexcept {
  if (units <= kSmallClasses || units > kMediumUnits) return units;
  const std::uint32_t step = std::uint32_t{1} << (std::bit_width(units - 1) - 3);
  return (units + step - 1) & ~(step - 1);
}

// Of medium ones.
std::uint32_t Heap::class_of(std::uint32_t units) noexcept {
  const auto width = static_cast<std::uint32_t>(std::bit_width(units - 1));
  return (width - 7) * 4 + ((units - 1) >> (width - 3)) - 4;
}

void* Heap::allocate_larger(std::size_t bytes) noexcept {
  if (bytes > kMostLimit) return nullptr;
  const auto units = rounded(static_cast<std::uint32_t>((bytes + kHeaderBytes + 15) / 16));
  const std::uint64_t live = live_.load(kRelaxed);
  if (units <= kMediumUnits && units_in(live) + units <= limit_.load(kRelaxed)) [[likely]] {
    Block* block = take_free(units);
    if (block != nullptr) [[likely]]
      return use(block, units);
  }
  return allocate_slowly(units);
}

void* Heap::allocate_slowly(std::uint32_t units) noexcept {
  collect();
  const std::uint64_t live = live_.load(kRelaxed);
  if (std::uint64_t{units_in(live)} + units > limit_.load(kRelaxed)) return nullptr;
  Block* block = units <= kMediumUnits ? take_free(units) : nullptr;
  if (block == nullptr) block = carve(units);
  return block != nullptr ? use(block, units) : nullptr;
}

void* Heap::use(Block* block, std::uint32_t units) noexcept {
  live_.store(live_.load(kRelaxed) + one_block(units), kRelaxed);
  block->header.store(header(block, units, State::kUsed), kRelaxed);
  return payload(block);
}

void* Heap::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  BULKHEAD_CHECK(std::has_single_bit(alignment), "an alignment is a power of two");
  if (alignment <= 16) return allocate(bytes);
  if (bytes > kMostLimit || alignment > kMostLimit) return nullptr;
  void* p = allocate(bytes + alignment - 16);
  if (p == nullptr) return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t distance = (alignment - at % alignment) % alignment;
  if (distance == 0) return p;
  void* aligned = static_cast<std::byte*>(p) + distance;
  Block* marker = block_of(aligned);
  const auto units = static_cast<std::uint32_t>(distance / 16);
  marker->header.store(header(marker, units, State::kMarker), kRelaxed);
  return aligned;
}

Heap::Block* Heap::take_free(std::uint32_t units) noexcept {
  Block*& list = list_of(units);
  Block* block = list;
  if (block == nullptr) return nullptr;
  Block* next = block->link;
  if (block->header.load(kRelaxed) != header(block, units, State::kFree, next)) {
    fault(kOverwritten);
  }
  list = next;
  return block;
}

/// Of a size that has a class, after it was made sure that the list is defined.
Heap::Block*& Heap::list_of(std::uint32_t units) noexcept {
  if (units <= kSmallClasses) {
    freed_[(units - 1) / kGroup] = true;
    return free_[units - 1];
  }
  const std::uint32_t of = class_of(units);
  if ((medium_lists_ >> of & 1) == 0) medium_[of] = nullptr;
  medium_lists_ |= 1u << of;
  return medium_[of];
}

void Heap::put_free(Block* block, std::uint32_t units) noexcept {
  Block*& list = list_of(units);
  block->header.store(header(block, units, State::kFree, list), kRelaxed);
  block->link = list;
  list = block;
}

/// The block that an aligned address lies in; null when there is no right marker.
Heap::Block* Heap::marked_block(const void* p) const noexcept {
  const Block* marker = block_of(p);
  if (!is(marker, State::kMarker)) return nullptr;
  return as_block(reinterpret_cast<std::byte*>(const_cast<Block*>(marker)) -
                  std::size_t{units_of(marker)} * 16);
}

void Heap::release_aligned(void* p) noexcept {
  Block* block = marked_block(p);
  if (block == nullptr || !is(block, State::kUsed)) {
    const bool free = is_free(block_of(p), State::kFree) || is(block_of(p), State::kRemote);
    fault(free ? "a block was freed twice" : kNoBlock);
  }
  block_of(p)->header.store(0, kRelaxed);
  release(payload(block));
}

std::size_t Heap::usable_size(const void* p) const noexcept {
  const Block* block = block_of(p);
  if (!is(block, State::kUsed)) block = marked_block(p);
  if (block == nullptr || !is(block, State::kUsed)) fault("what was asked about is no block");
  const auto* end = reinterpret_cast<const std::byte*>(block) + std::size_t{units_of(block)} * 16;
  return static_cast<std::size_t>(end - static_cast<const std::byte*>(p));
}

// --- frees from elsewhere ---

/// Can a block of this heap begin there? Then it can be looked at.
bool Heap::may_hold(const Block* block) const noexcept {
  const std::size_t offset = heap_range.offset(block);
  if (offset == SIZE_MAX || offset % 16 != 8) return false;
  const SegmentId segment = heap_range.segment_at(offset);
  const Unit& unit = heap_range.unit(segment);
  return unit.owner.load(kRelaxed) == number_ + 1 &&
         offset - (std::size_t{segment} << kUnitShift) < usable_bytes(unit) - 8;
}

namespace {

// On a visitor's thread. What it looks at may be the payload of somebody who is writing there right
// now, if the free is a stale one: then the header is found wrong, whatever is read. That is no
// race that matters, so it is hidden from ThreadSanitizer.
[[gnu::no_sanitize_thread]] std::uint64_t header_at(const void* block) {
  return *static_cast<const volatile std::uint64_t*>(block);
}

}  // namespace

// Under the lock.
RemoteFree Heap::mark_remote(Block*& block, std::uint32_t epoch, Block* next) const noexcept {
  const std::uint64_t secret = secret_of(number_, epoch);
  std::uint64_t seen = header_at(block);
  auto units = static_cast<std::uint32_t>(seen);
  Block* marker = nullptr;
  if (seen == header_with(secret, block, units, State::kMarker)) {
    marker = block;
    block = as_block(bytes_of(block) - std::size_t{units} * 16);
    if (!may_hold(block)) return RemoteFree::kStale;
    seen = header_at(block);
    units = static_cast<std::uint32_t>(seen);
  }
  if (seen == header_with(secret, block, units, State::kRemote)) return RemoteFree::kTwice;
  if (seen != header_with(secret, block, units, State::kUsed)) return RemoteFree::kStale;
  if (marker != nullptr) marker->header.store(0, kRelaxed);
  block->link = next;
  block->header.store(header_with(secret, block, units, State::kRemote), kRelaxed);
  return RemoteFree::kPushed;
}

void release_elsewhere(void* p) noexcept {
  Heap* heap = owner_of(p);
  Heap::Block* block = Heap::block_of(p);
  RemoteFree outcome = RemoteFree::kStale;
  if (heap != nullptr && heap->may_hold(block)) {
    outcome = heap->frees_.push_remote(
        block, [heap](Heap::Block*& found, std::uint32_t epoch, Heap::Block* next) {
          return heap->mark_remote(found, epoch, next);
        });
  }
  if (outcome == RemoteFree::kStale) {
    HeapStore::process().stale_frees.fetch_add(1, std::memory_order_relaxed);
  }
  if (outcome == RemoteFree::kTwice) Heap::fault("a block was freed twice");
}

void Heap::collect() noexcept {
  for (Block* block = frees_.take_all(); block != nullptr;) {
    if (!may_hold(block) || !is(block, State::kRemote)) {
      fault("a block that was freed elsewhere was written to");
    }
    Block* next = block->link;
    const std::uint32_t units = units_of(block);
    block->header.store(header(block, units, State::kUsed), kRelaxed);
    release(payload(block));
    block = next;
  }
}

}  // namespace bulkhead::memory
