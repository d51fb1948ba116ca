// Where a descriptor is registered: in no poller, or in one. It is registered by who first has to
// wait for it, with the poller of the core that it waits on, and moved along when it waits on
// another core later; it is taken out by who closes it. Reader and writer may come at the same
// time, from different cores.
//
// | state  | meaning                           | transition                | moved by             |
// |--------|-----------------------------------|---------------------------|----------------------|
// | None   | in no poller                      | -> Moving (claim)         | who has to wait      |
// | At(p)  | in poller p                       | -> Moving (claim)         | who has to wait      |
// |        |                                   | -> None   (reset)         | who closes, alone    |
// | Moving | somebody is about to put it in    | -> At(p)  (settle)        | the claimer          |
// |        |                                   | -> None   (settle)        | the claimer, failing |
//
// Rules
//  N1  The claimer alone makes the calls to pollers, and settles.
//  N2  Who finds Moving goes on to wait: putting a descriptor in reports what it is ready for at
//      that moment. The claimer that fails then reports all readiness, so that who relied on it
//      tries again.
//  N3  A poller that is gone (its runtime has stopped) is as none: its kernel side has forgotten
//      all. Pollers are told apart by numbers that are never used twice.
// Checked by registration_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::net {

/// A poller: a number that no other one had or will have, not 0, and its core.
struct PollerId {
  std::uint32_t serial = 0;
  std::uint16_t core = 0;
  friend bool operator==(PollerId, PollerId) = default;
};

enum class Claimed : std::uint8_t {
  kThere,  // it is, or soon will be, in a poller that serves
  kMine,   // the caller takes it out of `from`, puts it in, and settles
};

struct Claim {
  Claimed claimed;
  PollerId from;  // serial 0: none
};

template <class Sync>
class Registration {
 public:
  /// `leave_at(p)` says whether poller p, which is not `wanted`, serves just as well.
  template <class LeaveAt>
  [[nodiscard]] Claim claim(PollerId wanted, LeaveAt leave_at) noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (state == kMoving || state == at(wanted)) return {Claimed::kThere, {}};
      if (state != kNone && leave_at(id(state))) return {Claimed::kThere, {}};
      if (state_.compare_exchange_weak(state, kMoving,
                                       std::memory_order_acquire,  // [pair registration.settle]
                                       std::memory_order_relaxed)) {
        return {Claimed::kMine, id(state)};
      }
    }
  }

  void settle(PollerId poller) noexcept {
    state_.store(at(poller), std::memory_order_release);  // [pair registration.settle]
  }

  /// Who has the descriptor to itself, to close it, or as a new owner: returns where it was.
  [[nodiscard]] PollerId reset() noexcept {
    const PollerId poller =
        id(state_.load(std::memory_order_acquire));  // [pair registration.settle]
    state_.store(kNone, std::memory_order_relaxed);
    return poller;
  }

 private:
  static constexpr std::uint64_t kNone = 0;
  static constexpr std::uint64_t kMoving = 1;  // serial 0, core 1: no poller's

  static constexpr std::uint64_t at(PollerId poller) noexcept {
    return std::uint64_t{poller.serial} << 16 | (poller.serial != 0 ? poller.core : 0);
  }
  static constexpr PollerId id(std::uint64_t state) noexcept {
    return {static_cast<std::uint32_t>(state >> 16), static_cast<std::uint16_t>(state & 0xffff)};
  }

  typename Sync::template atomic<std::uint64_t> state_{kNone};
};

}  // namespace bulkhead::net
