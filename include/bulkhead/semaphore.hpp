/// Semaphore: a number of permits, for actors and threads outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "bulkhead/duration.hpp"

namespace bulkhead {

/// A counting semaphore. First come, first served, also when many permits are wanted at once: who
/// waits for many is not overtaken by those who want few. An actor that is to be stopped is unwound
/// from its wait; in destructors it waits. Where nothing may wait (see Mutex), all but try_acquire
/// throw std::logic_error when the permits are not there.
class Semaphore {
 public:
  static constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();

  /// With so many permits now, and at most `most` ever. Throws std::invalid_argument when there are
  /// more now, or `most` is 0 or more than kMost.
  explicit Semaphore(std::size_t permits, std::size_t most = kMost);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  /// Nobody may wait: that aborts the process.
  ~Semaphore();

  /// Waits for permits. Throws std::invalid_argument when `count` is 0 or can never be had.
  void acquire(std::size_t count = 1) { static_cast<void>(acquire_for(kForever, count)); }
  /// False, and no permit is taken, when they could not be had in time.
  [[nodiscard]] bool acquire_for(Timeout timeout, std::size_t count = 1);
  /// False when they are not there now, or others wait.
  [[nodiscard]] bool try_acquire(std::size_t count = 1) {
    return acquire_for(std::chrono::nanoseconds(0), count);
  }
  /// Adds permits, or gives them back. Throws std::overflow_error, and adds none, when there would
  /// be more than the most; std::invalid_argument when `count` is 0.
  void release(std::size_t count = 1);

  /// Permits that are free now. A hint: it may be different when the caller looks at it.
  [[nodiscard]] std::size_t available() const noexcept;

 private:
  alignas(8) mutable std::byte state_[40];
};

}  // namespace bulkhead
