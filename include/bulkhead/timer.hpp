/// Timers that deliver a message.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bulkhead/address.hpp"
#include "bulkhead/duration.hpp"

namespace bulkhead {

/// A timer that was started, for cancelling it. It belongs to the actor that started it.
class TimerRef {
 public:
  TimerRef() = default;
  TimerRef(std::uint32_t index, std::uint32_t generation) noexcept
      : index_(index), generation_(generation) {}
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  friend bool operator==(TimerRef, TimerRef) = default;

 private:
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
};

/// A stage has no more of something, all of which it took when it was made.
struct CapacityError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace core {
/// Memory for a message that is sent later. Throws std::bad_alloc.
[[nodiscard]] Signal* prepare_later(std::size_t bytes, std::uint8_t size_class, Stays stays);
void withdraw_later(Signal* signal) noexcept;
[[nodiscard]] TimerRef start_timer(Timeout delay, Pid to, Signal* signal, const SignalOps* ops);
}  // namespace core

/// In an actor: sends `message` when `delay` has passed; never early. The timer ends with the actor
/// that started it. When it fires and the message cannot be queued, that is dropped, counted and
/// told, as one that is sent. Throws std::invalid_argument for kForever, std::logic_error outside
/// actors, std::bad_alloc, CapacityError on a stage whose timers are all in use.
template <class M>
TimerRef send_after(Timeout delay, std::type_identity_t<Port<M>> to, M message) {
  check_sendable<M>();
  constexpr std::size_t bytes = kSignalBytes<M>;
  Signal* signal = core::prepare_later(bytes, core::block_class(bytes), handler::kStays<M>);
  struct Back {
    Signal* signal;
    M* message = nullptr;
    ~Back() {
      if (message != nullptr) message->~M();
      if (signal != nullptr) core::withdraw_later(signal);
    }
  } back{signal};
  back.message = ::new (static_cast<void*>(payload<M>(signal))) M(std::move(message));
  if (signal->pool == core::kMessageHeap) core::seal(signal, to.ops());
  const TimerRef timer = core::start_timer(delay, to.pid(), signal, to.ops());
  back.message = nullptr;
  back.signal = nullptr;
  return timer;
}

/// In the actor that started it: ends a timer. Its message is destroyed, and not delivered any
/// more. False when it has fired, was cancelled, or is another actor's. (The message of one that
/// has fired is in its receiver's mailbox; with a run queue that cores share, maybe on its way.)
/// When true, `left` is set to the time that it had left, zero if it was due. Throws
/// std::logic_error outside actors.
bool cancel(TimerRef timer, std::chrono::nanoseconds* left = nullptr);

}  // namespace bulkhead
