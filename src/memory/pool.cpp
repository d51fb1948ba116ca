#include "memory/pool.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "machine/fork.hpp"

namespace bulkhead::memory {

/// The process's chunks that no pool holds. Address space is reserved in regions and never given
/// up; the memory of a chunk that comes back is.
class ChunkStore {
 public:
  static ChunkStore& process() {
    static auto* store = new ChunkStore;  // never destroyed: pools may outlive main
    return *store;
  }

  [[nodiscard]] Pool::Chunk* take(int node, const NodePolicy& policy) {
    sync::Guard guard(lock_);
    Pool::Chunk* chunk = nullptr;
    if (free_count_ > 0) {
      chunk = free_[--free_count_];
    } else {
      if (fresh_ == committed_) grow();
      chunk = reinterpret_cast<Pool::Chunk*>(fresh_);
      fresh_ += kChunkBytes;
    }
    policy.place(chunk, kChunkBytes, node);
    return chunk;
  }

  void give(Pool::Chunk* chunk) noexcept {
    machine::discard(chunk, kChunkBytes);
    sync::Guard guard(lock_);
    free_[free_count_++] = chunk;
  }

 private:
  static constexpr std::size_t kRegionBytes = std::size_t{64} << 20;

  void grow() {
    if (committed_ == end_) reserve_region();
    machine::commit(committed_, machine::kHugePageBytes);
    machine::prefer_huge_pages(committed_, machine::kHugePageBytes);
    committed_ += machine::kHugePageBytes;
  }

  void reserve_region() {
    // Room to remember every chunk of all regions, so that give() cannot fail.
    const std::size_t total = total_chunks_ + kRegionBytes / kChunkBytes;
    auto** grown = new Pool::Chunk*[total];
    for (std::size_t i = 0; i < free_count_; ++i) grown[i] = free_[i];
    fresh_ = committed_ =
        static_cast<std::byte*>(machine::reserve_aligned(kRegionBytes, machine::kHugePageBytes));
    end_ = fresh_ + kRegionBytes;
    delete[] free_;
    free_ = grown;
    total_chunks_ = total;
  }

  machine::ForkMutex lock_{machine::Nesting::kInner};
  Pool::Chunk** free_ = nullptr;
  std::size_t free_count_ = 0;
  std::size_t total_chunks_ = 0;
  std::byte* fresh_ = nullptr;
  std::byte* committed_ = nullptr;
  std::byte* end_ = nullptr;
};

// Not by operator new, which ticks: the runtime takes memory in the middle of things.
void* take_from_heap(std::size_t bytes) {
  if (bytes > SIZE_MAX - kSmallestBlock) throw std::bad_alloc();
  const std::size_t whole = (bytes + kSmallestBlock - 1) & ~(kSmallestBlock - 1);
  void* block = std::aligned_alloc(kSmallestBlock, whole);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_to_heap(void* block) noexcept { std::free(block); }

Pool::~Pool() {
  collect_returned();
  trim(0);
}

void Pool::add_chunk(std::uint8_t size_class) {
  const base::Critical critical("who takes memory for a message must not block");
  Chunk* chunk = ChunkStore::process().take(node_, *policy_);
  chunk->size_class = size_class;
  chunk->previous = nullptr;
  chunk->next = chunks_;
  if (chunks_ != nullptr) chunks_->previous = chunk;
  chunks_ = chunk;
  ++class_chunks_[size_class];
  if (++chunk_count_ > peak_chunks_) peak_chunks_ = chunk_count_;
  const std::size_t bytes = kSmallestBlock << size_class;
  auto* begin = reinterpret_cast<std::byte*>(chunk);
  for (std::size_t i = blocks_in(size_class); i > 0; --i) give(begin + i * bytes, size_class);
}

void Pool::reserve(std::uint8_t size_class, std::size_t blocks) {
  while (std::size_t{class_chunks_[size_class]} * blocks_in(size_class) < blocks) {
    add_chunk(size_class);
  }
}

void* Pool::refill(std::uint8_t size_class) {
  collect_returned();
  if (free_[size_class] == nullptr) add_chunk(size_class);
  Block* block = free_[size_class];
  free_[size_class] = block->next;
  return block;
}

bool Pool::has_free(std::uint8_t size_class) noexcept {
  if (free_[size_class] == nullptr) collect_returned();
  return free_[size_class] != nullptr;
}

void Pool::collect_returned() noexcept {
  Block* block = returned_.take_all();
  while (block != nullptr) {
    Block* next = block->next;
    give(block, static_cast<std::uint8_t>(block->size_class));
    block = next;
  }
}

void Pool::trim(std::size_t keep) noexcept {
  peak_chunks_ = chunk_count_;
  for (Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) chunk->free_blocks = 0;
  for (Block* first : free_) {
    for (Block* block = first; block != nullptr; block = block->next)
      ++chunk_of(block)->free_blocks;
  }
  // Choose the chunks that go, mark them, then take their blocks out of the free lists.
  constexpr std::uint32_t kGoes = UINT32_MAX;
  std::size_t remaining = chunk_count_;
  for (Chunk* chunk = chunks_; chunk != nullptr && remaining > keep; chunk = chunk->next) {
    if (chunk->free_blocks != blocks_in(chunk->size_class)) continue;
    chunk->free_blocks = kGoes;
    --remaining;
  }
  if (remaining == chunk_count_) return;
  for (Block*& first : free_) {
    Block** link = &first;
    while (*link != nullptr) {
      if (chunk_of(*link)->free_blocks == kGoes) {
        *link = (*link)->next;
      } else {
        link = &(*link)->next;
      }
    }
  }
  for (Chunk* chunk = chunks_; chunk != nullptr;) {
    Chunk* next = chunk->next;
    if (chunk->free_blocks == kGoes) {
      if (chunk->previous != nullptr) chunk->previous->next = next;
      if (chunk->previous == nullptr) chunks_ = next;
      if (next != nullptr) next->previous = chunk->previous;
      --class_chunks_[chunk->size_class];
      ChunkStore::process().give(chunk);
    }
    chunk = next;
  }
  chunk_count_ = remaining;
  peak_chunks_ = remaining;
}

}  // namespace bulkhead::memory
