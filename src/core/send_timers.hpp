// What an actor has started that is due at a time: messages that are sent then, once or again and
// again, and the answers that it waits for no longer than till then. Each has a record, which ends
// with the actor.
//
// A message that is sent again and again is copied, whenever it is due, into memory that comes back
// from its receiver, its Tick (sync/loan.hpp). While that is away, nothing is sent: what is still
// in the receiver's mailbox stands for it. So no time takes memory, and none piles up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bulkhead/timer.hpp"
#include "core/commons.hpp"
#include "core/core.hpp"
#include "sync/loan.hpp"

namespace bulkhead::core {

/// Before the signal that it sends.
struct alignas(kMaxMessageAlignment) Tick {
  sync::Loan<RealSync> loan;
  bool watches;             // a watch's: watches.hpp
  std::uint8_t size_class;  // of the memory of both
  std::uint16_t pool;       // whose it is
  CopyMessage copy;
  machine::Nanoseconds period;

  [[nodiscard]] Signal* signal() noexcept { return reinterpret_cast<Signal*>(this + 1); }
  [[nodiscard]] static Tick& of(Signal& signal) noexcept {
    return *(reinterpret_cast<Tick*>(&signal) - 1);
  }
};

/// It belongs to the actor that started it, and is touched by that actor's core only, or, if that
/// roams, under the lock of the commons; but for generation and owner, which whoever holds a stale
/// reference may look at. Its memory is never unmapped.
///
/// | kind     | signal                     | when it is due                                     |
/// |----------|----------------------------|----------------------------------------------------|
/// | kSend    | what is sent               | is sent                                            |
/// | kTick    | what is copied             | a copy is sent, and it is started again            |
/// | kRequest | what the answer is sent in | the answer is that it came too late: requests.hpp  |
/// | kWatch   |                            | it is at no time: watches.hpp                      |
struct SendTimer : Timer {
  RealSync::atomic<std::uint32_t> generation;  // odd while the timer is used
  std::uint32_t index;
  RealSync::atomic<Pid> owner;
  Pid to;
  Signal* signal;
  const SignalOps* ops;
  SendTimer* next_of_owner;
  SendTimer* previous_of_owner;
  Tick* tick;           // of kTick, kWatch
  Slot* slot;           // that others claim, of kRequest and kWatch; made for the first, and kept
  std::uint64_t epoch;  // of its wait

  SendTimer*& next_free() noexcept { return next_of_owner; }
};

/// The wheel with the timers of an actor; locked while it lives, if that is the commons'.
class TimersOf {
 public:
  TimersOf(const Slot& slot, Core& core) noexcept : core_(core) {
    if (slot.has(Slot::kRoams)) [[unlikely]]
      shared_.emplace(*core.commons);
  }
  /// True when nobody sleeps for it: then somebody is to be told.
  [[nodiscard]] bool start(Timer& timer, machine::Nanoseconds delay) noexcept {
    if (shared_) return shared_->start(timer, delay);
    core_.timers.start(timer, delay);
    return false;
  }
  void cancel(Timer& timer) noexcept {
    if (shared_) {
      shared_->cancel(timer);
    } else {
      core_.timers.cancel(timer);
    }
  }

 private:
  Core& core_;
  std::optional<Commons::Timers> shared_;
};

/// A record for the running actor. Throws CapacityError, std::bad_alloc.
[[nodiscard]] SendTimer& take_send_timer(Core& core, const char* function);
/// Starts one that has all that its kind needs. Owner. Returns its generation.
std::uint32_t start_send_timer(Core& core, Slot& slot, SendTimer& timer,
                               machine::Nanoseconds delay) noexcept;
/// The same with one that is due at no time.
std::uint32_t keep_send_timer(Core& core, Slot& slot, SendTimer& timer) noexcept;
/// Takes one that is out of its wheel from its owner, which has none of it any more.
void retire_send_timer(SendTimer& timer) noexcept;
/// The same, but who refers to it still does. Owner, under the lock if there is one.
void unlink_from_owner(SendTimer& timer) noexcept;

/// Those that others know of: requests and watches. Owner.
void leave_what_others_know(Slot& slot, Core& core) noexcept;
/// One that was retired is free, and nobody's any more.
inline void give_back(SendTimer& timer, Core& core) noexcept {
  timer.owner.store(Pid(), std::memory_order_relaxed);
  core.free_timers.give(timer);
}

/// All of an actor's. Owner.
void end_timers(Slot& slot, Core& core) noexcept;
/// Timers leave their core's wheel, and join the next one's.
void unfile_timers(Slot& slot, Core& from) noexcept;
void file_timers(Slot& slot, Core& to) noexcept;

// --- when they are due ---------------------------------------------------------------------------

/// The message goes to its receiver; the record, which was retired, is the core's.
void deliver_send_timer(Core& core, SendTimer& timer) noexcept;
/// A copy does, in the tick's memory, which was lent for it.
void deliver_tick(SendTimer& timer) noexcept;
/// When it is due again, after it was: missed times are left out. It has not been ended.
[[nodiscard]] machine::Nanoseconds due_again(const SendTimer& timer,
                                             machine::Nanoseconds now) noexcept;
/// Has it been ended since it was taken out of its wheel? Under the lock.
[[nodiscard]] inline bool has_ended(const SendTimer& timer) noexcept {
  return timer.generation.load(std::memory_order_relaxed) % 2 == 0;
}
/// What is left of one that has ended, without a lock: its message is destroyed.
void discard_send_timer(SendTimer& timer, Core& core) noexcept;

// --- ticks, elsewhere ----------------------------------------------------------------------------

/// Of a watch's: watches.hpp.
[[nodiscard]] bool watch_has_gone(Signal& signal) noexcept;
/// Is it a tick of a timer, or a watch, that has ended since? Then it is not handled.
[[nodiscard]] inline bool is_over(Signal& signal) noexcept {
  if ((signal.flags & Signal::kTick) == 0) return false;
  Tick& tick = Tick::of(signal);
  return tick.loan.has_ended() || (tick.watches && watch_has_gone(signal));
}
/// Such a one is handled by nobody: to deliver it does nothing.
void empty_if_over(Signal& signal) noexcept;
/// Its message has been handled, or dropped. Any thread; null: outside.
void give_tick(Signal* signal, Core* core) noexcept;

// --- the memory of ticks -------------------------------------------------------------------------

struct TickMemory {
  void* block;
  std::uint16_t pool;
  std::uint8_t size_class;
};
/// Throws std::bad_alloc.
[[nodiscard]] TickMemory take_tick_memory(Core& core, std::size_t bytes);
/// Makes the signal that follows a tick.
Signal* make_tick_signal(Tick& tick) noexcept;

}  // namespace bulkhead::core
