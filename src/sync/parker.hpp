// A parker: one thread sleeps on it, its owner; any thread wakes it. Underneath is one futex word,
// which holds at most one token.
//
// | state  | meaning                     | transition             | moved by                  |
// |--------|-----------------------------|------------------------|---------------------------|
// | Empty  | owner awake, no token       | -> Parked (park)       | owner                     |
// |        |                             | -> Token  (unpark)     | any thread                |
// | Token  | the next park returns       | -> Token  (unpark)     | any thread: they coalesce |
// |        |                             | -> Empty  (park)       | owner                     |
// | Parked | owner sleeps or is about to | -> Token  (unpark)     | any thread, who must wake |
// |        |                             | -> Empty  (time is up) | owner                     |
//
// Who touches what: the word is all there is. park and park_for belong to the owner, unpark is for
// any thread.
//
// Rules
//  P1  A token is never lost: after unpark, the park that runs or else the next one returns.
//  P2  Tokens coalesce: however many unparks, one park takes them all.
//  P3  What a thread did before unpark is seen after the park that took its token, also when the
//      token was coalesced. So every unpark writes, and a token is taken by a read-modify-write:
//      a plain load or store on either side would step out of the release sequence.
//  P4  The parker outlives every call of unpark: the wake-up touches the word after the token is
//      visible, when the owner may already be running.
// Checked by parker_model.cpp: P1 to P3, each with a broken variant that is found; parker_test.cpp
// runs it on threads.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

/// How a park ended: with a token, or without one.
enum class Parked : std::uint8_t { kToken, kNone };

template <class Sync>
class Parker {
 public:
  /// Owner: returns when there is a token, and takes it.
  void park() noexcept {
    if (take_token_or_announce() == Parked::kToken) return;
    do {
      Sync::futex_wait(word_, kParked);
    } while (!take_token());
  }

  /// Owner: sleeps at most once and for at most `nanoseconds`. kNone when time was up, and at times
  /// early: a caller with a deadline reads its clock and comes again.
  [[nodiscard]] Parked park_for(std::int64_t nanoseconds) noexcept {
    if (take_token_or_announce() == Parked::kToken) return Parked::kToken;
    Sync::futex_wait_for(word_, kParked, nanoseconds);
    return take_back() == kToken ? Parked::kToken : Parked::kNone;
  }

  /// Any thread: leaves a token, and wakes the owner if it sleeps.
  void unpark() noexcept {
    // Release: what was done before [pair parker.token].
    if (word_.exchange(kToken, std::memory_order_release) == kParked) Sync::futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kToken = 1;
  static constexpr std::uint32_t kParked = 2;

  Parked take_token_or_announce() noexcept {
    std::uint32_t seen = kEmpty;
    if (word_.compare_exchange_strong(seen, kParked, std::memory_order_relaxed)) {
      return Parked::kNone;
    }
    take_back();
    return Parked::kToken;
  }

  bool take_token() noexcept {
    std::uint32_t seen = kToken;
    return word_.compare_exchange_strong(seen, kEmpty,
                                         std::memory_order_acquire,  // [pair parker.token]
                                         std::memory_order_relaxed);
  }

  std::uint32_t take_back() noexcept {
    return word_.exchange(kEmpty, std::memory_order_acquire);  // [pair parker.token]
  }

  typename Sync::template atomic<std::uint32_t> word_{kEmpty};
};

}  // namespace bulkhead::sync
