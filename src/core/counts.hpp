// What a core counts.
#pragma once

#include <cstdint>

#include "bulkhead/delivery.hpp"
#include "bulkhead/exit.hpp"
#include "core/slot.hpp"

namespace bulkhead::core {

/// A count that its owner raises and others read. Raising it is a plain addition.
class Count {
 public:
  void raise(std::uint64_t by = 1) noexcept {
    // Release: what was counted has happened [pair domain.quiescent].
    value_.store(value_.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    return value_.load(std::memory_order_acquire);  // [pair domain.quiescent]
  }
  void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

 private:
  RealSync::atomic<std::uint64_t> value_{0};
};

/// What a core counts. Only grows.
struct Counts {
  Count sent;          // messages put into a queue or an inbox
  Count handled;       // of the sent: handler returned
  Count dropped_sent;  // of the sent: dropped
  Count dropped[kDropCauses];
  Count refused;
  Count timeouts_armed;
  Count timeouts_ended;
  Count started;
  Count ended;
  Count failed;
  Count trapped;
  Count restarted;
  Count downs_lost;
  Count moved;
  Count slept;
};

}  // namespace bulkhead::core
