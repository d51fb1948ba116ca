// The one place through which atomics come.
//
// A concurrent template takes a `Sync` and names nothing but what is here:
//
//   template <class Sync>
//   class Inbox {
//     typename Sync::template atomic<Node*> head_{nullptr};
//   };
//
// Production instantiates it with RealSync, which is the hardware and costs nothing. Models
// instantiate the same template with model::ModelSync (tests/model/explorer.hpp), which tries every
// interleaving. So what is checked is what runs.
//
// Bounded spinning must take its bound as a parameter and be given 0 by models: a model holds a
// thread in spin_hint() back until there is something new to see.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sanitizers.hpp"
#include "sync/futex.hpp"
#include "sync/heavy_fence.hpp"

namespace bulkhead::sync {

/// Plain memory that changes hands: one thread at a time touches it, and some atomic orders the
/// hand-over. Here it is just a T; in a model, an access that nothing orders is a data race.
template <class T>
class RealPlain {
 public:
  constexpr RealPlain() = default;
  constexpr explicit RealPlain(T value) : value_(static_cast<T&&>(value)) {}
  RealPlain(const RealPlain&) = delete;
  RealPlain& operator=(const RealPlain&) = delete;

  [[nodiscard]] constexpr const T& read() const noexcept { return value_; }
  constexpr void write(T value) { value_ = static_cast<T&&>(value); }
  /// For changes in place; counts as a write.
  [[nodiscard]] constexpr T& edit() noexcept { return value_; }

 private:
  T value_{};
};

struct RealSync {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using plain = RealPlain<T>;

  static void fence(std::memory_order order) noexcept {
#ifdef BULKHEAD_TSAN
    // ThreadSanitizer does not follow fences; a shared read-modify-write orders at least as much.
    static_cast<void>(order);
    static std::atomic<std::uint32_t> everyone{0};
    everyone.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(order);
#endif
  }

  /// The two halves of a fence of unequal cost: see heavy_fence.hpp.
  static void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void heavy_fence() noexcept { sync::heavy_fence(); }

  /// Sleeps while the word holds `expected`, until a wake. Also returns for no reason at all.
  /// The kernel compares and falls asleep in one step with respect to futex_wake; it orders no
  /// other memory: look at the word again, with the memory order that you need.
  static void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    sync::futex_wait(&word, expected);
  }
  /// The same for at most `nanoseconds`.
  static FutexWait futex_wait_for(atomic<std::uint32_t>& word, std::uint32_t expected,
                                  std::int64_t nanoseconds) noexcept {
    return sync::futex_wait_for(&word, expected, nanoseconds);
  }
  /// Wakes up to `count` threads that sleep on the word.
  static void futex_wake(atomic<std::uint32_t>& word, int count) noexcept {
    sync::futex_wake(&word, count);
  }

  /// To be called in every turn of a loop that waits for another thread's store.
  static void spin_hint() noexcept { sync::spin_hint(); }
};

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "a futex word must be as the kernel sees it");
static_assert(sizeof(RealPlain<std::uint32_t>) == sizeof(std::uint32_t), "it must cost nothing");

/// What one thread writes, and others may read at any time.
using SharedByte = RealSync::atomic<std::uint8_t>;

}  // namespace bulkhead::sync
