/// Address: where messages for one actor are sent, typed by the actor's class.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "bulkhead/handler.hpp"

namespace bulkhead {

namespace handler {

/// Gives a prepared signal back, unless all goes well.
template <class P>
struct Back {
  Pid to;
  Signal* signal;
  P* made = nullptr;

  ~Back() {
    if (signal == nullptr) return;
    if (made != nullptr) made->~P();
    core::withdraw(to, signal);
  }
};

/// Builds a prepared signal's payload in place, of which M is the message; if that throws, the
/// signal goes back.
template <class M, class P, class... Args>
void fill(Pid to, Signal* signal, const SignalOps* ops, Args&&... args) {
  constexpr bool kSafe = std::is_nothrow_constructible_v<P, Args...>;
  if constexpr (kSafe && kStaysAsItIs<M>) {
    ::new (static_cast<void*>(payload<P>(signal))) P{std::forward<Args>(args)...};
  } else {
    Back<P> back{to, signal};
    back.made = ::new (static_cast<void*>(payload<P>(signal))) P{std::forward<Args>(args)...};
    if constexpr (!kStaysAsItIs<M>) {
      if (signal->pool == core::kMessageHeap) [[unlikely]]
        core::seal(signal, ops);
    }
    back.signal = nullptr;
  }
}

template <class M>
inline constexpr core::Stays kStays = kStaysAsItIs<M> ? core::Stays::kAsItIs : core::Stays::kNo;

template <class M, class P>
[[nodiscard]] core::Admission prepare(Pid to) noexcept {
  constexpr std::size_t bytes = kSignalBytes<P>;
  return core::prepare(to, bytes, core::block_class(bytes), kStays<M>);
}

/// Of what is not ordinary. System messages find room also where a mailbox is full: who suspends a
/// server must be able to have it go on.
template <class M, class P>
[[nodiscard]] core::Admission prepare_first(Pid to, Priority priority) noexcept {
  if (priority < Priority::kSystem) return prepare<M, P>(to);
  constexpr std::size_t bytes = kSignalBytes<P>;
  return core::prepare_unbounded(to, bytes, core::block_class(bytes), kStays<M>);
}

/// Sends, or leaves `message` as it is.
template <class M>
[[nodiscard]] Delivery try_tell(Pid to, M& message, const SignalOps* ops) {
  if constexpr (std::is_trivially_copyable_v<M> && sizeof(M) <= 16 && alignof(M) <= 8) {
    std::uint64_t words[2] = {0, 0};
    std::memcpy(words, __builtin_addressof(message), sizeof(M));
    return core::send_words(to, ops, words[0], words[1]);
  }
  core::Admission admission = prepare<M, M>(to);
  if (admission.signal == nullptr) [[unlikely]]
    return admission.why;
  fill<M, M>(to, admission.signal, ops, std::move(message));
  core::commit(to, admission.signal, ops);
  return Delivery::kQueued;
}

/// The same for a message that is not ordinary.
template <class M>
[[nodiscard]] Delivery try_tell_first(Pid to, M& message, const SignalOps* ops) {
  core::Admission admission = prepare_first<M, M>(to, ops->priority);
  if (admission.signal == nullptr) return admission.why;
  fill<M, M>(to, admission.signal, ops, std::move(message));
  core::commit_first(to, admission.signal, ops);
  return Delivery::kQueued;
}

template <class M>
Delivery tell_first(Pid to, M& message, const SignalOps* ops) {
  const Delivery delivery = try_tell_first(to, message, ops);
  return delivery == Delivery::kQueued ? delivery : core::refused(to, delivery, ops);
}

template <class M>
Delivery tell(Pid to, M& message, const SignalOps* ops) {
  const Delivery delivery = try_tell(to, message, ops);
  if (delivery != Delivery::kQueued) [[unlikely]]
    return core::refused(to, delivery, ops);
  return delivery;
}

template <class R, bool kGoesFirst, class M>
[[nodiscard]] std::expected<R, AskError> ask(Pid to, M& message, const SignalOps* ops,
                                             Timeout timeout, Exit* why) {
  if (core::is_self(to)) [[unlikely]]
    return std::unexpected(AskError::kSelf);
  core::Admission admission;
  if constexpr (kGoesFirst) {
    admission = prepare_first<M, Question<M>>(to, ops->priority);
  } else {
    admission = prepare<M, Question<M>>(to);
  }
  if (admission.signal == nullptr) [[unlikely]] {
    if (why != nullptr && admission.why == Delivery::kGone) *why = Exit::no_actor();
    return std::unexpected(core::ask_error(core::refused(to, admission.why, ops)));
  }
  core::ReplyFrame<R> frame;
  frame.why = why;
  {
    // The message is moved before the wait is opened: its constructor may itself send and wait.
    fill<M, Question<M>>(to, admission.signal, ops, core::ReplyTo{}, std::move(message));
    Back<Question<M>> back{to, admission.signal, payload<Question<M>>(admission.signal)};
    core::Wait wait;
    if (wait.over()) [[unlikely]]
      return std::unexpected(AskError::kStopped);
    payload<Question<M>>(admission.signal)->to = core::reply_to(wait, frame);
    back.signal = nullptr;
    if constexpr (kGoesFirst) {
      core::commit_first(to, admission.signal, ops);
    } else {
      core::commit(to, admission.signal, ops);
    }
    wait.park(timeout, core::WaitsFor::kReply);
  }
  if (frame.outcome == core::AskFrame::Outcome::kPending) core::decide_unanswered(frame);
  if (frame.outcome != core::AskFrame::Outcome::kAnswered) return std::unexpected(frame.error);
  if constexpr (std::is_void_v<R>) {
    return {};
  } else {
    return frame.take();
  }
}

/// Waits until the receiver takes the message; `message` is as it was when that fails.
template <class M>
[[nodiscard]] Delivery offer(Pid to, M& message, const SignalOps* ops, Timeout timeout) {
  if (core::is_self(to)) return Delivery::kFull;  // it cannot make room while it waits for some
  constexpr std::size_t bytes = kSignalBytes<Offer<M>>;
  const core::Admission admission =
      core::prepare_unbounded(to, bytes, core::block_class(bytes), core::Stays::kAsItIs);
  if (admission.signal == nullptr) return admission.why;
  core::ReplyFrame<void> frame;
  Back<Offer<M>> back{to, admission.signal};
  core::Wait wait;
  if (wait.over()) [[unlikely]]
    return Delivery::kStopped;
  admission.signal->flags = Signal::kLosesNothing;
  ::new (static_cast<void*>(payload<Offer<M>>(admission.signal)))
      Offer<M>{core::reply_to(wait, frame), __builtin_addressof(message),
               !kStaysAsItIs<M> && core::in_compartment()};
  back.signal = nullptr;
  core::commit(to, admission.signal, ops);
  wait.park(timeout, core::WaitsFor::kRoom);
  if (frame.outcome == core::AskFrame::Outcome::kPending) core::decide_unanswered(frame);
  if (frame.outcome == core::AskFrame::Outcome::kAnswered) return Delivery::kQueued;
  return frame.error == AskError::kTimedOut ? Delivery::kFull : core::delivery_of(frame.error);
}

/// What a port has that stands for nobody: its messages are refused, and named.
template <class M>
inline constexpr SignalOps kNobody = {nullptr, &destroy<M>, type_name<M>(), Priority::kOrdinary,
                                      crossing_of<M>(&cross_message<M>)};

}  // namespace handler

/// Where messages of type M can be sent, whatever the class of the actor behind it. A
/// default-constructed one stands for nobody: what is sent to it is refused, with kGone.
template <class M>
class Port {
 public:
  Port() = default;
  Port(Pid pid, const SignalOps* ops) noexcept : pid_(pid), ops_(ops) {}

