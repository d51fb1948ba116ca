/// ServerRef: how a server is called.
#pragma once

#include <concepts>
#include <expected>
#include <memory>
#include <type_traits>
#include <utility>

#include "bulkhead/address.hpp"
#include "bulkhead/channel.hpp"
#include "bulkhead/otp/call.hpp"
#include "bulkhead/otp/request.hpp"
#include "bulkhead/otp/system.hpp"

namespace bulkhead {

namespace otp {

// --- which handlers a server has ---

struct AnyFrom {
  template <class R>
  operator From<R>() const noexcept;  // NOLINT: only ever named
};

/// `handle_call(M)`, returning the answer.
template <class S, class M>
concept Answers = requires(S& server, M&& message) {
  server.handle_call(std::move(message));
};
/// `handle_call(M, From<R>)` for some R; for R = M::Answer.
template <class S, class M>
concept TakesSomeFrom = requires(S& server, M&& message) {
  server.handle_call(std::move(message), AnyFrom{});
};
template <class S, class M>
concept TakesItsFrom = handler::HasAnswer<M> &&
    requires(S& server, M&& message, From<typename M::Answer> from) {
  server.handle_call(std::move(message), std::move(from));
};
template <class S, class M>
concept HandlesCast = requires(S& server, M&& message) {
  server.handle_cast(std::move(message));
};
template <class S, class M>
concept HandlesInfo = requires(S& server, M&& message) {
  server.handle_info(std::move(message));
};

template <class S, class M>
struct CallAnswer {
  using type = typename M::Answer;
};
template <class S, class M>
  requires Answers<S, M>
struct CallAnswer<S, M> {
  using type = std::decay_t<decltype(std::declval<S&>().handle_call(std::declval<M&&>()))>;
};

template <class S, class M>
inline constexpr bool kCalled = Answers<S, M> || TakesItsFrom<S, M>;

// As actors, so that one rule refuses numbers that a handler cannot hold.
template <class S>
struct Calls {
  template <class M>
  auto receive(M&& message) -> decltype(std::declval<S&>().handle_call(std::forward<M>(message)));
};
template <class S>
struct Casts {
  template <class M>
  auto receive(M&& message) -> decltype(std::declval<S&>().handle_cast(std::forward<M>(message)));
};
template <class S>
struct Infos {
  template <class M>
  auto receive(M&& message) -> decltype(std::declval<S&>().handle_info(std::forward<M>(message)));
};

template <class Server, class Message>
constexpr void check_call() {
  constexpr bool handled = Answers<Server, Message> || TakesSomeFrom<Server, Message>;
  static_assert(handled,
                "bulkhead: this server has no handler for this call: give the class a public "
                "member function `handle_call` that takes it by value, const& or &&, alone or with "
                "a From (both are named above: Server, Message)");
  static_assert(!handler::kNarrowed<Calls<Server>, Message>,
                "bulkhead: the handler for this call takes a number that cannot hold all of its "
                "values: call with exactly what `handle_call` takes (Message above)");
  constexpr bool known = Answers<Server, Message> || handler::HasAnswer<Message>;
  static_assert(!handled || known,
                "bulkhead: the handler for this call takes a From, so the message must say what it "
                "is answered with: `using Answer = ...;` in the message's class (Message above)");
  static_assert(!handled || !known || kCalled<Server, Message>,
                "bulkhead: the handler for this call takes a From of another type than what the "
                "message is answered with: take a From<Message::Answer> (Message above)");
}
template <class Server, class Message>
constexpr void check_cast() {
  static_assert(HandlesCast<Server, Message>,
                "bulkhead: this server has no handler for this cast: give the class a public "
                "member function `handle_cast` that takes it by value, const& or && (both are "
                "named above: Server, Message)");
  static_assert(!handler::kNarrowed<Casts<Server>, Message>,
                "bulkhead: the handler for this cast takes a number that cannot hold all of its "
                "values: send exactly what `handle_cast` takes (Message above)");
}
template <class Server, class Message>
constexpr void check_info() {
  static_assert(HandlesInfo<Server, Message>,
                "bulkhead: this server has no handler for this info: give the class a public "
                "member function `handle_info` that takes it by value, const& or && (both are "
                "named above: Server, Message)");
  static_assert(!handler::kNarrowed<Infos<Server>, Message>,
                "bulkhead: the handler for this info takes a number that cannot hold all of its "
                "values: send exactly what `handle_info` takes (Message above)");
}

// --- what is sent ---

template <class S, class M>
struct Call {
  using Answer = typename CallAnswer<S, M>::type;
  M message;
};
template <class S, class M>
struct Later {
  M message;
  Promise<typename CallAnswer<S, M>::type> promise;
};
template <class S, class M>
struct Cast {
  M message;
};

template <class S>
class Server;

/// Ends a server in order when the last of its handles goes.
class Owned {
 public:
  explicit Owned(Pid server) noexcept : server_(server) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { static_cast<void>(bulkhead::stop(server_)); }

