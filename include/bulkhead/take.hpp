/// take_for: an actor's class takes a message in the middle of a handler, out of turn.
#pragma once

#include <optional>
#include <utility>

#include "bulkhead/handler.hpp"
#include "bulkhead/mailbox.hpp"

namespace bulkhead {

namespace machine {
struct Stack;
}

namespace core {

/// A signal that the running actor has taken, and is about to handle: when that throws, it is
/// dropped.
void in_hand(Signal* signal) noexcept;
/// It has been handled, and is released.
void no_longer_in_hand(Signal* signal) noexcept;

/// What the running actor is handling, while it takes another message.
class InHand {
 public:
  InHand() noexcept;
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;
  ~InHand();

 private:
  machine::Stack* stack_;
  Signal* signal_ = nullptr;
  const SignalOps* ops_ = nullptr;
};

}  // namespace core

namespace this_actor {

/// For handlers of class A: takes the oldest message of type M that waits in the mailbox, or comes
/// within `timeout`, and that `wanted(const M&)` is true of; the others stay, in order. A must have
/// `receive(M)`, which is not called. None when time is up, and in a destructor of an actor that is
/// to end when there is none. Only for messages that were sent, not for asks and offers. Throws as
/// Mailbox::next.
template <class M, class A, class Wanted>
[[nodiscard]] std::optional<M> take_for(const A* self, Timeout timeout, Wanted wanted) {
  static_assert(handler::kAccepted<A, M>, "bulkhead: take_for: this actor has no receive(M)");
  struct Release {
    Signal* signal;
    ~Release() {
      payload<M>(signal)->~M();
      core::withdraw_later(signal);
    }
  };
  const core::InHand outer;
  const core::LookAt look = [](void* context, Signal*& signal) {
    if (signal->ops != &handler::kTell<A, M>) return core::Look::kLeave;
    const M& message = *payload<M>(signal);
    return (*static_cast<Wanted*>(context))(message) ? core::Look::kTake : core::Look::kLeave;
  };
  Signal* signal = core::receive(self, look, &wanted, timeout).signal;
  if (signal == nullptr) return std::nullopt;
  const Release release{signal};
  return std::optional<M>(std::move(*payload<M>(signal)));
}

/// A message that waits in the mailbox of an actor of class A.
template <class A>
class Waiting {
 public:
  explicit Waiting(Signal* signal) noexcept : signal_(signal) {}

  [[nodiscard]] Priority priority() const noexcept { return signal_->ops->priority; }
  /// Null when it is none of type M that was sent.
  template <class M>
  [[nodiscard]] const M* as() const noexcept {
    return signal_->ops == &handler::kTell<A, M> ? payload<M>(signal_) : nullptr;
  }

 private:
  Signal* signal_;
};

/// For handlers of class A: handles the oldest message, asks too, that waits in the mailbox or
/// comes within `timeout`, and that `wanted(Waiting<A>)` is true of, by its own handler; the others
/// stay, in order. With `least`, only those of that priority and higher ones are looked at, however
/// many others wait. (One that there was no memory to put in front of others counts as ordinary.)
/// False as take_for returns none. Throws as that, and what the handler throws.
template <class A, class Wanted>
bool handle_for(A* self, Timeout timeout, Wanted wanted, Priority least = Priority::kOrdinary) {
  struct Condition {
    Wanted& wanted;
    Priority least;
  };
  const core::InHand outer;
  const core::LookAt look = [](void* context, Signal*& signal) {
    const Condition& condition = *static_cast<Condition*>(context);
    const bool first = (signal->flags & Signal::kFirst) != 0;
    if ((first ? signal->ops->priority : Priority::kOrdinary) < condition.least) {
      return core::Look::kLeaveAll;
    }
    return condition.wanted(Waiting<A>(signal)) ? core::Look::kTake : core::Look::kLeave;
  };
  Condition condition{wanted, least};
  Signal* signal = core::receive(self, look, &condition, timeout).signal;
  if (signal == nullptr) return false;
  core::in_hand(signal);
  if (Signal* done = signal->ops->deliver(self, signal); done != nullptr) {
    core::no_longer_in_hand(done);
  }
  return true;
}

}  // namespace this_actor
}  // namespace bulkhead
