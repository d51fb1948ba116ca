/// What a call to a server comes to, and how its answer is given.
#pragma once

#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bulkhead/address.hpp"
#include "bulkhead/ask.hpp"
#include "bulkhead/channel.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"

namespace bulkhead {

/// Why a call failed. `exit` says more when the server has ended (kDied: for that reason; kGone:
/// Exit::no_actor()), and when what it was to do for a system message has failed (kNoReply).
struct CallError {
  AskError error;
  Exit exit = {};
  friend bool operator==(const CallError& a, AskError b) noexcept { return a.error == b; }
  friend bool operator==(const CallError&, const CallError&) = default;
};
[[nodiscard]] std::string to_string(const CallError& error);

template <class R>
using CallResult = std::expected<R, CallError>;

template <class R>
class From;

namespace otp {

/// An ask whose failure says the exit.
template <class A, class M>
[[nodiscard]] CallResult<handler::Answer<A, M>> ask(Address<A> server, M message, Timeout timeout) {
  Exit why;
  auto answer = server.ask(std::move(message), timeout, &why);
  if (!answer) [[unlikely]]
    return std::unexpected(CallError{answer.error(), std::move(why)});
  if constexpr (std::is_void_v<handler::Answer<A, M>>) {
    return {};
  } else {
    return *std::move(answer);
  }
}

/// The other end of a Request: answers it once, or, let go unused, says why not.
template <class R>
class Promise {
 public:
  Promise() = default;
  explicit Promise(Sender<CallResult<R>> sender) noexcept : sender_(std::move(sender)) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    if (this != &other) {
      let_go();
      sender_ = std::exchange(other.sender_, {});
    }
    return *this;
  }
  ~Promise() { let_go(); }

  /// False when nobody waits for it any more.
  bool answer(CallResult<R> result) {
    const Sender<CallResult<R>> sender = std::exchange(sender_, {});
    return sender && sender.try_send(result).has_value();
  }
  explicit operator bool() const noexcept { return static_cast<bool>(sender_); }

 private:
  void let_go() noexcept;

  Sender<CallResult<R>> sender_;
};

/// Of a promise that is let go: the reason of the actor that ends, if one does.
[[nodiscard]] CallError why_let_go() noexcept;

template <class R>
void Promise<R>::let_go() noexcept {
  if (!sender_) return;
  try {
    static_cast<void>(answer(std::unexpected(why_let_go())));
  } catch (...) {  // no memory to say it: who waits finds the channel closed
  }
}

/// A question that a handler has let go of by an exception, or as it stopped: its asker is told
/// when the server has ended.
struct Kept {
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  virtual ~Kept() = default;
};

/// What a From knows of its server.
class FromKeeper {
 public:
  /// In the server, in mid-handler: is what is let go to be kept?
  [[nodiscard]] virtual bool keeps() const noexcept = 0;
  virtual void keep(std::unique_ptr<Kept> question) noexcept = 0;

 protected:
  ~FromKeeper() = default;
};

/// Does the calling code run in this server, and would it keep a question that is let go now?
[[nodiscard]] bool keeps_for(Pid server, const FromKeeper* keeper) noexcept;

}  // namespace otp

/// Who has called, and waits for the answer. A server's handler that takes one as its second
/// parameter answers by it, now or later: it may be kept, moved into a message, and used from
/// anywhere, once. One that is let go unused fails the call.
template <class R>
class From {
 public:
  From(Reply<R> reply, Pid server, otp::FromKeeper* keeper) noexcept
      : reply_(std::move(reply)), server_(server), keeper_(keeper) {}
  From(otp::Promise<R> promise, Pid server, otp::FromKeeper* keeper) noexcept
      : promise_(std::move(promise)), server_(server), keeper_(keeper) {}
  From(From&&) noexcept = default;
  From& operator=(From&& other) noexcept {
    if (this != &other) {
      let_go();
      reply_ = std::move(other.reply_);
      promise_ = std::move(other.promise_);
      server_ = other.server_;
      keeper_ = other.keeper_;
    }
    return *this;
  }
  ~From() { let_go(); }

  /// Answers. False when the caller has given up meanwhile, or this From was used or moved from.
  template <class... Args>
    requires(std::is_void_v<R> ? sizeof...(Args) == 0 : std::is_constructible_v<R, Args...>)
  bool reply(Args&&... args) {
    if (reply_) return reply_(std::forward<Args>(args)...);
    if (!promise_) return false;
    if constexpr (std::is_void_v<R>) {
      return promise_.answer({});
    } else {
      return promise_.answer(R(std::forward<Args>(args)...));
    }
  }

  /// Is somebody still to be answered?
  [[nodiscard]] explicit operator bool() const noexcept { return reply_ || promise_; }

 private:
  struct Unanswered final : otp::Kept {
    Unanswered(Reply<R> r, otp::Promise<R> p) noexcept
        : reply(std::move(r)), promise(std::move(p)) {}
    Reply<R> reply;
    otp::Promise<R> promise;
  };

  void let_go() noexcept {
    if (!*this || !otp::keeps_for(server_, keeper_)) return;
    try {
      keeper_->keep(std::make_unique<Unanswered>(std::move(reply_), std::move(promise_)));
    } catch (const std::bad_alloc&) {  // its caller is told at once
    }
  }

  Reply<R> reply_{core::ReplyTo{}};
  otp::Promise<R> promise_;
  Pid server_;
  otp::FromKeeper* keeper_;
};

}  // namespace bulkhead
