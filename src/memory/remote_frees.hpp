// Frees from elsewhere: blocks of a heap that other threads are done with, on their way to the
// heap's owner; and the heap's end, which may come in the middle of it.
//
// A heap lives again and again at the same place. Its *epoch* is the number of its lives so far.
// One word says the epoch, and guards the list:
//
// | state     | meaning                               | transition             | moved by         |
// |-----------|---------------------------------------|------------------------|------------------|
// | Quiet     | the list is empty                     | -> Held                | a visitor        |
// | Some      | there are blocks in the list          | -> Held                | a visitor, owner |
// | Held      | somebody is at the list or its blocks | -> Quiet, Some         | its holder       |
// |           |                                       | -> Held, with sleepers | who is to sleep  |
// | any but   |                                       | -> Quiet, next epoch   | owner: discard   |
// | Held      |                                       |                        |                  |
//
// Rules
//  F1  A visitor looks at a block, and writes into it, only while it holds the word; the epoch does
//      not change meanwhile. So it writes only into blocks of the life that it has seen, and
//      nothing is written after a discard has returned: the memory is its next user's.
//  F2  A block that was pushed is taken once, by its owner, who sees what the visitor has written;
//      or its life ends before.
//  F3  What a visitor finds to be no block of this life is left alone.
//  F4  A discard is one compare-and-swap, unless a visitor is at it at that moment: nothing else
//      has to be told that the heap is dead.
// Checked by remote_frees_model.cpp.
#pragma once

#include <cstdint>
#include <limits>

#include "sync/atomic.hpp"

namespace bulkhead::memory {

/// The outcome of a push.
enum class RemoteFree : std::uint8_t {
  kPushed,
  kStale,  ///< no block of this life
  kTwice   ///< it was freed already
};

/// `kSpins`: how often it looks again before it sleeps; 0 in models.
template <class Sync, class Block, int kSpins = 100>
class RemoteFrees {
 public:
  /// The last one: who has come to it must not be used again.
  static constexpr std::uint32_t kLastEpoch = std::numeric_limits<std::uint32_t>::max() >> 3;

  explicit RemoteFrees(std::uint32_t epoch = 0) noexcept : word_(epoch << kEpochShift) {}

  /// Any thread. `mark(block, epoch, next)` says whether it is a block in use of that life, and
  /// then marks it as freed, and links it; it may find that another block is meant. It is called
  /// under the lock.
  template <class Mark>
  [[nodiscard]] RemoteFree push_remote(Block* block, Mark mark) noexcept {
    const std::uint32_t seen = hold();
    Block* next = (seen & kSome) != 0 ? newest_.read() : nullptr;
    const RemoteFree outcome = mark(block, seen >> kEpochShift, next);
    if (outcome != RemoteFree::kPushed) {
      let_go(seen);
      return outcome;
    }
    newest_.write(block);
    let_go(seen | kSome);
    return outcome;
  }

  /// Owner: may be false while a push is under way.
  [[nodiscard]] bool any() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kSome) != 0;
  }

  /// Owner: all blocks, the newest first, linked as they were marked.
  [[nodiscard]] Block* take_all() noexcept {
    if (!any()) return nullptr;
    const std::uint32_t seen = hold();
    Block* newest = newest_.read();
    let_go(seen & ~kSome);
    return newest;
  }

  /// Owner: the life ends, and what is in the list with it. Returns the epoch of the next one.
  [[nodiscard]] std::uint32_t discard() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (int spins = 0;;) {
      if ((seen & kHeld) != 0) {
        seen = wait(seen, spins);
        continue;
      }
      const std::uint32_t next = (seen >> kEpochShift) + 1;
      if (word_.compare_exchange_strong(seen, next << kEpochShift,
                                        std::memory_order_acquire,  // [pair frees.word]
                                        std::memory_order_relaxed)) {
        return next;
      }
    }
  }

  /// Owner.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return word_.load(std::memory_order_relaxed) >> kEpochShift;
  }

 protected:  // for what breaks it, in its model
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kSome = 4;
  static constexpr unsigned kEpochShift = 3;

  /// Returns the word without kHeld.
  std::uint32_t hold() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (int spins = 0;;) {
      if ((seen & kHeld) != 0) {
        seen = wait(seen, spins);
        continue;
      }
      if (word_.compare_exchange_strong(seen, seen | kHeld,
                                        std::memory_order_acquire,  // [pair frees.word]
                                        std::memory_order_relaxed)) {
        return seen;
      }
    }
  }

  void let_go(std::uint32_t word) noexcept {
    const std::uint32_t before =
        word_.exchange(word, std::memory_order_release);  // [pair frees.word]
    if ((before & kSleepers) != 0) [[unlikely]]
      Sync::futex_wake(word_, kEverybody);
  }

  /// Looks again, after a while if need be.
  [[gnu::noinline]] std::uint32_t wait(std::uint32_t seen, int& spins) noexcept {
    if (spins < kSpins) {
      ++spins;
      Sync::spin_hint();
    } else if ((seen & kSleepers) != 0 ||
               word_.compare_exchange_strong(seen, seen | kSleepers, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
      Sync::futex_wait(word_, seen | kSleepers);
    }
    return word_.load(std::memory_order_relaxed);
  }

  static constexpr int kEverybody = std::numeric_limits<int>::max();

  typename Sync::template atomic<std::uint32_t> word_;
  typename Sync::template plain<Block*> newest_{nullptr};  // by the holder; if there are some
};

}  // namespace bulkhead::memory
