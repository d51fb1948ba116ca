// SIGINT and SIGTERM, waited for by a thread in place of being handled.
#pragma once

#include <cstdint>

#include "machine/clock.hpp"

namespace bulkhead::machine {

class StopSignalWait {
 public:
  /// Blocks the two signals in the calling thread, and so in those that it makes from now on; and
  /// gives them back their default effect for when they are let through. Throws std::system_error.
  StopSignalWait();
  StopSignalWait(const StopSignalWait&) = delete;
  StopSignalWait& operator=(const StopSignalWait&) = delete;
  /// Blocks them no longer, unless they were before.
  ~StopSignalWait();

  enum class Came : std::uint8_t { kInt, kTerm, kWakeUp, kNothing };
  /// What came first; nothing, when time is up. `timeout` in nanoseconds, kNever for ever.
  [[nodiscard]] Came wait(Nanoseconds timeout) noexcept;
  /// Any thread: ends a wait that runs, or else the next one.
  void wake() noexcept;
  /// From now on they have their default effect again, and end the process.
  void let_through() noexcept;

 private:
  int signals_;
  int event_;
  bool int_was_blocked_ = false;
  bool term_was_blocked_ = false;
};

}  // namespace bulkhead::machine
