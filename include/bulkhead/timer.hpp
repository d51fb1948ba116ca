/// Timers that deliver a message.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "bulkhead/address.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/record_ref.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// A timer that was started, for cancelling it. It belongs to the actor that started it.
class TimerRef : public RecordRef<TimerRef> {
 public:
  using RecordRef::RecordRef;
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
/// Copies a message into a signal. Throws what that throws.
using CopyMessage = void (*)(Signal* to, Signal* from);
[[nodiscard]] TimerRef start_ticks(Timeout period, Pid to, Signal* signal, const SignalOps* ops,
                                   std::size_t bytes, CopyMessage copy);
}  // namespace core

namespace timer {

/// A message that is sent later, while nobody else has it.
template <class M>
class Later {
 public:
  Later(const Port<M>& to, M& message)
      : signal_(core::prepare_later(kSignalBytes<M>, core::block_class(kSignalBytes<M>),
                                    handler::kStays<M>)) {
    struct Back {
      Later* later;
      ~Back() {
        if (later != nullptr) later->give_back();
      }
    } back{this};
    message_ = ::new (static_cast<void*>(payload<M>(signal_))) M(std::move(message));
    if (signal_->pool == core::kMessageHeap) core::seal(signal_, to.ops());
    back.later = nullptr;
  }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;
  ~Later() {
    if (signal_ != nullptr) give_back();
  }

  [[nodiscard]] Signal* get() const noexcept { return signal_; }
  /// Now somebody else has it.
  void release() noexcept { signal_ = nullptr; }

 private:
  void give_back() noexcept {
    if (message_ != nullptr) message_->~M();
    core::withdraw_later(signal_);
  }

  Signal* signal_;
  M* message_ = nullptr;
};

template <class M>
void copy(Signal* to, Signal* from) {
  ::new (static_cast<void*>(payload<M>(to))) M(*payload<M>(from));
}

}  // namespace timer

/// In an actor: sends `message` when `delay` has passed; never early. The timer ends with the actor
/// that started it. When it fires and the message cannot be queued, that is dropped, counted and
/// told, as one that is sent; but what an actor sends itself finds room in its mailbox, also when
/// that is bounded and full. Throws std::invalid_argument for kForever, std::logic_error outside
/// actors, std::bad_alloc, CapacityError on a stage whose timers are all in use.
template <class M>
TimerRef send_after(Timeout delay, std::type_identity_t<Port<M>> to, M message) {
  check_sendable<M>();
  timer::Later<M> later(to, message);
  const TimerRef timer = core::start_timer(delay, to.pid(), later.get(), to.ops());
  later.release();
  return timer;
}

/// The same again and again, first when `period` has passed from now, until it is cancelled. Times
/// that were missed, as the core was busy, are left out; and nothing is sent while the last one is
/// still in the receiver's mailbox: that one stands for both. What is sent are copies, for which no
/// memory is taken, but for what a copy holds; one that throws counts as dropped for want of
/// memory. Throws as send_after, std::invalid_argument also for a period of zero.
template <class M>
TimerRef send_every(Timeout period, std::type_identity_t<Port<M>> to, M message) {
  check_sendable<M>();
  static_assert(std::is_copy_constructible_v<M>,
                "bulkhead: send_every sends copies of its message, and this one cannot be copied "
                "(M above)");
  if constexpr (std::is_copy_constructible_v<M>) {
    timer::Later<M> later(to, message);
    const TimerRef timer = core::start_ticks(period, to.pid(), later.get(), to.ops(),
                                             kSignalBytes<M>, &timer::copy<M>);
    later.release();
    return timer;
  } else {
    return TimerRef();
  }
}

/// To an actor that has no handler for the message: says so, when it is compiled.
template <class A, class M>
  requires(!handler::kAccepted<A, M>)
TimerRef send_after(Timeout, Address<A>, M) {
  handler::check_handled<A, M>();
  return TimerRef();
}
template <class A, class M>
  requires(!handler::kAccepted<A, M>)
TimerRef send_every(Timeout, Address<A>, M) {
  handler::check_handled<A, M>();
  return TimerRef();
}

/// In the actor that started it: ends a timer. Its message is destroyed, and not delivered any
/// more. False when it has fired, was cancelled, or is another actor's. (The message of one that
/// has fired is in its receiver's mailbox; with a run queue that cores share, maybe on its way.)
/// One of send_every never has fired: what it has sent and is still in a mailbox is not handled any
/// more either. When true, `left` is set to the time that it had left, zero if it was due.
/// Throws std::logic_error outside actors.
bool cancel(TimerRef timer, std::chrono::nanoseconds* left = nullptr);

}  // namespace bulkhead
