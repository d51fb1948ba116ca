// Watches: an actor is told, again and again, that something outside of it is ready; here of
// whatever kind, descriptors being the one there is (net/watch.cpp).
//
// Each has a record of its actor's, as requests have (send_timers.hpp), with a slot, by whose wait
// others know it; and a tick, the memory of the message, which comes back when that was handled.
//
// | the watch | its tick | its wait | what comes next                  | moved by             |
// |-----------|----------|----------|----------------------------------|----------------------|
// | looks     | at home  | retired  | waits                            | owner                |
// | waits     | away     | armed    | tells: news are on their way     | who claims the wait  |
// |           |          |          | gone                             | owner                |
// | tells     | away     | claimed  | a message in the owner's queue   | owner, when it hears |
// | message   | away     | claimed  | looks, when that was handled     | owner                |
// | left      | ended    | claimed  | gone                             | who lets the tick go |
//
// Rules
//  V1  The tick is lent before the wait begins: whoever claims that has it in hand.
//  V2  The owner ends a watch in any state: when it is `looks`, or it claims the wait itself, it
//      gives record and memory back; else it leaves them to whoever has the tick (loan.hpp, N1).
//  V3  A watch that is left is in nobody's list. No message of it is handled any more, as of ticks
//      whose timer has ended; nor of one of which what it watches has gone.
// V1 and V2 are checked by sync/loan_model.cpp; what a descriptor makes of it, by
// net/watch_model.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bulkhead/request.hpp"
#include "core/send_timers.hpp"

namespace bulkhead::core {

struct Watching;

/// What can be done with a watch: once per kind of what is watched.
struct WatchOps {
  RequestOps news;
  /// Looks whether there is anything to tell of, and else waits. Owner, in its handler.
  void (*look)(Watching& watching) noexcept;
  /// It ends: gives its place up. Owner.
  void (*withdraw)(Watching& watching) noexcept;
  /// Is what it watches gone since, or another one's to watch? Any thread.
  bool (*has_gone)(const Watching& watching) noexcept;
};

/// In front of the signal that it is told by.
struct alignas(kMaxMessageAlignment) Watching {
  Pending pending;
  SendTimer* record;
  const WatchOps* ops;
  const SignalOps* message;  // what it is for the actor
  int fd;
  std::uint8_t wanted;
  bool is_due;  // to look, when what is in hand was handled
  std::uint64_t fd_generation;
  Watching* next_due;
  Tick tick;  // last: the signal follows it

  [[nodiscard]] static Watching& of(Signal& signal) noexcept {
    return *(reinterpret_cast<Watching*>(&signal) - 1);
  }
  [[nodiscard]] Signal* signal() noexcept { return tick.signal(); }
};
static_assert(sizeof(Watching) == offsetof(Watching, tick) + sizeof(Tick));

/// One of the running actor, which is to look. Throws CapacityError, std::bad_alloc.
[[nodiscard]] Watching& open_watch(const WatchOps& ops, const SignalOps* message,
                                   std::size_t signal_bytes);
/// From now on it waits. Returns the epoch. Owner.
[[nodiscard]] std::uint64_t wait_for_news(Watching& watching) noexcept;
/// The owner takes it back: true when nobody tells of it, and then it is to look.
[[nodiscard]] bool take_back(Watching& watching) noexcept;
/// The owner has found something to tell of, and does what a report would do.
void tell_of(Watching& watching) noexcept;
/// Owner.
void end_watch(Watching& watching) noexcept;
/// All of an actor that ends, or is made anew. Owner.
void end_watches(Slot& slot, Core& core) noexcept;

/// Those of the running actor that are due to look, since what it had received was handled.
void look_at_due(Slot& slot, Core& core) noexcept;

/// The running actor's watch; null when it has ended, or is another actor's.
[[nodiscard]] Watching* find_watch(std::uint32_t index) noexcept;
/// Its slot. Any thread, of any record that ever was a watch's.
[[nodiscard]] Slot& slot_of_watch(std::uint32_t index) noexcept;

/// Its message was handled, or dropped. Any thread; null: outside.
void give_watch_back(Watching& watching, Core* core) noexcept;

}  // namespace bulkhead::core
