/// Mailbox: for green threads that take their messages themselves, when and in which order they
/// like.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bulkhead/mailbox_handler.hpp"
#include "bulkhead/select.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/standard.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead {

namespace core {

struct Found {
  Signal* signal;
  std::size_t left;  ///< in the queue, all of which were looked at when there is no signal
};
/// In the actor whose state `mailbox` is: takes the oldest signal out of its queue that look()
/// wants; waits for one. None when time is up, or the actor is to end and cannot be unwound from
/// here. Throws std::logic_error elsewhere.
[[nodiscard]] Found receive(const void* mailbox, LookAt look, void* context, Timeout timeout);
/// Throws std::logic_error: there is no message to return.
[[noreturn]] void refuse_to_receive();
/// There: puts a signal that was taken back in front of the queue.
void put_back(Signal* signal) noexcept;
/// There: how many signals are in the queue.
[[nodiscard]] std::size_t queue_length() noexcept;
/// There, with a wait open: lets any message end it; or no longer.
void end_wait_by_mail(bool ends) noexcept;

}  // namespace core

/// The class of a green thread that messages of the types Ms can be sent to:
///     auto greeter = spawn<Mailbox<Name, Stop>>([](Mailbox<Name, Stop>& mailbox) { ... });
///     greeter.send(Name{"you"});
/// Its body takes them with `next`, when it likes: the oldest first that one of the given handlers
/// takes; others stay in the mailbox, in order. A message counts as handled at the next call, or at
/// the body's end.
///
/// All of `next` is for the body, and what it calls: elsewhere, in hooks, and in destructors of
/// messages that are dropped it throws std::logic_error; so it does when it has to wait inside
/// NoPreempt, and std::runtime_error when there is no memory to wait with. What a handler throws is
/// passed on, and the message counts as handled if the body goes on. In a destructor of an actor
/// that is to end nothing is waited for: what is in the mailbox already can be taken, else the call
/// returns as if time were up.
///
/// A handler takes M, or, to answer an ask later, M and Reply<M::Answer>; what it returns answers
/// an ask at once.
template <class... Ms>
class Mailbox : private mailbox::Base<Ms...> {
  static_assert(sizeof...(Ms) > 0, "bulkhead: a Mailbox names the messages that it takes");
  static_assert(mailbox::kPlainTypes<Ms...>,
                "bulkhead: a Mailbox names the types of its messages without const or &");
  static_assert(mailbox::kDistinct<Ms...>,
                "bulkhead: a Mailbox names each of its messages once; here one is named twice");

 public:
  using mailbox::Base<Ms...>::receive;

  template <class F>
    requires(std::is_invocable_v<F&, Mailbox&> && !std::is_same_v<std::decay_t<F>, Mailbox>)
  explicit Mailbox(F body)
      : body_([run = std::move(body)](Mailbox* self) mutable { run(*self); }) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void started() {
    body_(this);
    this_actor::stop();
  }

  /// Its own. Throws std::logic_error outside the body.
  [[nodiscard]] Address<Mailbox> address() const { return this_actor::address(this); }

  /// Waits for a message that one of the handlers takes, and calls that one. If several would take
  /// it, the first does. Returns without having called any only in a destructor, as said above.
  template <class... Fs>
  void next(Fs&&... handlers) {
    static_cast<void>(next_for(kForever, std::forward<Fs>(handlers)...));
  }
  /// The same, for a limited time: false when that has passed. Zero only looks.
  template <class... Fs>
  bool next_for(Timeout timeout, Fs&&... handlers) {
    static_assert(sizeof...(Fs) > 0, "bulkhead: Mailbox::next takes at least one handler");
    mailbox::Check<Mailbox>::template handlers<std::remove_reference_t<Fs>...>();
    Receive<std::remove_reference_t<Fs>...> call{handlers...};
    Signal* signal = call.find(this, timeout).signal;
    if (signal == nullptr) return false;
    call.handle(signal);
    return true;
  }

