// For tests: what a thread allocates. The operator new that allocations_test.cpp defines for the
// tests of this layer tells the thread's recorder, and lets it refuse.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace bulkhead::core {

class Recorder {
 public:
  static constexpr std::size_t kMost = 4096;

  /// The calling thread's; null: nothing is recorded.
  static constinit thread_local Recorder* current;

  /// From now on the n-th allocation fails, and all after it; 0: none.
  void refuse_from(std::size_t n) noexcept {
    refuse_from_ = n;
    asked_ = 0;
  }
  [[nodiscard]] bool refuses() noexcept { return ++asked_ >= refuse_from_ && refuse_from_ != 0; }
  /// Allocations since then, refused ones included.
  [[nodiscard]] std::size_t asked() const noexcept { return asked_; }

  /// What is fresh is overwritten too: nothing in it is left from before.
  void add(void* memory, std::size_t bytes) noexcept {
    if (bytes > 0) std::memset(memory, 0xcd, bytes);
    if (count_ == kMost) {
      ++missed_;
      return;
    }
    blocks_[count_++] = {static_cast<std::byte*>(memory), bytes};
  }
  /// What is freed is overwritten, so that who still uses it is found out.
  void remove(void* memory) noexcept {
    for (std::size_t i = count_; i-- > 0;) {
      if (blocks_[i].begin != memory) continue;
      if (blocks_[i].bytes > 0) std::memset(memory, 0xdd, blocks_[i].bytes);
      blocks_[i] = blocks_[--count_];
      return;
    }
  }
  /// Whether it lies in memory that is recorded, and not freed.
  [[nodiscard]] bool owns(const void* address) const noexcept {
    const auto* at = static_cast<const std::byte*>(address);
    for (std::size_t i = 0; i < count_; ++i) {
      if (at >= blocks_[i].begin && at < blocks_[i].begin + blocks_[i].bytes) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t blocks() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t all = 0;
    for (std::size_t i = 0; i < count_; ++i) all += blocks_[i].bytes;
    return all;
  }
  [[nodiscard]] std::size_t missed() const noexcept { return missed_; }
  /// Whether some word in what is recorded holds an address in what `other` has recorded.
  [[nodiscard]] bool points_into(const Recorder& other) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (other.is_pointed_into_from(blocks_[i].begin, blocks_[i].bytes)) return true;
    }
    return false;
  }
  /// The same of any piece of memory.
  [[nodiscard]] bool is_pointed_into_from(const void* memory, std::size_t bytes) const noexcept {
    const auto* from = static_cast<const std::byte*>(memory);
    for (std::size_t at = 0; at + sizeof(void*) <= bytes; at += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, from + at, sizeof(word));
      if (owns(word)) return true;
    }
    return false;
  }

 private:
  struct Block {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };

  std::size_t refuse_from_ = 0;
  std::size_t asked_ = 0;
  std::size_t count_ = 0;
  std::size_t missed_ = 0;
  std::array<Block, kMost> blocks_;
};

/// Records what is allocated in a scope, by the calling thread.
class Recording {
 public:
  explicit Recording(Recorder& recorder) noexcept : before_(Recorder::current) {
    Recorder::current = &recorder;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { Recorder::current = before_; }

 private:
  Recorder* before_;
};

}  // namespace bulkhead::core