 private:
  Pid server_;
};

[[nodiscard]] CallResult<void> stop_server(std::expected<void, AskError> answer, const Exit& why,
                                           const Exit& reason);

}  // namespace otp

/// A handle of a server of class S, to be copied, kept and sent at will. Any thread. Calls and
/// casts of one caller are handled in the order sent. One that is default-constructed stands for
/// nobody.
template <class S>
class ServerRef {
 public:
  using Server = S;

  ServerRef() = default;
  /// The caller answers for the server's class.
  explicit ServerRef(Pid pid) noexcept : address_(pid) {}

  [[nodiscard]] Pid pid() const noexcept { return address_.pid(); }
  /// Where infos are sent, by timers too: what is sent there is handled by `handle_info`.
  [[nodiscard]] Address<otp::Server<S>> address() const noexcept { return address_; }
  explicit operator bool() const noexcept { return static_cast<bool>(address_); }

  /// Calls, and waits for the answer. In an actor only the actor waits. A call that has timed out
  /// is handled all the same, and its answer dropped. Throws as Address::ask.
  template <class M>
  [[nodiscard]] auto call(M message, Timeout timeout = kDefaultAskTimeout) const {
    otp::check_call<S, M>();
    check_sendable<M>();
    if constexpr (otp::kCalled<S, M>) {
      return otp::ask(address_, otp::Call<S, M>{std::move(message)}, timeout);
    }
  }

  /// Sends a message that is not answered. Never waits. The result says whether it is on its way.
  template <class M>
  Delivery cast(M message) const {
    otp::check_cast<S, M>();
    check_sendable<M>();
    if constexpr (otp::HandlesCast<S, M>) {
      return address_.send(otp::Cast<S, M>{std::move(message)});
    } else {
      return Delivery::kGone;  // never: it has not compiled
    }
  }

  /// Sends a message of the world outside, which goes before calls and casts.
  template <class M>
  Delivery info(M message) const {
    otp::check_info<S, M>();
    return address_.send(std::move(message));
  }

  /// Calls, and goes on; the answer is fetched later. Throws std::bad_alloc. When nothing can be
  /// sent the request is answered with that.
  template <class M>
  [[nodiscard]] auto send_request(M message) const {
    otp::check_call<S, M>();
    check_sendable<M>();
    if constexpr (otp::kCalled<S, M>) {
      using R = typename otp::CallAnswer<S, M>::type;
      check_reply<R>();
      auto [sender, receiver] = make_channel<CallResult<R>>(1);
      otp::Later<S, M> later{std::move(message), otp::Promise<R>(std::move(sender))};
      if (core::is_self(pid())) {
        later.promise.answer(std::unexpected(CallError{AskError::kSelf}));
      } else if (const Delivery sent = address_.try_send(later); sent != Delivery::kQueued) {
        const Exit why = sent == Delivery::kGone ? Exit::no_actor() : Exit();
        later.promise.answer(std::unexpected(CallError{core::ask_error(sent), why}));
      }
      return Request<R>(std::move(receiver));
    }
  }

  /// Ends it for that reason, behind other system messages and ahead of what waits, and waits until
  /// it has ended. Fails with kDied when it ended for another reason; kGone; kTimedOut: it will end
  /// all the same.
  CallResult<void> stop(Exit reason = Exit::normal(), Timeout timeout = kForever) const {
    Exit why;
    auto answer = address_.ask(otp::StopSystem{reason}, timeout, &why);
    return otp::stop_server(std::move(answer), why, reason);
  }

  /// For start_server: one that ends the server when it, and all copies of it, are gone.
  [[nodiscard]] static ServerRef owner_of(Pid pid) {
    ServerRef ref(pid);
    ref.owned_ = std::make_shared<const otp::Owned>(pid);
    return ref;
  }

  friend bool operator==(const ServerRef& a, const ServerRef& b) noexcept {
    return a.address_ == b.address_;
  }

 private:
  Address<otp::Server<S>> address_;
  std::shared_ptr<const otp::Owned> owned_;
};

}  // namespace bulkhead
