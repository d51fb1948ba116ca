/// StopSignals: SIGINT (Ctrl-C) and SIGTERM, for the main function of a service.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "bulkhead/duration.hpp"

namespace bulkhead {

namespace machine {
class StopSignalWait;
}

enum class StopSignal : std::uint8_t { kInt, kTerm };
/// "SIGINT", "SIGTERM".
[[nodiscard]] std::string_view to_string(StopSignal signal) noexcept;

/// While one exists, SIGINT and SIGTERM do not end the process; its thread waits for them. Make it
/// at the beginning of main, before there are other threads: they inherit that the signals are
/// blocked. All but wake() is for the thread that made it.
class StopSignals {
 public:
  /// Throws std::system_error, std::bad_alloc.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The next signal; none when wake() was called, or time is up.
  [[nodiscard]] std::optional<StopSignal> wait(Timeout timeout = kForever) noexcept;
  /// Any thread: ends a wait that runs, or else the next one.
  void wake() noexcept;
  /// From now on a signal ends the process at once, as if there had been none of this.
  void let_through() noexcept;

 private:
  std::unique_ptr<machine::StopSignalWait> wait_;
};

}  // namespace bulkhead
