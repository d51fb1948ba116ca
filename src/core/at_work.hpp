// What a thread was doing when it faulted, or called a function that never returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/inside.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

/// On a thread that runs a stack of ours: whose code was at work. While this lives, nobody takes
/// the core away from the thread: an actor's code is outside, so the watch may want to.
/// Async-signal-safe.
class AtWork {
 public:
  AtWork() noexcept;
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() {
    if (!stays_) tl_seat.at.leave(was_);
  }

  /// The isolated actor whose own code it was; else null.
  [[nodiscard]] const Slot* isolated() const noexcept;
  /// The thread remains inside, to land.
  void stay_inside() noexcept { stays_ = true; }

  void name(machine::SignalSafeText& line) const noexcept;
  [[nodiscard]] machine::Stack* stack() const noexcept;

 private:
  std::uint8_t was_;
  bool stays_ = false;
  const Worker* away_ = nullptr;  // its actor is away
  const Core* core_ = nullptr;
};

}  // namespace bulkhead::core
