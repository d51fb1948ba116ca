/// ConditionVariable: waiting, with a lock, for what others do under it.
#pragma once

#include <cstddef>
#include <type_traits>

#include "bulkhead/duration.hpp"
#include "bulkhead/mutex.hpp"

namespace bulkhead {

/// Like std::condition_variable, for actors and threads outside; always with a predicate, so that
/// there are no spurious wake-ups to think of. While it waits, the mutex is not held; the predicate
/// is called with it, and it is held again when the wait is over.
///
/// An actor that is to be stopped is unwound from its wait, and has the mutex again while it is, so
/// that destructors find what they expect. If the mutex cannot be had again within 30 s, the wait
/// throws LockTimeout, and the guard holds nothing. Where nothing may wait (see Mutex), a wait
/// whose predicate is false throws std::logic_error. What the predicate throws is passed on. In
/// destructors of an actor that is to end it waits, as locks do.
class ConditionVariable {
 public:
  ConditionVariable() noexcept;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;
  /// Nobody may wait: that aborts the process.
  ~ConditionVariable();

  /// Waits until `predicate()` is true. Throws std::logic_error when the guard holds nothing.
  template <class Predicate>
    requires std::is_invocable_r_v<bool, Predicate&>
  void wait(Mutex::Guard& guard, Predicate predicate) {
    static_cast<void>(wait_for(guard, kForever, static_cast<Predicate&&>(predicate)));
  }

  /// False when it is still not true after `timeout`.
  template <class Predicate>
    requires std::is_invocable_r_v<bool, Predicate&>
  [[nodiscard]] bool wait_for(Mutex::Guard& guard, Timeout timeout, Predicate predicate) {
    const std::int64_t due = begin(guard, timeout);
    while (!predicate()) {
      if (!wait_once(guard, due)) return predicate();
    }
    return true;
  }

  template <class Predicate>
    requires std::is_invocable_r_v<bool, Predicate&>
  [[nodiscard]] bool wait_until(Mutex::Guard& guard, std::chrono::steady_clock::time_point time,
                                Predicate predicate) {
    const auto left = time - std::chrono::steady_clock::now();
    return wait_for(guard, left.count() > 0 ? left : left.zero(),
                    static_cast<Predicate&&>(predicate));
  }

  /// Wakes the one that has waited longest, if somebody waits. Any thread, with the mutex or
  /// without.
  void notify_one() noexcept;
  void notify_all() noexcept;

 private:
  [[nodiscard]] static std::int64_t begin(const Mutex::Guard& guard, Timeout timeout);
  /// False when time is up.
  [[nodiscard]] bool wait_once(Mutex::Guard& guard, std::int64_t due);

  alignas(8) std::byte state_[32];
};

}  // namespace bulkhead
