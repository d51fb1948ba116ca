/// What Mailbox::next can be given: which messages a handler takes, and what is wrong with one that
/// could never run, or never answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "bulkhead/handler.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// In Mailbox::next: a handler for those messages only of which `wanted(const M&)` is true. It is
/// called for each message that waits, anew in each call of next. Waits in it end at once, and it
/// cannot receive; what it throws is passed on, and the message stays.
template <class Wanted, class F>
struct When {
  Wanted wanted;
  F handler;
};
template <class Wanted, class F>
[[nodiscard]] When<std::decay_t<Wanted>, std::decay_t<F>> when(Wanted&& wanted, F&& handler) {
  return {std::forward<Wanted>(wanted), std::forward<F>(handler)};
}

namespace mailbox {

using handler::HasAnswer;

template <class M>
struct ReplyOf {
  using type = Reply<void>;
};
template <HasAnswer M>
struct ReplyOf<M> {
  using type = Reply<typename M::Answer>;
};
template <class M>
using ReplyFor = typename ReplyOf<M>::type;

// --- the parts of a handler: a function, perhaps const, and perhaps a condition ---

template <class H>
struct Parts {
  static constexpr bool kConditional = false;
  using Function = H;
  static H& function(H& handler) { return handler; }
};
template <class H, class Condition, class F>
struct ConditionalParts {
  static constexpr bool kConditional = true;
  using Wanted = Condition;
  using Function = F;
  static F& function(H& handler) { return handler.handler; }
};
template <class W, class F>
struct Parts<When<W, F>> : ConditionalParts<When<W, F>, W, F> {};
template <class W, class F>
struct Parts<const When<W, F>> : ConditionalParts<const When<W, F>, const W, const F> {};

template <class H>
using FunctionOf = typename Parts<H>::Function;

// --- functions that have one signature: not generic, and not overloaded ---

template <class... Parameters>
struct Signature {
  using First = void;
};
template <class P, class... Others>
struct Signature<P, Others...> {
  using First = P;
};
template <class R, class... P>
Signature<P...> signature(R (*)(P...));
template <class R, class C, class... P>
Signature<P...> signature(R (C::*)(P...));
template <class R, class C, class... P>
Signature<P...> signature(R (C::*)(P...) const);
template <class R, class C, class... P>
Signature<P...> signature(R (C::*)(P...) &);
template <class R, class C, class... P>
Signature<P...> signature(R (C::*)(P...) const&);

template <class F>
struct FirstOf {  // known for none but those below
  static constexpr bool kKnown = false;
  using type = void;
};
template <class F>
concept HasOneOperator = requires {
  mailbox::signature(&F::operator());
};
template <HasOneOperator F>
struct FirstOf<F> {
  static constexpr bool kKnown = true;
  using type = typename decltype(mailbox::signature(&F::operator()))::First;
};
template <class F>
  requires std::is_function_v<std::remove_pointer_t<F>>
struct FirstOf<F> {
  static constexpr bool kKnown = true;
  using type = typename decltype(mailbox::signature(std::declval<std::decay_t<F>>()))::First;
};
template <class F>
inline constexpr bool kHasSignature = FirstOf<std::remove_cv_t<F>>::kKnown;
/// The type of its first parameter; void if that is not known, or there is none.
template <class F>
using First = typename FirstOf<std::remove_cv_t<F>>::type;
/// It takes M under its own name, and not just anything, or what M can become.
template <class F, class M>
inline constexpr bool kNames = std::is_same_v<std::remove_cvref_t<First<F>>, M>;

// --- which messages it takes ---

/// M is a number, and F takes it as one that cannot hold all of its values.
template <class F, class M>
constexpr bool narrows() {
  using P = std::remove_cvref_t<First<F>>;
  if constexpr (std::is_arithmetic_v<M> && std::is_arithmetic_v<P>) {
    return !handler::Holds<M, P>;
  } else {
    return false;
  }
}

template <class H, class M>
constexpr bool wants_some() {
  if constexpr (Parts<H>::kConditional) {
    using W = typename Parts<H>::Wanted;
    if constexpr (std::is_invocable_v<W&, const M&> && !narrows<W, M>()) {
      return std::is_constructible_v<bool, std::invoke_result_t<W&, const M&>>;
    } else {
      return false;
    }
  } else {
    return true;
  }
}

template <class F, class M>
concept CallableWithReply = std::is_invocable_v<F&, M, ReplyFor<M>>;
template <class F, class M>
concept Callable = CallableWithReply<F, M> || std::is_invocable_v<F&, M>;

// The condition is asked first: a generic function is for those that it can be asked of.
template <class H, class M>
concept Takes = wants_some<H, M>() && !narrows<FunctionOf<H>, M>() && Callable<FunctionOf<H>, M>;
template <class H, class M>
concept TakesReply = Takes<H, M> && CallableWithReply<FunctionOf<H>, M>;

template <class H, class M>
bool wants(H& handler, const M& message) {
  if constexpr (Parts<H>::kConditional) {
    return static_cast<bool>(core::invoke(handler.wanted, message));
  } else {
    return true;
  }
}

template <class M, class H>
void call(H& handler, std::type_identity_t<M>&& message, ReplyFor<M>&& reply) {
  auto& function = Parts<H>::function(handler);
  // To g++ a member function may be a virtual one, also of a class that has none, and it warns that
  // it would be looked up in bytes of the message that were never written.
  if constexpr (std::is_member_pointer_v<std::decay_t<decltype(function)>>) {
    asm("" : "+m"(message));
  }
  if constexpr (TakesReply<H, M>) {
    core::invoke(function, std::move(message), std::move(reply));
  } else if constexpr (HasAnswer<M>) {
    using R = typename M::Answer;
    using Result = std::invoke_result_t<decltype(function), M>;
    if constexpr (std::is_void_v<R>) {
      core::invoke(function, std::move(message));
      reply();
    } else if constexpr (std::is_convertible_v<Result, R>) {
      reply.answer_with([&]() -> R { return core::invoke(function, std::move(message)); });
    } else {
      core::invoke(function, std::move(message));
    }
  } else {
    core::invoke(function, std::move(message));
    reply();
  }
}

// --- what is wrong with a handler ---

enum class Misfit : std::uint8_t {
  kNone,
  kNotTaken,
  kByReference,
  kConst,
  kNarrowed,
  kCondition,
  kOtherReply,
  kNoAnswerKnown,
  kOtherAnswer,
  kTooLate,
};

/// Why H does not take M, as far as it has to do with M at all.
template <class H, class M>
constexpr Misfit why_not() {
  using F = FunctionOf<H>;
  if constexpr (!wants_some<H, M>()) {
    return kHasSignature<F> && Callable<F, M> ? Misfit::kCondition : Misfit::kNone;
  } else if constexpr (narrows<F, M>() && Callable<F, M>) {
    return Misfit::kNarrowed;
  } else if constexpr (!kHasSignature<F>) {
    return Misfit::kNone;
  } else if constexpr (std::is_invocable_v<F&, M, handler::AnyReply>) {
    return HasAnswer<M> ? Misfit::kOtherReply : Misfit::kNoAnswerKnown;
  } else if constexpr (std::is_const_v<F> && Callable<std::remove_const_t<F>, M>) {
    return Misfit::kConst;
  } else if constexpr (kNames<F, M> && std::is_lvalue_reference_v<First<F>>) {
    return Misfit::kByReference;
  } else {
    return Misfit::kNone;
  }
}

/// Whether H, which takes M, answers it. What is for the rest, whatever that is, need not.
template <class H, class M>
constexpr Misfit judge_answer() {
  using F = FunctionOf<H>;
  if constexpr (!HasAnswer<M> || !Takes<H, M> || TakesReply<H, M>) {
    return Misfit::kNone;
  } else {
    using R = typename M::Answer;
    using Result = std::invoke_result_t<F&, M>;
    constexpr bool answers = std::is_void_v<R> || std::is_convertible_v<Result, R>;
    constexpr bool may_leave_it = std::is_void_v<Result> && !kNames<F, M>;
    return answers || may_leave_it ? Misfit::kNone : Misfit::kOtherAnswer;
  }
}

template <class Mailbox, class Handler, class Message, Misfit kMisfit>
constexpr void refuse() {
  static_assert(
      kMisfit != Misfit::kNotTaken,
      "bulkhead: this mailbox takes no message that this handler can be called with, so it "
      "would never run: name the message in Mailbox<...>, and take it by value, const& or && "
      "(Mailbox, Handler and Message above)");
  static_assert(kMisfit != Misfit::kByReference,
                "bulkhead: this handler would never run, as it takes its message by &: take it by "
                "value, const& or && (Handler and Message above)");
  static_assert(kMisfit != Misfit::kConst,
                "bulkhead: this handler would never run, as it is const, and can be called only "
                "when it is not (Handler above)");
  static_assert(
      kMisfit != Misfit::kNarrowed,
      "bulkhead: this handler takes a number that cannot hold all values of the message: take "
      "exactly what the mailbox names (Handler and Message above)");
  static_assert(
      kMisfit != Misfit::kCondition,
      "bulkhead: the condition of this `when` cannot be asked of the message that the handler "
      "takes: let it take that by const&, and return bool (Handler and Message above)");
  static_assert(
      kMisfit != Misfit::kOtherReply,
      "bulkhead: the handler for this message takes a Reply of another type than what the message "
      "is answered with: take a Reply<Message::Answer> (Message above)");
  static_assert(
      kMisfit != Misfit::kNoAnswerKnown,
      "bulkhead: the handler for this message takes a Reply, so the message must say what it is "
      "answered with: `using Answer = ...;` in the message's class (Message above)");
  static_assert(
      kMisfit != Misfit::kOtherAnswer,
      "bulkhead: this handler does not return what its message is answered with: return a "
      "Message::Answer, or take a Reply<Message::Answer> as the second parameter (Handler and "
      "Message above)");
  static_assert(kMisfit != Misfit::kTooLate,
                "bulkhead: this handler would never run: those before it take all that it takes "
                "(Handler above)");
}

/// Does one of the first `count` handlers take every M?
template <class M, class... Hs>
constexpr bool is_taken_before(std::size_t count) {
  std::size_t i = 0;
  return ((i++ < count && !Parts<Hs>::kConditional && Takes<Hs, M>) || ...);
}

/// Compiles if each of the handlers may run, and answers, in a mailbox for the Ms.
template <class Mailbox>
struct Check;
template <template <class...> class Mailbox, class... Ms>
struct Check<Mailbox<Ms...>> {
  template <class... Hs>
  static constexpr void handlers() {
    each(Types<Hs...>(), std::index_sequence_for<Hs...>());
  }

