/// How a message finds its handler: the typed shell between an actor's class and its signals.
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "bulkhead/ask.hpp"
#include "bulkhead/cross.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/unwind.hpp"

namespace bulkhead {

/// What a receive timeout delivers. An actor class that has one declares
///     auto receive_timeout() const;          // a duration, or Timeout; kForever for none
///     void receive(bulkhead::ReceiveTimeout);
struct ReceiveTimeout {};

namespace handler {

/// `receive(M)`, returning what an ask is answered with.
template <class A, class M>
concept Returns = requires(A& actor, M&& message) {
  actor.receive(std::move(message));
};

// --- numbers: a handler for another type must be able to hold every value ---

template <class M, class N>
concept Holds = requires(M number) {
  N{number};
}
|| (std::is_integral_v<M> && std::is_floating_point_v<N> &&
    std::numeric_limits<N>::digits >= std::numeric_limits<M>::digits);
template <class M>
struct Itself {
  template <std::same_as<M> N>
  operator N() const noexcept;  // NOLINT: only ever named
};
template <class M>
struct Promoted {
  template <std::same_as<decltype(+std::declval<M>())> N>
  operator N() const noexcept;  // NOLINT
};
template <class M>
struct Widened {
  template <class N>
    requires Holds<M, N>
  operator N() const noexcept;  // NOLINT
};

/// A number that finds its handler only by becoming one of another type that cannot hold all of its
/// values.
template <class A, class M>
constexpr bool is_narrowed() {
  if constexpr (!std::is_arithmetic_v<M> || !Returns<A, M>) {
    return false;
  } else {
    return !Returns<A, Itself<M>> && !Returns<A, Promoted<M>> && !Returns<A, Widened<M>>;
  }
}
template <class A, class M>
inline constexpr bool kNarrowed = is_narrowed<A, M>();

/// The R of `receive(M, Reply<R>)`.
struct AnyReply {
  template <class R>
  operator Reply<R>() const noexcept;  // NOLINT: only ever named
};

template <class A, class M, class R>
concept TakesReply = requires(A& actor, M&& message, Reply<R> reply) {
  actor.receive(std::move(message), std::move(reply));
};

/// `receive(M, Reply<R>)` for some R.
template <class A, class M>
concept TakesSomeReply = requires(A& actor, M&& message) {
  actor.receive(std::move(message), AnyReply{});
};

/// The message says what it is answered with.
template <class M>
concept HasAnswer = requires {
  typename M::Answer;
};

/// `receive(M, Reply<M::Answer>)`.
template <class A, class M>
concept TakesItsReply = HasAnswer<M> && TakesReply<A, M, typename M::Answer>;

template <class A, class M>
concept Handles = Returns<A, M> || TakesSomeReply<A, M>;

/// What a handler that takes a Reply answers with: the class says so by a nested alias of the
/// message (`using Answer = R;` in M).
template <class A, class M>
struct AnswerOf {
  using type = typename M::Answer;
};
template <class A, class M>
  requires Returns<A, M>
struct AnswerOf<A, M> {
  using type = std::decay_t<decltype(std::declval<A&>().receive(std::declval<M&&>()))>;
};
template <class A, class M>
using Answer = typename AnswerOf<A, M>::type;

template <class M>
void destroy(Signal* signal, DropCause /*cause*/) {
  payload<M>(signal)->~M();
}

template <class A, class M>
Signal* deliver(void* actor, Signal* signal) {
  auto& self = *static_cast<A*>(actor);
  M* message = payload<M>(signal);
  if constexpr (Returns<A, M>) {
    static_cast<void>(self.receive(std::move(*message)));
  } else {
    self.receive(std::move(*message), Reply<typename M::Answer>(core::ReplyTo{}));
  }
  message->~M();
  return signal;
}

/// A message that was asked.
template <class M>
struct Question {
  core::ReplyTo to;  // first: SignalOps::reply_at
  M message;
};

template <class M>
void destroy_question(Signal* signal, DropCause cause) {
  auto* question = payload<Question<M>>(signal);
  const core::ReplyTo to = question->to;
  question->~Question<M>();
  core::fail_ask(to, core::ask_error(cause));
}

// The signal is released before the handler runs, so that when an ask returns nothing of it is
// left.
template <class A, class M>
Signal* deliver_question(void* actor, Signal* signal) {
  auto& self = *static_cast<A*>(actor);
  auto* question = payload<Question<M>>(signal);
  Reply<Answer<A, M>> reply(question->to);
  const auto take = [&] {
    M message(std::move(question->message));
    question->~Question<M>();
    core::release_in_hand(signal);
    return message;
  };
  if constexpr (!Returns<A, M>) {
    self.receive(take(), std::move(reply));
  } else if constexpr (std::is_void_v<Answer<A, M>>) {
    core::noticing([&] { self.receive(take()); }, [&](core::Leaves) { reply.fail_by_exception(); });
    reply();
  } else {
    reply.answer_with([&]() -> Answer<A, M> { return self.receive(take()); });
  }
  return nullptr;
}

/// A message whose sender waits until the receiver takes it: it stays in the sender's frame till
/// then.
template <class M>
struct Offer {
  core::ReplyTo to;
  M* message;
  bool crosses;  // from an isolated actor
};

template <class M>
void destroy_offer(Signal* signal, DropCause cause) {
  core::fail_ask(payload<Offer<M>>(signal)->to, core::ask_error(cause));
}

/// Moves an offered message out of its sender's frame, and lets the sender go on.
template <class M>
M take_offer(const Offer<M>& offer) {
  struct Go {
    const Offer<M>& offer;
    ~Go() {
      static_cast<core::AskFrame*>(offer.to.frame)->outcome = core::AskFrame::Outcome::kAnswered;
      core::wake_asker(offer.to);
    }
  } go{offer};
  if constexpr (!kStaysAsItIs<M>) {
    if (offer.crosses || core::in_compartment()) [[unlikely]] {
      core::Owed owed(offer.to, core::Owed::Heap::kNone);
      owed.note();
      const core::OverWall in(core::OverWall::Way::kIn, nullptr);
      return core::over_wall(*offer.message);
    }
  }
  return M(std::move(*offer.message));
}

template <class A, class M>
Signal* deliver_offer(void* actor, Signal* signal) {
  auto& self = *static_cast<A*>(actor);
  const Offer<M> offer = *payload<Offer<M>>(signal);
  if (!core::claim(offer.to)) return signal;  // the sender has given up, and has kept the message
  core::release_in_hand(signal);
  M message = take_offer(offer);
  if constexpr (Returns<A, M>) {
    static_cast<void>(self.receive(std::move(message)));
  } else {
    self.receive(std::move(message), Reply<typename M::Answer>(core::ReplyTo{}));
  }
  return nullptr;
}

/// Makes a message anew, in its place.
template <class M>
void cross_in_place(M& message) {
  if constexpr (!Crossable<M> || !std::is_nothrow_move_constructible_v<M>) {
    core::refuse_to_cross(type_name<M>());
  } else {
    M fresh = bulkhead::cross(std::move(message));
    message.~M();  // NOLINT(bugprone-use-after-move)
    ::new (static_cast<void*>(__builtin_addressof(message))) M(std::move(fresh));
  }
}
template <class M>
void cross_message(Signal* signal) {
  cross_in_place(*payload<M>(signal));
}
template <class M>
void cross_question(Signal* signal) {
  cross_in_place(payload<Question<M>>(signal)->message);
}
/// For SignalOps::cross.
template <class M>
constexpr auto crossing_of(void (*cross)(Signal*)) -> void (*)(Signal*) {
  return kStaysAsItIs<M> ? nullptr : cross;
}

template <class A, class M>
constexpr Priority priority() {
  if constexpr (requires { Priority(A::template kPriority<M>); }) {
    return A::template kPriority<M>;
  } else {
    return Priority::kOrdinary;
  }
}
/// An actor's class whose messages do not all wait their turn says so:
///     template <class M>
///     static constexpr bulkhead::Priority kPriority = ...;
template <class A, class M>
inline constexpr Priority kPriority = priority<A, M>();
template <class A, class M>
inline constexpr bool kFirst = kPriority<A, M> != Priority::kOrdinary;

template <class A, class M>
inline constexpr SignalOps kTell = {&deliver<A, M>, &destroy<M>, type_name<M>(), kPriority<A, M>,
                                    crossing_of<M>(&cross_message<M>)};

template <class A, class M>
inline constexpr SignalOps kAsk = {&deliver_question<A, M>,
                                   &destroy_question<M>,
                                   type_name<M>(),
                                   kPriority<A, M>,
                                   crossing_of<M>(&cross_question<M>),
                                   static_cast<std::uint8_t>(kPayloadOffset<Question<M>>)};

template <class A, class M>
inline constexpr SignalOps kOffer = {&deliver_offer<A, M>, &destroy_offer<M>, type_name<M>()};

/// Can M be sent to actors of class A?
template <class A, class M>
inline constexpr bool kAccepted =
    Sendable<M> && !kNarrowed<A, M> && (Returns<A, M> || TakesItsReply<A, M>);

template <class Actor, class Message>
constexpr void check_handled() {
  constexpr bool handled = Handles<Actor, Message>;
  static_assert(
      handled,
      "bulkhead: this actor has no handler for this message: give the class a public member "
      "function `receive` that takes it by value, const& or &&, and no two that take it equally "
      "well (both are named above: Actor, Message)");
  static_assert(
      !kNarrowed<Actor, Message>,
      "bulkhead: the handler for this message takes a number that cannot hold all of its values: "
      "send exactly what `receive` takes (Message above)");
  constexpr bool answer_known = Returns<Actor, Message> || HasAnswer<Message>;
  static_assert(
      !handled || answer_known,
      "bulkhead: the handler for this message takes a Reply, so the message must say what it "
      "is answered with: `using Answer = ...;` in the message's class (Message above)");
  static_assert(
      !handled || !answer_known || Returns<Actor, Message> || TakesItsReply<Actor, Message>,
      "bulkhead: the handler for this message takes a Reply of another type than what the message "
      "is answered with: take a Reply<Message::Answer> (Message above)");
}

}  // namespace handler
}  // namespace bulkhead
