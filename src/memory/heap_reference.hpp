// For the fuzz target and the random test of heaps: heaps, and beside them what they ought to hold.
// Each live block is filled with bytes that are known; whatever a program of allocations, frees by
// owner and by others, merges and discards does, no byte of a live block changes, blocks do not
// overlap, and the sums are right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "memory/heap.hpp"

namespace bulkhead::memory {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "heap: %s\n", what);
  std::abort();
}

/// What a block of so many bytes takes of a limit, by the rule of the documentation.
inline std::size_t taken_by(std::size_t bytes) {
  const std::size_t whole = (bytes + 8 + 15) / 16 * 16;
  if (whole <= 1024 || whole > 32768) return whole;
  std::size_t step = 256;
  while (whole > step * 8) step *= 2;
  return (whole + step - 1) / step * step;
}

class HeapReference {
 public:
  explicit HeapReference(std::size_t limit) : heap_(Heap::take(limit)) {
    require(heap_ != nullptr, "there is a heap");
  }
  HeapReference(const HeapReference&) = delete;
  HeapReference& operator=(const HeapReference&) = delete;
  ~HeapReference() { discard(); }

  void allocate(std::size_t bytes, std::size_t alignment) {
    const bool plain = alignment <= 16;
    const std::size_t taken = taken_by(plain ? bytes : bytes + alignment - 16);
    void* p = plain ? heap_->allocate(bytes) : heap_->allocate(bytes, alignment);
    const bool fits = used_ + taken <= heap_->limit() / 16 * 16;
    require((p != nullptr) == fits, "a block is given if it fits under the limit");
    if (p == nullptr) return;
    used_ += taken;
    add(static_cast<unsigned char*>(p), bytes, taken, alignment);
  }

  void release(std::size_t which) {
    if (blocks_.empty()) return;
    const auto at = pick(which);
    check(*at);
    used_ -= at->second.taken;
    heap_->release(at->first);
    blocks_.erase(at);
  }

  void release_by_another(std::size_t which) {
    if (blocks_.empty()) return;
    const auto at = pick(which);
    check(*at);
    used_ -= at->second.taken;
    pending_.push_back(at->first);
    release_elsewhere(at->first);
    blocks_.erase(at);
  }

  /// As a buffer grows or shrinks.
  void resize(std::size_t which, std::size_t bytes) {
    if (blocks_.empty()) return;
    const auto at = pick(which);
    const Live old = at->second;
    auto* p = static_cast<unsigned char*>(heap_->allocate(bytes));
    require((p != nullptr) == (used_ + taken_by(bytes) <= heap_->limit() / 16 * 16),
            "a block is given if it fits under the limit");
    if (p == nullptr) return;
    used_ += taken_by(bytes);
    std::memcpy(p, at->first, bytes < old.bytes ? bytes : old.bytes);
    check(*at);
    used_ -= old.taken;
    heap_->release(at->first);
    blocks_.erase(at);
    for (std::size_t i = 0; i < bytes && i < old.bytes; ++i) {
      require(p[i] == old.with, "a copy has what was copied");
    }
    add(p, bytes, taken_by(bytes), 16);
  }

  /// A block of an earlier life, or null.
  [[nodiscard]] unsigned char* dead(std::size_t which) const {
    return dead_.empty() ? nullptr : dead_[which % dead_.size()];
  }
  /// Might one begin there now? A block that was aligned begins in front of what its user has.
  [[nodiscard]] bool may_begin_at(unsigned char* p) const {
    const auto next = blocks_.lower_bound(p);
    const bool begins = next != blocks_.end() && next->first < p + next->second.alignment;
    return begins || !pending_.empty();
  }

  void collect() {
    heap_->collect();
    pending_.clear();
    look();
  }
  void merge() {
    heap_->merge();
    pending_.clear();
    look();
  }

  void start_again(std::size_t limit) {
    discard();
    heap_ = Heap::take(limit);
    require(heap_ != nullptr, "there is a heap");
    require(heap_->live_bytes() == 0 && heap_->live_blocks() == 0, "a heap is empty at first");
    require(heap_->limit() == limit, "a heap has the limit that it was given");
  }

