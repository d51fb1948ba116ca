// The heap of an actor: what its code allocates comes from it, up to a limit, and all of it goes at
// once when the actor ends, without a destructor.
//
// A heap owns segments (heap_range.hpp). A block is a header of 8 bytes and the payload, which is
// what a user gets. A header says the block's size, and carries a *tag*: a hash of the header's
// address, the size, the block's state and the heap's *secret*, which is another one in each life
// of the heap; in a free block also of the link to the next one. Blocks of up to 32 KiB come in
// classes, each with a list of free blocks, newest first. Everything else that is free is a *run*:
// the current one, from which blocks are carved, or one in a bin of its size.
//
// Who touches what
//  H1  All of it belongs to the heap's owner: one thread at a time, ordered by whatever hands the
//      heap over. Others may ask owner_of, and give blocks back by release_elsewhere
//      (remote_frees.hpp), and read the sums of heap_stats.
//  H2  What is known of a heap lies outside of the memory that it gives out. Links in free blocks
//      are followed only after the tag of the block that holds them was found right.
//  H3  A tag that is wrong is a fault: somebody has written where he should not, or has freed
//      what is no block in use. The heap may then be discarded, and nothing else.
//  H4  Every segment is tiled by blocks and runs, but for the current run while it is current.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "memory/heap_range.hpp"
#include "memory/remote_frees.hpp"

namespace bulkhead::memory {

/// Told what is wrong when a heap is found to be corrupted, on the thread that found it, which
/// holds no lock then. Does not return: the process is aborted if it does.
using HeapFault = void (*)(const char* what);
/// Null: report and abort. Returns the one before.
HeapFault set_heap_fault(HeapFault fault) noexcept;

class Heap {
 public:
  static constexpr std::size_t kLeastLimit = 4096;
  static constexpr std::size_t kMostLimit = std::size_t{32} << 30;

  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Blocks with their headers, rounded up to their classes, may come to `limit` bytes, which is
  /// kLeastLimit to kMostLimit. From what the calling thread keeps. Null: no memory, or no
  /// addresses.
  [[nodiscard]] static Heap* take(std::size_t limit) noexcept;
  /// Ends the heap's life with all that was given out. To what the calling thread keeps.
  void discard() noexcept;

  /// Aligned to 16 bytes. Null: over the limit, or no memory.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
    if (bytes > kSmallestPayload + 16 * (kSmallClasses - 1)) [[unlikely]]
      return allocate_larger(bytes);
    const auto units = static_cast<std::uint32_t>((bytes + kHeaderBytes + 15) / 16);
    const std::uint64_t live = live_.load(kRelaxed) + one_block(units);
    if (units_in(live) > limit_.load(kRelaxed)) [[unlikely]]
      return allocate_slowly(units);
    Block* block = free_[units - 1];
    if (block != nullptr) [[likely]] {
      Block* next = block->link;
      if (block->header.load(kRelaxed) != header(block, units, State::kFree, next)) [[unlikely]]
        fault(kOverwritten);
      free_[units - 1] = next;
    } else if (units * 16 <= static_cast<std::size_t>(room_end_ - bump_)) {
      block = as_block(bump_);
      bump_ += units * 16;
    } else {
      return allocate_slowly(units);
    }
    live_.store(live, kRelaxed);
    block->header.store(header(block, units, State::kUsed), kRelaxed);
    return payload(block);
  }
  /// The same at a multiple of `alignment`, a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;

