/// Requests: asks whose answer comes as a message, so that nobody waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <new>
#include <type_traits>
#include <utility>

#include "bulkhead/address.hpp"
#include "bulkhead/record_ref.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead {

/// A request that was made, for telling its response from others'.
class RequestRef : public RecordRef<RequestRef> {
 public:
  using RecordRef::RecordRef;
};

/// The message that whoever made a request gets, once: the answer, or why there is none.
template <class R>
struct Response {
  RequestRef request;
  std::expected<R, AskError> result;
};

namespace core {

struct Pending;

/// What can be done with a request of somebody: once per kind of answer and requester.
struct RequestOps {
  /// Of the signal on its way: news, which the requester hears as soon as it gets to them.
  SignalOps news;
  /// Makes the response of what has been decided, and returns the signal that has it.
  Signal* (*respond)(Pending& pending) noexcept;
};

/// What there is of a request until it is decided, in the memory of the signal that will have the
/// response.
struct Pending {
  const RequestOps* ops;
  Signal* signal;
  Pid requester;
  RequestRef request;
};

struct OpenRequest {
  Waiter waiter;  // who knows it may answer
  RequestRef request;
};
/// Opens a request of the running actor, and starts its time: it may be decided the next moment.
/// Throws CapacityError, std::bad_alloc.
[[nodiscard]] OpenRequest open_request(Pending& pending, Timeout timeout);
/// Throws std::logic_error, which names `function`, when the running actor is another one. False
/// when it is ending.
[[nodiscard]] bool is_caller(Pid actor, const char* function);
/// The requester gets to know of it: its record is given back. Owner. False when it has left it.
[[nodiscard]] bool end_request(void* requester, RequestRef request) noexcept;
/// Makes a message of the news that have been heard. Returns null.
Signal* queue_response(void* requester, Signal* signal, const SignalOps* ops) noexcept;
/// Nobody gets to know of it any more. Any thread.
void drop_request(RequestRef request) noexcept;
/// Memory in a heap that a reply has come in, which then goes with the signal. Null: there is none.
[[nodiscard]] Signal* signal_in_heap(void* heap, std::size_t bytes) noexcept;

}  // namespace core