  void look() const {
    const char* wrong = heap_->audit();
    require(wrong == nullptr, wrong != nullptr ? wrong : "");
    require(heap_->live_bytes() >= used_, "what is in use is counted");
    require(heap_->live_blocks() >= blocks_.size() &&
                heap_->live_blocks() <= blocks_.size() + pending_.size(),
            "blocks in use are counted");
    require(!pending_.empty() || heap_->live_bytes() == used_, "what is in use is counted exactly");
  }

 private:
  struct Live {
    std::size_t bytes;
    std::size_t taken;
    std::size_t alignment;
    unsigned char with;
  };
  using Blocks = std::map<unsigned char*, Live>;

  void add(unsigned char* p, std::size_t bytes, std::size_t taken, std::size_t alignment) {
    require(reinterpret_cast<std::uintptr_t>(p) % (alignment < 16 ? 16 : alignment) == 0,
            "a block is aligned");
    require(owner_of(p) == heap_, "the owner of a block is found");
    require(heap_->usable_size(p) >= bytes, "a block is as large as was asked");
    const auto with = static_cast<unsigned char>(++count_ * 37 | 1);
    const auto next = blocks_.lower_bound(p);
    if (next != blocks_.end()) require(p + bytes <= next->first, "blocks do not overlap");
    if (next != blocks_.begin()) {
      const auto& [before, live] = *std::prev(next);
      require(before + live.bytes <= p, "blocks do not overlap");
    }
    std::memset(p, with, bytes);
    blocks_.emplace(p, Live{bytes, taken, alignment < 16 ? 16 : alignment, with});
  }

  Blocks::iterator pick(std::size_t which) {
    return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(which % blocks_.size()));
  }

  static void check(const Blocks::value_type& block) {
    const Live& live = block.second;
    for (std::size_t i = 0; i < live.bytes; ++i) {
      require(block.first[i] == live.with, "nobody writes into a block but its user");
    }
  }

  void discard() {
    look();
    for (const auto& block : blocks_) {
      check(block);
      if (dead_.size() < 500) dead_.push_back(block.first);
    }
    blocks_.clear();
    pending_.clear();
    used_ = 0;
    heap_->discard();
  }

  Heap* heap_;
  Blocks blocks_;
  std::vector<unsigned char*> pending_;  // freed elsewhere, and maybe not back
  std::vector<unsigned char*> dead_;     // of earlier lives
  std::size_t used_ = 0;
  unsigned count_ = 0;
};

/// Three heaps. Each step is told by four bytes: what, where, which, and a size.
class HeapProgram {
 public:
  void step(std::uint8_t what, std::uint8_t where, std::uint8_t which, std::uint8_t size) {
    HeapReference& heap = heaps_[where % heaps_.size()];
    const std::size_t index = which | std::size_t{where} << 8;
    switch (what % 16) {
      case 0:
      case 1:
      case 2:
        return heap.allocate(size, 16);
      case 3:
        return heap.allocate(std::size_t{size} * 5, 8);
      case 4:
        return heap.allocate(std::size_t{size} * 129 + which, 16);
      case 5:
        return heap.allocate(std::size_t{size} * 4001, 16);
      case 6:
        return heap.allocate(size, std::size_t{16} << which % 10);
      case 7:
      case 8:
      case 9:
        return heap.release(index);
      case 10:
        return heap.release_by_another(index);
      case 11:
        return heap.resize(index, std::size_t{size} << which % 8);
      case 12:
        return which % 4 == 0 ? heap.collect() : release_too_late(heap.dead(index));
      case 13:
        return which % 8 == 0 ? heap.merge() : heap.release(index);
      case 14:
        return heap.look();
      default:
        if (which % 16 == 0) heap.start_again(Heap::kLeastLimit << size % 13);
    }
  }

 private:
  // Segments go from heap to heap.
  void release_too_late(unsigned char* p) {
    if (p == nullptr) return;
    for (const HeapReference& heap : heaps_) {
      if (heap.may_begin_at(p)) return;
    }
    release_elsewhere(p);
  }

  std::array<HeapReference, 3> heaps_{HeapReference(Heap::kLeastLimit), HeapReference(100'000),
                                      HeapReference(std::size_t{4} << 20)};
};

}  // namespace bulkhead::memory