  /// A block of this heap, or null.
  void release(void* p) noexcept {
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) [[unlikely]]
      fault(kNoBlock);
    if (p == nullptr) return;
    Block* block = block_of(p);
    const std::uint64_t seen = block->header.load(kRelaxed);
    const auto units = static_cast<std::uint32_t>(seen);
    if (seen != header(block, units, State::kUsed)) [[unlikely]]
      return release_aligned(p);
    if (units > kSmallClasses) [[unlikely]]
      return release_larger(block, units);
    live_.store(live_.load(kRelaxed) - one_block(units), kRelaxed);
    Block*& list = free_[units - 1];
    freed_[(units - 1) / kGroup] = true;
    block->header.store(header(block, units, State::kFree, list), kRelaxed);
    block->link = list;
    list = block;
  }

  [[nodiscard]] std::size_t limit() const noexcept { return limit_bytes_; }
  [[nodiscard]] std::size_t live_bytes() const noexcept {
    return std::size_t{units_in(live_.load(kRelaxed))} * 16;
  }
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_.load(kRelaxed) >> 32; }
  /// Of pages that may be in memory, at most, and of what is known of the heap.
  [[nodiscard]] std::size_t committed_bytes() const noexcept {
    return committed_.load(kRelaxed) + kHeapStride;
  }
  /// Of a block in use of this heap. Owner.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept;

  /// Takes in what others have freed. Done by itself when memory is short.
  void collect() noexcept;
  /// Merges free neighbours, so that they serve for larger blocks. Done by itself, too.
  void merge() noexcept;
  /// Checks all that must hold, in time that is proportional to the number of blocks; null, or what
  /// does not hold. Owner.
  [[nodiscard]] const char* audit() const noexcept;

 private:
  friend class HeapStore;
  friend struct HeapCache;
  friend struct HeapAudit;
  friend struct HeapProbe;  // of tests
  friend Heap* owner_of(const void* p) noexcept;
  friend void release_elsewhere(void* p) noexcept;
  friend struct HeapStats heap_stats() noexcept;

  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr std::size_t kHeaderBytes = 8;
  static constexpr std::size_t kSmallestPayload = 8;
  static constexpr std::uint32_t kSmallClasses = 64;  // of 1 to 64 units of 16 bytes
  static constexpr std::uint32_t kGroup = 8;          // of small classes, that are cleared together
  static constexpr std::uint32_t kMediumClasses = 20;  // 4 to each doubling, up to kMediumUnits
  static constexpr std::uint32_t kMediumUnits = 2048;
  static constexpr std::uint32_t kBins = 32;
  static constexpr const char* kNoBlock = "what was freed is no block in use of this heap";
  static constexpr const char* kOverwritten = "a free block was written to";

  // As it lies in memory, at an address that is 8 more than a multiple of 16. `link` is the first
  // part of the payload.
  struct Block {
    sync::RealSync::atomic<std::uint64_t> header;  // tag, size in units
    Block* link;
  };

  enum class State : std::uint32_t {
    kUsed = 0x2f6e2b1,
    kRemote = 0x51ed270,   // in use for the owner; freed elsewhere, linked by its payload
    kMarker = 0x7c1592d3,  // not a block: the size is the distance to the block that it lies in
    kFree = 0x9e3779b9,    // the tag depends on the link too, as in runs
    kRun = 0xc2b2ae35,
    kBareRun = 0xe6546b64  // its inner pages were given back
  };

  explicit Heap(std::uint32_t number) noexcept : number_(number) {}

  static Block* as_block(std::byte* at) noexcept { return reinterpret_cast<Block*>(at); }
  static std::byte* bytes_of(Block* block) noexcept { return reinterpret_cast<std::byte*>(block); }
  static void* payload(Block* block) noexcept { return bytes_of(block) + kHeaderBytes; }
  static Block* block_of(const void* p) noexcept {
    return reinterpret_cast<Block*>(reinterpret_cast<std::uintptr_t>(p) - kHeaderBytes);
  }
  static constexpr std::uint64_t one_block(std::uint32_t units) noexcept {
    return (std::uint64_t{1} << 32) + units;
  }
  static constexpr std::uint32_t units_in(std::uint64_t live) noexcept {
    return static_cast<std::uint32_t>(live);
  }

  [[nodiscard]] static std::uint64_t header_with(std::uint64_t secret, const Block* block,
                                                 std::uint32_t units, State state,
                                                 const Block* link = nullptr) noexcept {
    const std::uint64_t mixed = secret ^ reinterpret_cast<std::uintptr_t>(block) ^
                                std::rotl(std::uint64_t{units}, 44) ^
                                std::rotl(reinterpret_cast<std::uint64_t>(link), 20);
    const std::uint64_t tag = (mixed * 0x9e3779b97f4a7c15) >> 32;
    return (tag ^ static_cast<std::uint32_t>(state)) << 32 | units;
  }
  [[nodiscard]] std::uint64_t header(const Block* block, std::uint32_t units, State state,
                                     const Block* link = nullptr) const noexcept {
    return header_with(secret_, block, units, state, link);
  }
  [[nodiscard]] bool is(const Block* block, State state) const noexcept {
    const std::uint64_t seen = block->header.load(kRelaxed);
    return seen == header(block, static_cast<std::uint32_t>(seen), state);
  }
  [[nodiscard]] bool is_free(const Block* block, State state) const noexcept {
    const std::uint64_t seen = block->header.load(kRelaxed);
    return seen == header(block, static_cast<std::uint32_t>(seen), state, block->link);
  }
  [[nodiscard]] static std::uint32_t units_of(const Block* block) noexcept {
    return static_cast<std::uint32_t>(block->header.load(kRelaxed));
  }
  /// Different ones for different lives of different heaps; against accidents, not attacks.
  [[nodiscard]] static std::uint64_t secret_of(std::uint32_t number, std::uint32_t epoch) noexcept {
    const std::uint64_t mixed =
        (heap_range.key.load(kRelaxed) ^ (std::uint64_t{number} << 32 | epoch)) *
        0xd6e8feb86659fd93;
    return mixed ^ mixed >> 32;
  }
  [[nodiscard]] static std::uint32_t rounded(std::uint32_t units) noexcept;
  [[nodiscard]] static std::uint32_t class_of(std::uint32_t units) noexcept;

  [[noreturn, gnu::cold, gnu::noinline]] static void fault(const char* what) noexcept;

  [[gnu::noinline]] void* allocate_larger(std::size_t bytes) noexcept;
  [[gnu::noinline]] void* allocate_slowly(std::uint32_t units) noexcept;
  [[gnu::noinline]] void release_aligned(void* p) noexcept;
  [[gnu::noinline]] void release_larger(Block* block, std::uint32_t units) noexcept;
  [[nodiscard]] Block* marked_block(const void* p) const noexcept;
  [[nodiscard]] Block*& list_of(std::uint32_t units) noexcept;
  [[nodiscard]] Block* take_free(std::uint32_t units) noexcept;
  void put_free(Block* block, std::uint32_t units) noexcept;
  [[nodiscard]] void* use(Block* block, std::uint32_t units) noexcept;
  [[nodiscard]] bool may_hold(const Block* block) const noexcept;
  [[nodiscard]] RemoteFree mark_remote(Block*& block, std::uint32_t epoch,
                                       Block* next) const noexcept;

  // Runs: heap_runs.cpp.
  enum class Keep : std::uint8_t { kClasses, kNothing };
  struct Pages {
    std::byte* begin;
    std::byte* end;
  };
  struct Piece;
  [[nodiscard]] Block* carve(std::uint32_t units) noexcept;
  void extend_room(std::uint32_t units) noexcept;
  [[nodiscard]] bool adopt(std::uint32_t units) noexcept;
  [[nodiscard]] Block* take_run(std::uint32_t units) noexcept;
  [[nodiscard]] Block* take_from_bin(std::uint32_t bin, std::uint32_t units) noexcept;
  void put_run(Block* run, std::uint32_t units, State state) noexcept;
  void put_run_without_pages(Block* run, std::uint32_t units) noexcept;
  void retire_current() noexcept;
  void make_current(Block* run) noexcept;
  [[nodiscard]] bool merge_is_due(std::uint32_t units) const noexcept;
  void merge_all(Keep keep) noexcept;
  void merge_segment(SegmentId segment, Keep keep) noexcept;
  void put_merged(const Piece& piece, Keep keep) noexcept;
  [[nodiscard]] bool grow(std::uint32_t units) noexcept;
  [[nodiscard]] static Pages inner_pages(Block* run, std::uint32_t units) noexcept;
  void touch(const std::byte* last) noexcept;
  void count_committed(std::ptrdiff_t bytes) noexcept {
    committed_.store(committed_.load(kRelaxed) + static_cast<std::size_t>(bytes), kRelaxed);
  }

  // Lives: heap_cache.cpp.
  void own(SegmentId segment) const noexcept;
  void start_in_first_segment() noexcept;
  void empty_lists() noexcept;
  void give_larger_segments() noexcept;

  std::uint64_t secret_ = 0;
  std::byte* bump_ = nullptr;      // where the current run begins
  std::byte* room_end_ = nullptr;  // how far it is counted as committed; a page's end, or run_end_
  sync::RealSync::atomic<std::uint64_t> live_{0};     // blocks << 32 | units; written by the owner
  sync::RealSync::atomic<std::uint32_t> limit_{0};    // in units; 0 when it is not alive
  std::uint32_t medium_lists_ = 0;                    // a bit for each class that has been freed to
  std::uint32_t bins_in_use_ = 0;                     // a bit for each that holds a run
  std::array<bool, kSmallClasses / kGroup> freed_{};  // groups in which a list may hold something
  std::uint32_t number_;
  std::byte* run_end_ = nullptr;
  Block* free_[kSmallClasses] = {};
  Block* medium_[kMediumClasses];  // defined where medium_lists_ has a bit
  Block* bins_[kBins];             // bin i: runs of 2^i units and more; as above

  std::size_t limit_bytes_ = 0;
  SegmentId first_ = kNoSegment;   // of 16 KiB; stays with the heap
  SegmentId larger_ = kNoSegment;  // the others, newest first
  std::uint64_t held_ = 0;         // units of all segments that blocks may have
  std::uint64_t idle_then_ = 0;    // units that were not live after the last merge
  std::uint64_t adopted_ = 0;      // units of runs that became the current one since then
  sync::RealSync::atomic<std::size_t> committed_{0};
  Heap* next_ = nullptr;  // in a list of heaps that are not alive

  alignas(64) RemoteFrees<sync::RealSync, Block> frees_;
};

