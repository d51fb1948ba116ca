// A core without a thread: a stage, which its user's thread runs for a while, again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/slot.hpp"
#include "machine/clock.hpp"

namespace bulkhead::core {

/// What a stage may need at a time.
struct StageBounds {
  std::size_t actors = 0;
  std::size_t messages = 0;  // of that class, waiting
  std::uint8_t message_class = 0;
  std::uint32_t timers = 0;
  std::size_t mailbox = 0;  // of an actor for which none is given
};

/// One such while. Over when nobody lives, when its end is asked for, or when time is up, but that
/// not before one round: looked at between rounds.
struct Drive {
  enum class End : std::uint8_t { kNobodyLives, kAsked, kTimeIsUp };

  machine::Nanoseconds deadline = machine::kNever;
  /// Any thread, which then rings the domain's bell.
  RealSync::atomic<bool> end_asked{false};
  bool begun = false;           // a round has been
  End end = End::kNobodyLives;  // once it is over
};

}  // namespace bulkhead::core
