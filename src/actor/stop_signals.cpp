#include "bulkhead/stop_signals.hpp"

#include "machine/stop_signals.hpp"

namespace bulkhead {

StopSignals::StopSignals() : wait_(std::make_unique<machine::StopSignalWait>()) {}
StopSignals::~StopSignals() = default;

std::string_view to_string(StopSignal signal) noexcept {
  return signal == StopSignal::kInt ? "SIGINT" : "SIGTERM";
}

std::optional<StopSignal> StopSignals::wait(Timeout timeout) noexcept {
  switch (wait_->wait(timeout.nanoseconds())) {
    case machine::StopSignalWait::Came::kInt:
      return StopSignal::kInt;
    case machine::StopSignalWait::Came::kTerm:
      return StopSignal::kTerm;
    case machine::StopSignalWait::Came::kWakeUp:
    case machine::StopSignalWait::Came::kNothing:
      break;
  }
  return std::nullopt;
}

void StopSignals::wake() noexcept { wait_->wake(); }
void StopSignals::let_through() noexcept { wait_->let_through(); }

}  // namespace bulkhead
