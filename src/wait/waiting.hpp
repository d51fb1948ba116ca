// How an actor, or a thread outside, waits in a line (line.hpp): what all locks have in common.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "bulkhead/duration.hpp"
#include "bulkhead/wait.hpp"
#include "machine/clock.hpp"
#include "sync/lock.hpp"
#include "wait/line.hpp"

namespace bulkhead::wait {

/// Claims and wakes whoever waits.
struct Actors {
  using Waiter = core::Waiter;
  [[nodiscard]] static bool claim(const Waiter& waiter) noexcept { return core::claim(waiter); }
  static void wake(const Waiter& waiter) noexcept { core::wake(waiter); }
};

using WaitNode = Node<sync::RealSync, Actors>;

/// What is left of a timeout.
class Deadline {
 public:
  explicit Deadline(Timeout timeout) noexcept
      : due_(machine::later(machine::now(), timeout.nanoseconds())) {}
  [[nodiscard]] static Deadline at(machine::Nanoseconds due) noexcept { return Deadline(due); }

  [[nodiscard]] Timeout left() const {
    if (due_ == machine::kNever) return kForever;
    return std::chrono::nanoseconds(std::max<machine::Nanoseconds>(due_ - machine::now(), 0));
  }
  [[nodiscard]] bool is_over() const { return left().nanoseconds() == 0; }

 private:
  explicit Deadline(machine::Nanoseconds due) noexcept : due_(due) {}

  machine::Nanoseconds due_;
};

/// The waits of an actor that is to end return at once where it cannot be unwound
/// (Core::may_unwind), such as in a destructor. But destructors need locks, and must not leave
/// children behind. So while this is engaged, the actor waits as if it were not to end.
class Shield {
 public:
  Shield() = default;
  Shield(const Shield&) = delete;
  Shield& operator=(const Shield&) = delete;
  /// What was held back takes effect at the next wait.
  ~Shield();
  /// Before each wait. Without effect where the wait would be unwound.
  void engage();
  /// Also where the wait could be unwound.
  void engage_anywhere();

 private:
  bool engaged_ = false;
};

/// Ends the process: a lock has been destroyed in use. `what` and `use` say which, and how.
[[noreturn]] void fail_in_use(const char* what, const std::string& use) noexcept;

/// Throws std::logic_error: in a hook nothing waits.
[[noreturn]] void refuse_to_wait();

/// Waits in the line of `state` until it is let go, or time is up: false. `enter` is called once a
/// wait is open: it puts the node into the line, or returns false when there is no need to wait.
/// `pass_on` is called when the caller is unwound although it was let go.
template <class State, class Enter, class PassOn>
[[nodiscard]] bool wait_in_line(State& state, WaitNode& node, const Deadline& deadline, Enter enter,
                                PassOn pass_on) {
  Shield shield;
  for (;;) {
    shield.engage();
    core::Wait wait;
    if (wait.over()) refuse_to_wait();
    node.waiter.write(wait.waiter());
    if (!enter()) {
      static_cast<void>(wait.retire());  // nobody else knows of it
      return true;
    }
    struct Leave {
      State& state;
      WaitNode& node;
      PassOn& pass_on;
      bool unwound = true;
      ~Leave() {
        if (unwound && state.leave(node)) pass_on();
      }
    } leave{state, node, pass_on};
    wait.park(deadline.left(), core::WaitsFor::kLock);
    leave.unwound = false;
    if (state.leave(node)) return true;
    // Woken to end, in a destructor: it waits on.
    if (!core::Wait::ending() || deadline.is_over()) return false;
  }
}

}  // namespace bulkhead::wait