/// Is it, or was it, the address of a heap's memory? Any thread.
[[nodiscard]] inline bool is_of_heaps(const void* p) noexcept {
  return heap_range.offset(p) != SIZE_MAX;
}
/// The heap that an address belongs to, or did when it was last in use; null when there is none.
/// Any thread.
[[nodiscard]] inline Heap* owner_of(const void* p) noexcept {
  const std::size_t offset = heap_range.offset(p);
  if (offset == SIZE_MAX) [[likely]]
    return nullptr;
  const std::uint32_t owner =
      heap_range.unit(static_cast<SegmentId>(offset >> kUnitShift)).owner.load(Heap::kRelaxed);
  return owner != 0 ? heap_range.heap(owner - 1) : nullptr;
}

/// Gives a block back that belongs to a heap of somebody else. What is no block of a heap's present
/// life is left alone, and counted. Any thread; `p` is an address that some heap has given out.
void release_elsewhere(void* p) noexcept;

struct HeapStats {
  std::size_t live = 0;             ///< heaps
  std::size_t bytes_used = 0;       ///< sum of live_bytes()
  std::size_t bytes_committed = 0;  ///< sum of committed_bytes()
  std::size_t bytes_reserved = 0;   ///< of addresses
  std::uint64_t stale_frees = 0;    ///< blocks that came back from elsewhere after their heap's end
};
/// Of all heaps; exact while none of them is used. Takes time in proportion to the largest number
/// of heaps that were ever alive at once. Any thread.
[[nodiscard]] HeapStats heap_stats() noexcept;

/// Reserves so many bytes of addresses for all heaps, instead of the usual 1 TiB; less where the
/// kernel refuses. False when heaps were taken before, or when there is no room.
[[nodiscard]] bool reserve_heaps(std::size_t bytes) noexcept;
/// Gives what the calling thread keeps to the other threads, and its memory to the kernel. Done by
/// itself when a thread ends.
void trim_heaps() noexcept;

}  // namespace bulkhead::memory
