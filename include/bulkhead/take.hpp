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

}  // namespace this_actor
}  // namespace bulkhead