  [[nodiscard]] Pid pid() const noexcept { return pid_; }
  [[nodiscard]] const SignalOps* ops() const noexcept { return ops_; }
  explicit operator bool() const noexcept { return static_cast<bool>(pid_); }

  /// As Address::send.
  Delivery send(M message) const {
    if (ops_->priority != Priority::kOrdinary) [[unlikely]]
      return handler::tell_first(pid_, message, ops_);
    return handler::tell(pid_, message, ops_);
  }
  /// As Address::try_send.
  [[nodiscard]] Delivery try_send(M& message) const {
    if (ops_->priority != Priority::kOrdinary) [[unlikely]]
      return handler::try_tell_first(pid_, message, ops_);
    return handler::try_tell(pid_, message, ops_);
  }

  friend bool operator==(const Port&, const Port&) = default;

 private:
  Pid pid_;
  const SignalOps* ops_ = &handler::kNobody<M>;
};

/// The address of an actor of class A: a small value, to be copied, kept and sent at will. Messages
/// that A has no `receive` for are refused at compile time. A default-constructed one stands for
/// nobody: what is sent to it is refused, with kGone.
template <class A>
class Address {
 public:
  using Actor = A;

  Address() = default;
  /// The caller answers for the actor's class.
  explicit Address(Pid pid) noexcept : pid_(pid) {}

  [[nodiscard]] Pid pid() const noexcept { return pid_; }
  explicit operator bool() const noexcept { return static_cast<bool>(pid_); }

