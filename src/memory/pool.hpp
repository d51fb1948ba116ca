// A core's memory for signals and for the state of its actors: blocks of seven sizes, from 64 bytes
// to 4 KiB, each aligned to its cache line.
//
// Who touches what
//  P1  take and give: the core that owns the pool, no atomics. Newest block first: it is in the
//      cache.
//  P2  A block that was taken here and is done with elsewhere comes home through `returned`, a
//      linked stack that any thread pushes chains onto; the owner takes all of it when it runs dry,
//      and when it idles.
//  P3  Chunks come from the process's ChunkStore (locked), and go back to it in trim(), which the
//      owner calls when it idles after a burst.
// Larger blocks are the process heap's (kHeapPool).
#pragma once

#include <cstddef>
#include <cstdint>

#include "bulkhead/signal.hpp"
#include "machine/pages.hpp"
#include "sync/arrivals.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::memory {

using core::block_class;
using core::kBlockClasses;
using core::kHeapClass;
using core::kLargestBlock;
using core::kSmallestBlock;
using machine::kAnyNode;
using machine::NodePolicy;

inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

/// A block of the process heap, aligned like those of the pools. Throws std::bad_alloc.
[[nodiscard]] void* take_from_heap(std::size_t bytes);
void give_to_heap(void* block) noexcept;

/// A free block. While a block is on its way home it also says its class.
struct Block {
  Block* next;
  std::uintptr_t size_class;
};

/// Blocks on their way home to the pool of another core.
struct Outgoing {
  Block* newest = nullptr;
  Block* oldest = nullptr;
  std::uint32_t count = 0;
};

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  /// The memory node for chunks from now on. `policy` outlives the pool.
  void place_on(int node, const NodePolicy& policy = NodePolicy::machine()) noexcept {
    node_ = node;
    policy_ = &policy;
  }

  /// Owner. `size_class` < kBlockClasses. Throws std::bad_alloc.
  [[nodiscard]] void* take(std::uint8_t size_class) {
    Block* block = free_[size_class];
    if (block == nullptr) [[unlikely]]
      return refill(size_class);
    free_[size_class] = block->next;
    return block;
  }

  /// Owner: takes memory for at least so many blocks of the class, with those that it has. Throws
  /// std::bad_alloc.
  void reserve(std::uint8_t size_class, std::size_t blocks);

  /// Owner: the same when the class is not dry.
  [[nodiscard]] void* take_ready(std::uint8_t size_class) noexcept {
    Block* block = free_[size_class];
    free_[size_class] = block->next;
    return block;
  }

  /// Owner.
  void give(void* memory, std::uint8_t size_class) noexcept {
    auto* block = static_cast<Block*>(memory);
    block->next = free_[size_class];
    free_[size_class] = block;
  }

  /// Would take() have to look for blocks?
  [[nodiscard]] bool dry(std::uint8_t size_class) const noexcept {
    return free_[size_class] == nullptr;
  }
  /// Would take() find a block without asking for a chunk?
  [[nodiscard]] bool has_free(std::uint8_t size_class) noexcept;

  /// Any thread: a chain of blocks taken from this pool, each with its class set.
  void give_remote(Block* newest, Block* oldest) noexcept {
    static_cast<void>(returned_.push_remote(newest, oldest));
  }

  /// Owner: sorts in what has come home.
  void collect_returned() noexcept;

  /// Owner: gives chunks that are wholly free back to the store, but for `keep` of them. Takes time
  /// in proportion to the free blocks.
  void trim(std::size_t keep) noexcept;

  /// Chunks held of one class. Owner.
  [[nodiscard]] std::uint32_t chunks(std::uint8_t size_class) const noexcept {
    return class_chunks_[size_class];
  }
  /// Chunks held: memory in bytes is kChunkBytes times this. Owner.
  [[nodiscard]] std::size_t chunks() const noexcept { return chunk_count_; }
  /// The largest number of chunks held since the last trim. Owner.
  [[nodiscard]] std::size_t chunks_since_trim() const noexcept { return peak_chunks_; }

 private:
  // At the head of each chunk; it takes the place of the first block.
  struct Chunk {
    Chunk* next;
    Chunk* previous;
    std::uint32_t free_blocks;  // counted in trim() only
    std::uint32_t size_class;
  };
  friend class ChunkStore;

  void* refill(std::uint8_t size_class);
  void add_chunk(std::uint8_t size_class);
  static Chunk* chunk_of(Block* block) noexcept {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunkBytes - 1));
  }
  static std::uint32_t blocks_in(std::uint32_t size_class) noexcept {
    return static_cast<std::uint32_t>(kChunkBytes / (kSmallestBlock << size_class)) - 1;
  }

  Block* free_[kBlockClasses] = {};
  std::uint32_t class_chunks_[kBlockClasses] = {};
  Chunk* chunks_ = nullptr;
  std::size_t chunk_count_ = 0;
  std::size_t peak_chunks_ = 0;
  int node_ = kAnyNode;
  const NodePolicy* policy_ = &NodePolicy::machine();

  alignas(64) sync::Arrivals<sync::RealSync, Block, &Block::next> returned_;
};

}  // namespace bulkhead::memory
