// Which of several sleepers sleeps no longer than until the earliest of the timers that they share
// is due: the keeper. The others sleep as if there were none, so that one wakes up for a timer, and
// not all.
//
// | word   | meaning                                      | written by                            |
// |--------|----------------------------------------------|---------------------------------------|
// | due    | of the earliest timer; never: there is none  | who starts, cancels and takes out     |
// | kept   | what the keeper sleeps for; never: no keeper | the keeper, falling asleep, waking up |
// | keeper | who that is                                  | the same                              |
// | firing | somebody has taken timers out, and is yet to | that one                              |
// |        | deliver them; nobody else does meanwhile     |                                       |
//
// All are written under the lock of the timers; but firing begins without it.
//
// Rules
//  L1  Who falls asleep announces it (sleepers.hpp), and then looks whether the earliest timer is
//      kept. If not, it becomes the keeper, under the lock. Who wakes up and is the keeper still,
//      gives that up.
//  L2  Who has made the earliest timer one that nobody keeps, by starting it, by giving up to keep,
//      or by coming to the end of firing, sees to that before it does anything that may take long:
//      it picks a sleeper, which becomes the keeper, or falls asleep itself. (sleepers.hpp, Z3, has
//      the same rule for what was brought.)
//  L3  While somebody fires, nobody keeps: there would be nothing to wake up for. A timer that
//      falls due meanwhile waits for who fires.
// Checked by alarm_model.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Alarm {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// Under the lock: the earliest timer has changed. True when nobody keeps it (L2).
  bool set_due(std::int64_t due) noexcept {
    due_.store(due, std::memory_order_relaxed);
    return is_unkept();
  }
  /// Any thread: a value that it had.
  [[nodiscard]] std::int64_t due() const noexcept { return due_.load(std::memory_order_relaxed); }
  /// Does nobody sleep for the earliest timer, though somebody should? Any thread; what another
  /// changes meanwhile, that one sees to (L2).
  [[nodiscard]] bool is_unkept() const noexcept {
    return due() < kept_.load(std::memory_order_relaxed) &&
           !firing_.load(std::memory_order_relaxed);
  }

  /// Under the lock, by who has announced its sleep: until when to sleep for the timers.
  [[nodiscard]] std::int64_t keep(std::size_t who) noexcept {
    if (!is_unkept()) return kNever;
    kept_.store(due(), std::memory_order_relaxed);
    keeper_.store(who, std::memory_order_relaxed);
    return due();
  }
  /// The caller itself; others may have become the keeper since it has. Without the lock.
  [[nodiscard]] bool keeps(std::size_t who) const noexcept {
    return keeper_.load(std::memory_order_relaxed) == who;
  }
  /// Under the lock, by who has woken up: true when it has kept to now.
  bool give_up(std::size_t who) noexcept {
    if (!keeps(who)) return false;
    kept_.store(kNever, std::memory_order_relaxed);
    keeper_.store(kNobody, std::memory_order_relaxed);
    return true;
  }

  /// False when somebody else fires.
  [[nodiscard]] bool begin_firing() noexcept {
    return !firing_.exchange(true, std::memory_order_acquire);  // [pair alarm.firing]
  }
  /// Under the lock, by who fires; it then looks whether the earliest timer is kept (L2).
  void end_firing() noexcept {
    firing_.store(false, std::memory_order_release);  // [pair alarm.firing]
  }

 private:
  static constexpr std::size_t kNobody = SIZE_MAX;

  typename Sync::template atomic<std::int64_t> due_{kNever};
  typename Sync::template atomic<std::int64_t> kept_{kNever};
  typename Sync::template atomic<std::size_t> keeper_{kNobody};
  typename Sync::template atomic<bool> firing_{false};
};

}  // namespace bulkhead::sync
