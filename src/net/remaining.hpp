// What is left of a timeout that holds for several waits together.
#pragma once

#include <algorithm>
#include <chrono>

#include "bulkhead/duration.hpp"
#include "machine/clock.hpp"

namespace bulkhead::net {

class Remaining {
 public:
  explicit Remaining(Timeout timeout) : timeout_(timeout) {}

  /// The clock starts at the first call.
  [[nodiscard]] Timeout now() {
    if (timeout_.is_forever() || timeout_.nanoseconds() == 0) return timeout_;
    const machine::Nanoseconds time = machine::now();
    if (deadline_ == 0) deadline_ = machine::later(time, timeout_.nanoseconds());
    return std::chrono::nanoseconds(std::max<machine::Nanoseconds>(deadline_ - time, 0));
  }

 private:
  Timeout timeout_;
  machine::Nanoseconds deadline_ = 0;
};

}  // namespace bulkhead::net