 private:
  template <class... Hs, std::size_t... I>
  static constexpr void each(Types<Hs...> all, std::index_sequence<I...> /*places*/) {
    (one<Hs, I>(all), ...);
  }

  template <class H, std::size_t I, class... Hs>
  static constexpr void one(Types<Hs...> /*all*/) {
    using F = FunctionOf<H>;
    using Named = std::remove_cvref_t<First<F>>;
    if constexpr (!(Takes<H, Ms> || ...)) {
      if constexpr (((why_not<H, Ms>() == Misfit::kNone) && ...)) {
        refuse<Mailbox<Ms...>, H, Named, Misfit::kNotTaken>();
      } else {
        (refuse<Mailbox<Ms...>, H, Ms, why_not<H, Ms>()>(), ...);
      }
    } else if constexpr ((kNames<F, Ms> || ...) &&
                         ((!Takes<H, Ms> || is_taken_before<Ms, Hs...>(I)) && ...)) {
      refuse<Mailbox<Ms...>, H, Named, Misfit::kTooLate>();
    } else if constexpr (((judge_answer<H, Ms>() != Misfit::kNone) || ...)) {
      (refuse<Mailbox<Ms...>, H, Ms, judge_answer<H, Ms>()>(), ...);
    }
  }
};

// --- what a mailbox is made of ---

/// What makes an address accept M. Never called: the body takes its messages itself.
template <class M>
struct Accepts {
  void receive(M /*message*/) {}
};
template <HasAnswer M>
struct Accepts<M> {
  void receive(M /*message*/, Reply<typename M::Answer> /*reply*/) {}
};
template <class... Ms>
struct AcceptsAll : Accepts<Ms>... {
  using Accepts<Ms>::receive...;
};
/// For a mailbox that does not compile, so that this is all that is told of it.
struct AcceptsAnything {
  template <class M>
  void receive(M /*message*/) {}
};

template <class... Ms>
inline constexpr bool kPlainTypes = (std::is_same_v<Ms, std::decay_t<Ms>> && ...);
template <class M, class... Ms>
inline constexpr bool kNamedOnce = (std::is_same_v<M, Ms> + ...) == 1;
template <class... Ms>
inline constexpr bool kDistinct = (kNamedOnce<Ms, Ms...> && ...);
template <class... Ms>
using Base = std::conditional_t<kDistinct<Ms...>, AcceptsAll<Ms...>, AcceptsAnything>;

}  // namespace mailbox
}  // namespace bulkhead
