/// WaitGroup: waiting until a number of things have been done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "bulkhead/duration.hpp"

namespace bulkhead {

/// A count of what is yet to be done. Any actor or thread adds to it, does, and waits. When the
/// count has been zero it can be used again: who waits is let go when it becomes zero, even if
/// something is added right after. An actor that is to be stopped is unwound from its wait; in
/// destructors it waits. Where nothing may wait (see Mutex), a wait for a count that is not zero
/// throws std::logic_error.
class WaitGroup {
 public:
  static constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();

  /// Throws std::overflow_error when `count` is more than kMost.
  explicit WaitGroup(std::size_t count = 0);
  WaitGroup(const WaitGroup&) = delete;
  WaitGroup& operator=(const WaitGroup&) = delete;
  /// Nobody may wait: that aborts the process.
  ~WaitGroup();

  /// Throws std::overflow_error, and adds nothing, when the count would be more than kMost.
  void add(std::size_t count = 1);
  /// Throws std::logic_error, and changes nothing, when the count would be less than zero.
  void done(std::size_t count = 1);
  /// Waits until the count is zero.
  void wait() { static_cast<void>(wait_for(kForever)); }
  /// False when it is not zero in time.
  [[nodiscard]] bool wait_for(Timeout timeout);

  /// A hint: it may be different when the caller looks at it.
  [[nodiscard]] std::size_t count() const noexcept;

 private:
  alignas(8) mutable std::byte state_[32];
};

}  // namespace bulkhead
