// A timer of the kernel that a thread sleeps on: to set it costs a fraction of what waking the
// thread costs, and does not disturb whoever runs now.
#pragma once

#include "machine/clock.hpp"

namespace bulkhead::machine {

class WakeTimer {
 public:
  /// Holds a descriptor. Throws std::system_error.
  WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;
  ~WakeTimer();

  /// Any thread: it fires once, so many nanoseconds from now (0: at once), in place of what it was
  /// set to before.
  void set(Nanoseconds delay) noexcept;
  /// Until it fires; returns at once when it has since the last wait. One thread.
  void wait() noexcept;

 private:
  int fd_;
};

}  // namespace bulkhead::machine