namespace handler {

/// The memory of a response's signal: what is kept until it is made.
template <class R>
struct PendingRequest : core::Pending {
  core::ReplyFrame<R> frame;
};
template <class R>
struct ResponseRoom {
  alignas(Response<R>) std::byte response[sizeof(Response<R>)];
  PendingRequest<R> pending;
};

template <class R>
void make_response(Signal* signal, RequestRef request, core::ReplyFrame<R>& frame) noexcept {
  static_assert(kPayloadOffset<ResponseRoom<R>> == kPayloadOffset<Response<R>>);
  void* place = payload<Response<R>>(signal);
  if (frame.outcome != core::AskFrame::Outcome::kAnswered) {
    ::new (place) Response<R>{request, std::unexpected(frame.error)};
    return;
  }
  if constexpr (std::is_void_v<R>) {
    ::new (place) Response<R>{request, {}};
  } else if constexpr (std::is_nothrow_move_constructible_v<R>) {
    ::new (place) Response<R>{request, std::move(frame.value)};
  } else {
    try {
      ::new (place) Response<R>{request, std::move(frame.value)};
    } catch (...) {
      ::new (place) Response<R>{request, std::unexpected(AskError::kNoMemory)};
    }
  }
}

/// An answer of an isolated actor lies in a heap that goes with it, as its messages do.
template <class R>
Signal* respond(core::Pending& of) noexcept {
  auto& pending = static_cast<PendingRequest<R>&>(of);
  const RequestRef request = pending.request;
  Signal* const signal = pending.signal;
  if constexpr (!std::is_void_v<R>) {
    if (pending.frame.heap != nullptr) [[unlikely]] {
      Signal* in_heap = core::signal_in_heap(pending.frame.heap, kSignalBytes<Response<R>>);
      if (in_heap != nullptr) {
        make_response(in_heap, request, pending.frame);
        pending.frame.value.~R();
        core::withdraw_later(signal);
        return in_heap;
      }
      pending.~PendingRequest<R>();
      ::new (static_cast<void*>(payload<Response<R>>(signal)))
          Response<R>{request, std::unexpected(AskError::kNoMemory)};
      return signal;
    }
  }
  make_response(signal, request, pending.frame);
  pending.~PendingRequest<R>();
  return signal;
}

template <class S, class R>
Signal* hear_response(void* requester, Signal* signal) {
  if (!core::end_request(requester, payload<Response<R>>(signal)->request)) return signal;
  return core::queue_response(requester, signal, &kTell<S, Response<R>>);
}

/// One that has an answer is as a reply that came too late.
template <class R>
void drop_response(Signal* signal, DropCause /*cause*/) {
  auto* response = payload<Response<R>>(signal);
  core::drop_request(response->request);
  const bool answered = response->result.has_value();
  response->~Response<R>();
  if (answered) core::count_late_reply(type_name<R>());
}

template <class S, class R>
inline constexpr core::RequestOps kRequest = {
    {&hear_response<S, R>, &drop_response<R>, type_name<Response<R>>(), kPriority<S, Response<R>>,
     crossing_of<Response<R>>(&cross_message<Response<R>>)},
    &respond<R>};

template <class Requester, class R>
constexpr void check_requester() {
  constexpr bool handled = kAccepted<Requester, Response<R>>;
  static_assert(
      handled,
      "bulkhead: the answer to a request comes as a message: give the class of whoever makes it a "
      "public member function `receive(bulkhead::Response<R>)`, or have its Mailbox name that "
      "(both "
      "are named above: Requester, R)");
}

template <class S, class R, bool kGoesFirst, class M>
RequestRef request(Pid requester, Pid to, M& message, const SignalOps* ops, Timeout timeout) {
  if (!core::is_caller(requester, "request")) return RequestRef();
  core::Admission admission;
  if constexpr (kGoesFirst) {
    admission = prepare_first<M, Question<M>>(to, ops->priority);
  } else {
    admission = prepare<M, Question<M>>(to);
  }
  if (admission.signal != nullptr) {
    fill<M, Question<M>>(to, admission.signal, ops, core::ReplyTo{}, std::move(message));
  }
  Back<Question<M>> back{to, admission.signal};
  if (admission.signal != nullptr) back.made = payload<Question<M>>(admission.signal);
  using Room = ResponseRoom<R>;
  struct Response {
    Signal* signal;
    ~Response() {
      if (signal != nullptr) core::withdraw_later(signal);
    }
  } response{core::prepare_later(kSignalBytes<Room>, core::block_class(kSignalBytes<Room>),
                                 core::Stays::kAsItIs)};
  auto* pending = ::new (static_cast<void*>(&payload<Room>(response.signal)->pending))
      PendingRequest<R>{{&kRequest<S, R>, response.signal, requester, {}}, {}};
  const auto [waiter, opened] = core::open_request(*pending, timeout);
  response.signal = nullptr;
  const core::ReplyTo reply{waiter.slot, waiter.epoch, &pending->frame};
  if (admission.signal == nullptr) {
    core::fail_ask(reply, core::ask_error(core::refused(to, admission.why, ops)));
    return opened;
  }
  back.made->to = reply;
  back.signal = nullptr;
  if constexpr (kGoesFirst) {
    core::commit_first(to, admission.signal, ops);
  } else {
    core::commit(to, admission.signal, ops);
  }
  return opened;
}

}  // namespace handler

namespace this_actor {

/// Asks, and goes on at once: what the receiver sees is an ask like any other, and the answer comes
/// as a message Response<R>, exactly one: after what the replier has sent before it, and whether or
/// not a bounded mailbox has room. So does, when there is no answer, the reason, which may be any
/// of an ask, but for kSelf: an actor may request something of itself. It is kTimedOut when
/// `timeout` has passed; a reply that comes later is refused to the replier, as it is when the
/// requester has ended. When the request cannot be sent, the response says so as well. In an
/// actor's own destructor nothing is sent, and RequestRef() returned.
/// For an actor of class S, to be called by itself alone: S has `receive(bulkhead::Response<R>)`.
/// Throws std::logic_error elsewhere, std::bad_alloc, CapacityError on a stage whose timers are all
/// in use, each of which a pending request counts as.
template <class S, class A, class M>
RequestRef request(const Address<S>& self, const Address<A>& to, M message,
                   Timeout timeout = kDefaultAskTimeout) {
  check_sendable<M>();
  handler::check_handled<A, M>();
  if constexpr (handler::kAccepted<A, M>) {
    using R = handler::Answer<A, M>;
    check_reply<R>();
    check_sendable<Response<R>>();
    handler::check_requester<S, R>();
    if constexpr (handler::kAccepted<S, Response<R>>) {
      return handler::request<S, R, handler::kFirst<A, M>>(self.pid(), to.pid(), message,
                                                           &handler::kAsk<A, M>, timeout);
    }
  }
  return RequestRef();  // never: it has not compiled
}
/// The same in members: `this_actor::request(this, ...)`.
template <class S, class A, class M>
RequestRef request(const S* self, const Address<A>& to, M message,
                   Timeout timeout = kDefaultAskTimeout) {
  return request(address(self), to, std::move(message), timeout);
}

}  // namespace this_actor

}  // namespace bulkhead
