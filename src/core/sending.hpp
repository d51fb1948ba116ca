// Ways of a signal to its receiver, below those of bulkhead/signal.hpp.
#pragma once

#include "bulkhead/delivery.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/signal.hpp"

namespace bulkhead::core {

class Core;
struct Slot;

/// Sends a signal that does not wait for its turn: its `deliver` is called with the receiver's
/// slot, by the owner, when it comes to that, and returns null when it has made a message of the
/// signal and queued it; else the signal is destroyed, as it is when there is no receiver.
void send_urgent(Core& core, Pid to, Signal* signal) noexcept;
/// The same for one that was prepared. Any thread.
void send_urgent(Pid to, Signal* signal) noexcept;

/// The same for one that was not, but lies ready for whoever lives. Any thread.
void send_news(Pid to, Signal* signal) noexcept;

/// For a signal that was prepared before anything was known of its receiver (prepare_later). What
/// an actor sends itself needs no room.
[[nodiscard]] Delivery admit_later(Pid from, Pid to, Signal* signal) noexcept;

/// Puts a signal into the inbox of an actor of this domain, and tells its home. Its threads.
void push_home(Slot& slot, Signal& signal) noexcept;

/// For who has got the right of notification: tells the home. Any thread that may touch it (D2).
void notify(Slot& slot) noexcept;
/// Wakes a waiter whose epoch the caller has claimed. Any thread.
void wake(Slot& slot) noexcept;

}  // namespace bulkhead::core
