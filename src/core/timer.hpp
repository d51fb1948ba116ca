// Timer: something that is due at a time, a link in its core's TimerWheel. Lives where its user
// puts it: in the frame of a blocked handler, in a slot, in a record. Touched by the owning core
// only; those of actors that roam, under the lock of their commons (commons.hpp).
#pragma once

#include <cstdint>

#include "machine/clock.hpp"

namespace bulkhead::core {

/// Coarse time: units of 2^20 ns, about a millisecond, wrapping.
[[nodiscard]] constexpr std::uint32_t coarse(machine::Nanoseconds time) noexcept {
  return static_cast<std::uint32_t>(time >> 20);
}

enum class TimerKind : std::uint8_t {
  kWait,            // ends the wait of a parked actor
  kReceiveTimeout,  // of an idle actor
  kSend,            // delivers a message: send_timers.hpp
  kTick,            // the same, again and again
  kRequest,         // ends the wait for an answer: requests.hpp
  kWatch,           // is never due: watches.hpp
};

struct Timer {
  Timer* next = nullptr;
  Timer* previous = nullptr;
  // While `fresh`: how long from now; later: when. A timer that was just started is not in the
  // wheel yet: it is filed at the core's next look at the clock, which is later than its start, so
  // that it never fires early, and costs no look at the clock of its own. Most are cancelled before
  // that. (Those of actors that roam are filed when they are started: commons.hpp.)
  machine::Nanoseconds due = 0;
  std::uint8_t level = 0;
  std::uint8_t index = 0;
  TimerKind kind = TimerKind::kWait;
  bool fresh = false;

  [[nodiscard]] bool linked() const noexcept { return next != nullptr; }
};

static_assert(sizeof(Timer) == 32);

struct Slot;

/// The wait of a parked actor, in its frame.
struct WaitTimer : Timer {
  Slot* slot = nullptr;
  std::uint64_t epoch = 0;
};

}  // namespace bulkhead::core