  /// Waits for a message of type M, and returns it. In a destructor of an actor that is to end
  /// throws std::logic_error when there is none.
  template <class M>
  M next() {
    std::optional<M> message = next_for<M>(kForever);
    if (!message) core::refuse_to_receive();
    return *std::move(message);
  }
  /// The same, for a limited time: none when that has passed. Zero only looks.
  template <class M>
  std::optional<M> next_for(Timeout timeout) {
    static_assert((std::is_same_v<M, Ms> || ...), "bulkhead: this mailbox does not take M");
    static_assert(!mailbox::HasAnswer<M>,
                  "bulkhead: M may be asked: take it with a handler, which answers");
    std::optional<M> taken;
    next_for(timeout, [&taken]<std::same_as<M> Same>(Same&& message) {  // and not what converts
      taken.emplace(std::forward<Same>(message));
    });
    return taken;
  }

  template <class... Hs>
  class MessageArm;  // see on_message

 private:
  template <class... Hs>
  struct Receive;
  std::move_only_function<void(Mailbox*)> body_;
};

/// One call of next: finds a message, and the handler for it.
template <class... Ms>
template <class... Hs>
struct Mailbox<Ms...>::Receive {
  std::tuple<Hs&...> handlers;
  std::size_t chosen = 0;

  explicit Receive(Hs&... given) : handlers(given...) {}

  /// Null when time is up.
  core::Found find(const Mailbox<Ms...>* mailbox, Timeout timeout) {
    return core::receive(mailbox, &look, this, timeout);
  }
  void handle(Signal* signal) { static_cast<void>((handle_as<Ms>(signal) || ...)); }

 private:
  using Self = Mailbox<Ms...>;
  enum class Kind : std::uint8_t { kOther, kTell, kAsk, kOffer };

  template <class M>
  static Kind kind_of(const Signal* signal) {
    if (signal->ops == &handler::kTell<Self, M>) return Kind::kTell;
    if (signal->ops == &handler::kAsk<Self, M>) return Kind::kAsk;
    if (signal->ops == &handler::kOffer<Self, M>) return Kind::kOffer;
    return Kind::kOther;
  }

  static core::Look look(void* context, Signal*& signal) {
    auto& self = *static_cast<Receive*>(context);
    auto decision = core::Look::kLeave;
    static_cast<void>((self.template look_as<Ms>(signal, decision) || ...));
    return decision;
  }

  template <class M>
  bool look_as(Signal*& signal, core::Look& decision) {
    const Kind kind = kind_of<M>(signal);
    if (kind == Kind::kOther) return false;
    decision = decide<M>(signal, kind, std::index_sequence_for<Hs...>());
    return true;
  }

  // The first handler that takes M, and, if it has a condition, wants this one.
  template <class M, std::size_t... I>
  core::Look decide(Signal*& signal, Kind kind, std::index_sequence<I...> /*all*/) {
    auto decision = core::Look::kLeave;
    static_cast<void>((asks<M, I>(signal, kind, decision) || ...));
    return decision;
  }
  template <class M, std::size_t I>
  bool asks(Signal*& signal, Kind& kind, core::Look& decision) {
    using H = std::tuple_element_t<I, std::tuple<Hs...>>;
    if constexpr (mailbox::Takes<H, M>) {
      if (kind == Kind::kOffer && !accept_offer<M>(signal, kind)) {
        decision = core::Look::kDiscard;
        return true;
      }
      if constexpr (mailbox::Parts<H>::kConditional) {
        const M& message = kind == Kind::kTell ? *payload<M>(signal)
                                               : payload<handler::Question<M>>(signal)->message;
        if (!mailbox::wants(std::get<I>(handlers), message)) return false;
      }
      chosen = I;
      decision = core::Look::kTake;
      return true;
    }
    return false;
  }

  // An offered message lies in its sender's frame, and can be looked at only once it is ours: it is
  // taken over, and becomes one like others. False when the sender has given up.
  template <class M>
  static bool accept_offer(Signal*& signal, Kind& kind) {
    constexpr std::size_t bytes = kSignalBytes<M>;
    struct Room {
      Signal* signal;
      ~Room() {
        if (signal != nullptr) core::withdraw_later(signal);
      }
    } room{core::prepare_later(bytes, core::block_class(bytes), core::Stays::kAsItIs)};
    const handler::Offer<M> offer = *payload<handler::Offer<M>>(signal);
    if (!core::claim(offer.to)) return false;
    new (payload<M>(room.signal)) M(handler::take_offer(offer));
    Signal* fresh = std::exchange(room.signal, nullptr);
    fresh->ops = &handler::kTell<Self, M>;
    fresh->generation = signal->generation;
    fresh->flags = 0;
    signal = fresh;
    kind = Kind::kTell;
    return true;
  }

