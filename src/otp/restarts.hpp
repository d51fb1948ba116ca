// When a supervisor starts its children again, and when it gives up.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "bulkhead/otp/supervisor.hpp"

namespace bulkhead::otp {

using Clock = std::chrono::steady_clock;

/// Counts restarts. One actor's.
class Intensity {
 public:
  Intensity(unsigned most, std::chrono::nanoseconds period) : most_(most), period_(period) {}

  /// One more, now. False when it is one too many.
  [[nodiscard]] bool allows(Clock::time_point now) {
    while (!times_.empty() && now - times_.front() > period_) times_.pop_front();
    times_.push_back(now);
    return times_.size() <= most_;
  }

 private:
  unsigned most_;
  std::chrono::nanoseconds period_;
  std::deque<Clock::time_point> times_;
};

/// How one child's restarts are put off.
struct Delay {
  Clock::time_point started = {};
  bool has_run = false;   // since the last restart
  unsigned in_a_row = 0;  // restarts

  void begin(Clock::time_point now) noexcept {
    started = now;
    has_run = true;
  }

  /// Before the next one.
  [[nodiscard]] std::chrono::nanoseconds next(const std::optional<Backoff>& backoff,
                                              Clock::time_point now, std::minstd_rand& random);
};

}  // namespace bulkhead::otp
