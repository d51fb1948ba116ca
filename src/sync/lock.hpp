// A lock for a few instructions: who finds it held spins a little, then sleeps. For what any thread
// may touch at any time and no single owner has, such as a channel.
//
// | state     | meaning                  | transition            | moved by               |
// |-----------|--------------------------|-----------------------|------------------------|
// | Free      |                          | -> Held               | who takes it           |
// | Held      | nobody sleeps            | -> Free               | its holder             |
// |           |                          | -> Contended          | who is about to sleep  |
// | Contended | somebody sleeps, or will | -> Free, and a wake   | its holder             |
//
// Rules
//  L1  One at a time holds it, and sees what those before have done under it.
//  L2  Who sleeps is woken after the holder has let go: a sleeper has put Contended there, and
//      takes the lock as Contended, since it cannot know whether others still sleep.
//  L3  Its holder runs no code of users, does not block its actor, and allocates nothing.
// Checked by lock_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

/// `kSpins`: how often it looks again before it sleeps; 0 in models.
template <class Sync, int kSpins = 100>
class Lock {
 public:
  void lock() noexcept {
    std::uint32_t seen = kFree;
    if (!word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,  // [pair lock.word]
                                       std::memory_order_relaxed)) [[unlikely]] {
      lock_slowly();
    }
  }

  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kContended) [[unlikely]] {
      Sync::futex_wake(word_, 1);
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;

  [[gnu::noinline]] void lock_slowly() noexcept {
    for (int i = 0; i < kSpins; ++i) {
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == kFree &&
          word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,  // [pair lock.word]
                                        std::memory_order_relaxed)) {
        return;
      }
      Sync::spin_hint();
    }
    while (word_.exchange(kContended, std::memory_order_acquire) != kFree) {  // [pair lock.word]
      Sync::futex_wait(word_, kContended);
    }
  }

  typename Sync::template atomic<std::uint32_t> word_{kFree};
};

}  // namespace bulkhead::sync
