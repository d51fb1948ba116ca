/// Wait: how an actor, or a thread outside, waits for what others do. For what this library builds
/// on it: asks, channels, locks. Users have no need of it.
#pragma once

#include <cstdint>

#include "bulkhead/duration.hpp"

namespace bulkhead::core {

class Core;
struct Slot;

/// What somebody waits for, for a trace to tell.
enum class WaitsFor : std::uint8_t {
  kSomething,
  kReply,
  kRoom,
  kMessage,
  kTime,
  kChannel,
  kSelect,
  kLock,
  kNetwork,
  kLookUp
};

/// One wait of somebody: whoever knows it may claim it, and at most one claim succeeds.
struct Waiter {
  Slot* slot = nullptr;
  std::uint64_t epoch = 0;
};

/// Any thread: true for the one who ends this wait. It may then write into the waiter's frame, and
/// must wake it, once.
[[nodiscard]] bool claim(const Waiter& waiter) noexcept;
void wake(const Waiter& waiter) noexcept;

/// A wait of the calling actor; for a thread outside, which is blocked by it, of a guest. It is
/// opened, made known to those who may end it, and then parked in; or given up while nobody knows
/// it, or once it is retired. Nothing that may block the actor comes between its begin and park.
class Wait {
 public:
  /// Throws std::runtime_error when there is no memory to wait with, std::logic_error where the
  /// caller must not block.
  Wait() { open(); }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (open_ != Open::kNo) [[unlikely]]
      close();
  }

  [[nodiscard]] const Waiter& waiter() const noexcept { return waiter_; }
  /// True in a hook of a core, and in the destructor of a message that is dropped there: these run
  /// in the middle of something, so the wait would end at once.
  [[nodiscard]] bool over() const noexcept { return open_ == Open::kGuests && !outside(); }
  /// Blocks until somebody who has claimed the wait wakes the waiter, or time is up; the frame that
  /// the claimer has written tells which. When the actor is to end, throws what unwinds it, or, in
  /// a destructor, returns at once; so it does where the wait is over() from the beginning.
  void park(Timeout timeout, WaitsFor what = WaitsFor::kSomething);
  /// The waiter, before it parks: true when nobody has claimed the wait, and nobody will. Else it
  /// has to park, and is woken.
  [[nodiscard]] bool retire() noexcept;
  /// After park: is the actor to end, or may it not wait here, so that it has not waited?
  [[nodiscard]] static bool ending() noexcept;

 private:
  enum class Open : std::uint8_t { kNo, kActors, kGuests };

  void open();
  [[nodiscard]] static bool outside() noexcept;
  void close() noexcept;
  void end(Core& core) noexcept;

  Waiter waiter_;
  std::uint8_t was_inside_ = 0;
  Open open_ = Open::kNo;
};

}  // namespace bulkhead::core