  // What was taken is never an offer any more.
  template <class M>
  bool handle_as(Signal* signal) {
    const Kind kind = kind_of<M>(signal);
    if (kind == Kind::kTell) {
      const Release<M> release{signal, payload<M>(signal)};
      call(std::move(*release.payload), mailbox::ReplyFor<M>(core::ReplyTo{}));
    } else if (kind == Kind::kAsk) {
      auto* question = payload<handler::Question<M>>(signal);
      mailbox::ReplyFor<M> reply(question->to);
      const Release<handler::Question<M>> release{signal, question};
      call(std::move(question->message), std::move(reply));
    }
    return kind != Kind::kOther;
  }

  template <class P>
  struct Release {
    Signal* signal;
    P* payload;
    ~Release() {
      payload->~P();
      core::withdraw_later(signal);
    }
  };

  template <class M>
  void call(M message, mailbox::ReplyFor<M> reply) {
    call_chosen(message, reply, std::index_sequence_for<Hs...>());
  }
  template <class M, std::size_t... I>
  void call_chosen(M& message, mailbox::ReplyFor<M>& reply, std::index_sequence<I...> /*all*/) {
    static_cast<void>((call_if<I>(message, reply) || ...));
  }
  template <std::size_t I, class M>
  bool call_if(M& message, mailbox::ReplyFor<M>& reply) {
    using H = std::tuple_element_t<I, std::tuple<Hs...>>;
    if constexpr (mailbox::Takes<H, M>) {
      if (I != chosen) return false;
      mailbox::call<M>(std::get<I>(handlers), std::move(message), std::move(reply));
      return true;
    }
    return false;
  }
};

/// In a select: a message for one of the handlers. All of it is the mailbox's actor's.
template <class... Ms>
template <class... Hs>
class Mailbox<Ms...>::MessageArm final : public SelectArm {
 public:
  MessageArm(const Mailbox* mailbox, Hs... handlers)
      : mailbox_(mailbox),
        handlers_(std::move(handlers)...),
        receive_(std::apply([](Hs&... each) { return Receive<Hs...>(each...); }, handlers_)) {}

  [[nodiscard]] bool attempt() override {
    const auto [signal, left] = receive_.find(mailbox_, Timeout(std::chrono::nanoseconds::zero()));
    signal_ = signal;
    seen_ = left;
    return signal_ != nullptr;
  }
  [[nodiscard]] bool enroll(const core::Waiter& /*waiter*/) noexcept override {
    if (core::queue_length() != seen_) return false;
    core::end_wait_by_mail(true);
    return true;
  }
  [[nodiscard]] bool withdraw() noexcept override {
    core::end_wait_by_mail(false);
    return false;  // an attempt tells
  }
  void give_back() override {
    if (signal_ != nullptr) core::put_back(std::exchange(signal_, nullptr));
  }
  void stop() noexcept override {}
  void run() override {
    if (signal_ != nullptr) receive_.handle(std::exchange(signal_, nullptr));
  }

 private:
  const Mailbox* mailbox_;
  std::tuple<Hs...> handlers_;
  Receive<Hs...> receive_;
  Signal* signal_ = nullptr;
  std::size_t seen_ = 0;
};

/// In a select, as Mailbox::next: ready when there is a message that one of the handlers takes. For
/// the mailbox's body only: elsewhere the select throws std::logic_error. The mailbox must outlive
/// the arm. In a destructor of an actor that is to end it may be chosen without a message: then no
/// handler is called.
template <class... Ms, class... Fs>
[[nodiscard]] auto on_message(Mailbox<Ms...>& mailbox, Fs... handlers) {
  static_assert(sizeof...(Fs) > 0, "bulkhead: on_message takes at least one handler");
  mailbox::Check<Mailbox<Ms...>>::template handlers<Fs...>();
  return typename Mailbox<Ms...>::template MessageArm<Fs...>(&mailbox, std::move(handlers)...);
}

}  // namespace bulkhead