  /// Sends a message and goes on at once: its handler never runs before this returns. Any thread.
  /// (A handler that sends thousands of messages in a row may be made to wait while others handle
  /// them.) A message that cannot be queued is destroyed, and counted and told as a dead letter;
  /// the result says why. Messages of one sender to one receiver arrive in the order sent.
  template <class M>
  Delivery send(M message) const {
    check<M>();
    if constexpr (handler::kAccepted<A, M> && handler::kFirst<A, M>) {
      return handler::tell_first(pid_, message, &handler::kTell<A, M>);
    } else if constexpr (handler::kAccepted<A, M>) {
      return handler::tell(pid_, message, &handler::kTell<A, M>);
    } else {
      return Delivery::kGone;  // never: it has not compiled
    }
  }

  /// The same, but a message that cannot be queued is left as it was, for the caller to keep, and
  /// is neither counted nor told.
  template <class M>
  [[nodiscard]] Delivery try_send(M& message) const {
    check<M>();
    if constexpr (handler::kAccepted<A, M> && handler::kFirst<A, M>) {
      return handler::try_tell_first(pid_, message, &handler::kTell<A, M>);
    } else if constexpr (handler::kAccepted<A, M>) {
      return handler::try_tell(pid_, message, &handler::kTell<A, M>);
    } else {
      return Delivery::kGone;
    }
  }

  /// For bounded mailboxes: sends, and when the mailbox is full waits, in order with those who wait
  /// already, until the receiver takes the message. kFull when `timeout` has passed before, and at
  /// once in the receiver itself; kStopped where the caller may not wait (a hook), or is to end and
  /// cannot be unwound (a destructor). On any other outcome than kQueued the message is left as it
  /// was. In an actor only the actor waits. Throws std::logic_error when it has to wait inside
  /// NoPreempt, std::runtime_error when there is no memory to wait with.
  template <class M>
  [[nodiscard]] Delivery send_or_wait(M& message, Timeout timeout = kForever) const {
    check<M>();
    if constexpr (handler::kAccepted<A, M>) {
      const Delivery delivery = handler::try_tell(pid_, message, &handler::kTell<A, M>);
      if (delivery != Delivery::kFull) return delivery;
      return handler::offer(pid_, message, &handler::kOffer<A, M>, timeout);
    } else {
      return Delivery::kGone;
    }
  }

  /// Sends a message and waits for the reply: what the handler returns, or gives to its Reply. In
  /// an actor only the actor waits, its core runs others meanwhile; a thread outside is blocked.
  /// Fails at once when no reply can come; an actor's ask to itself does, with nothing sent. In
  /// hooks nothing is sent either: kStopped. In a destructor of an actor that is to end the message
  /// is sent, and its reply not waited for: kStopped. Throws std::logic_error inside NoPreempt,
  /// std::runtime_error when there is no memory to wait with; nothing is sent then. With a timeout
  /// of zero the message is sent all the same: an actor lets others have a turn, and may find the
  /// reply of one that is on its core; a thread outside hardly ever gets one.
  /// `why`, if given, is set to the actor's exit when the ask fails since that has ended (kDied);
  /// to Exit::no_actor() when it had ended before (kGone, or on the way). It stays as it is when
  /// not that is known, but that an exception has let go of the Reply.
  template <class M>
  [[nodiscard]] auto ask(M message, Timeout timeout = kDefaultAskTimeout,
                         Exit* why = nullptr) const {
    check<M>();
    if constexpr (handler::kAccepted<A, M>) {
      check_reply<handler::Answer<A, M>>();
      return handler::ask<handler::Answer<A, M>, handler::kFirst<A, M>>(
          pid_, message, &handler::kAsk<A, M>, timeout, why);
    }
  }

  /// For who should know no more than that M can be sent.
  template <class M>
  [[nodiscard]] Port<M> port() const noexcept {
    check<M>();
    if constexpr (handler::kAccepted<A, M>) {
      return Port<M>(pid_, &handler::kTell<A, M>);
    } else {
      return Port<M>();
    }
  }
  template <class M>
    requires handler::kAccepted<A, M>
  operator Port<M>() const noexcept {  // NOLINT: an address is a port for each of its messages
    return port<M>();
  }

  friend bool operator==(const Address&, const Address&) = default;

 private:
  template <class M>
  static constexpr void check() {
    check_sendable<M>();
    handler::check_handled<A, M>();
  }

  Pid pid_;
};

/// Asks an actor to end, after the messages that were sent to it before. Any thread. The result
/// says whether the request is on its way, as that of a send.
Delivery stop(Pid actor);

/// Makes an actor end without waiting for its turn: at once when it is idle or blocked, in which
/// case its frames are unwound and their destructors run; else at its next wait, or when its
/// handler returns. Its exit is Exit::stopped(). What is queued is dropped as dead letters. An
/// actor that never waits and never returns cannot be stopped. Any thread.
Delivery request_stop(Pid actor);

template <class A>
Delivery stop(Address<A> actor) {
  return stop(actor.pid());
}
template <class A>
Delivery request_stop(Address<A> actor) {
  return request_stop(actor.pid());
}

}  // namespace bulkhead
