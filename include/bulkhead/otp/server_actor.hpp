/// The actor around a GenServer. Users derive from GenServer; the rest is otp's.
#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bulkhead/links.hpp"
#include "bulkhead/log.hpp"
#include "bulkhead/otp/hooks.hpp"
#include "bulkhead/otp/server_ref.hpp"
#include "bulkhead/otp/system.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/unwind.hpp"

namespace bulkhead {

/// What a server's init comes to.
class InitResult {
 public:
  enum class Kind : std::uint8_t { kOk, kContinue, kIgnore, kStop, kError };

  [[nodiscard]] static InitResult ok() noexcept { return InitResult(Kind::kOk); }
  /// Then runs handle_continue() before any message.
  [[nodiscard]] static InitResult ok_continue() noexcept { return InitResult(Kind::kContinue); }
  /// It wants to be left out: it ends normally, and its start fails with kIgnored.
  [[nodiscard]] static InitResult ignore() noexcept { return InitResult(Kind::kIgnore); }
  /// It ends for that reason, with which its start fails.
  [[nodiscard]] static InitResult stop(Exit reason) noexcept {
    return InitResult(Kind::kStop, std::move(reason));
  }
  /// Its start fails with that reason; it ends normally, so that nobody takes it for a failure.
  [[nodiscard]] static InitResult error(Exit reason) noexcept {
    return InitResult(Kind::kError, std::move(reason));
  }

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const Exit& reason() const noexcept { return reason_; }

 private:
  explicit InitResult(Kind kind, Exit reason = {}) noexcept
      : kind_(kind), reason_(std::move(reason)) {}

  Kind kind_;
  Exit reason_;
};

/// The base of servers. A server's class has, each public, those of these functions that it needs:
///
///     InitResult init();  or  void init();    // before all else, in the server; may fail
///     R handle_call(M);                       // its result is the answer
///     void handle_call(M, From<M::Answer>);   // answers by the From, now or later
///     void handle_cast(M);
///     void handle_info(M);                    // what is sent to its address; Down and Exited too
///     void handle_continue();                 // see continue_later
///     void handle_timeout();                  // see idle_after
///     void terminate(const Exit& reason);     // when it ends, once: see docs/guide/servers.md
///     std::string format_status() const;      // its state as text, for reports, without secrets
///     void report(std::string_view text);     // where its reports go; default: the log
///
/// One of them that cannot be called, since it is not public, or takes or returns something else,
/// does not compile. Handlers run one at a time, and may block. An exception that leaves one ends
/// the server. Down and Exited are handled first, then system messages, then infos, then calls and
/// casts, in order.
class GenServer : public otp::Hooks {
 public:
  void handle_continue(otp::NoHook) const;

 protected:
  GenServer() = default;
  GenServer(const GenServer&) = default;
  GenServer& operator=(const GenServer&) = default;
  ~GenServer() = default;

  /// Ends the server when the handler has returned, and answered. The first reason stands.
  void stop(Exit reason = Exit::normal());
  /// Has handle_continue() run when the handler has returned, before any message that waits.
  void continue_later() noexcept { continues_ = true; }
  /// Has handle_timeout() run when no message has come for so long; once for each such time. Until
  /// it is set anew; kForever: never.
  void idle_after(Timeout time) noexcept { idle_ = time; }

 private:
  template <class>
  friend class otp::Server;

  Timeout idle_ = kForever;
  bool continues_ = false;
  bool stops_ = false;
};

namespace otp {

/// The first message of a server's life.
struct Init {
  struct Done;
  using Answer = Done;
  bool linked;
  std::optional<std::string> name;
};
struct Init::Done {
  InitResult::Kind kind;
  Exit exit;
  Pid name_holder = {};  // who has the name that it was to have
};
using InitDone = Init::Done;

/// Gives the calling actor that name; else says who has it, or why not.
[[nodiscard]] std::expected<void, InitDone> take_name(const std::string& name);
[[noreturn]] void refuse_to_continue(std::string_view server);
[[noreturn]] void refuse_to_be_idle(std::string_view server);
/// The text of a report on a server that got something it does not know.
[[nodiscard]] std::string unknown_report(std::string_view server, const Down& down);
[[nodiscard]] std::string unknown_report(std::string_view server, const Exited& exited);
[[nodiscard]] std::string failure_report(std::string_view server, std::string_view function,
                                         std::exception_ptr failure);
/// What came of a function that failed.
[[nodiscard]] std::string failed_status(std::exception_ptr failure);

/// Of servers that have an idle time.
template <class Actor>
struct Idle {
  Timeout receive_timeout() const { return static_cast<const Actor*>(this)->idle(); }
};
struct NoIdle {};

// What is no user's message.
template <class M>
inline constexpr bool kIsOurs =
    kIsSystem<M> || std::is_same_v<M, Init> || std::is_same_v<M, Down> ||
    std::is_same_v<M, Exited> || std::is_same_v<M, ReceiveTimeout>;
template <class S, class M>
inline constexpr bool kIsOurs<Call<S, M>> = true;
template <class S, class M>
inline constexpr bool kIsOurs<Later<S, M>> = true;
template <class S, class M>
inline constexpr bool kIsOurs<Cast<S, M>> = true;

template <class S, class M>
constexpr bool is_info() {
  if constexpr (kIsOurs<M>) {
    return false;
  } else {
    return HandlesInfo<S, M>;
  }
}
template <class S, class M>
inline constexpr bool kIsInfo = is_info<S, M>();

template <class S>
class Server final : public System<Server<S>>,
                     private FromKeeper,
                     public std::conditional_t<HasTimeout<S>, Idle<Server<S>>, NoIdle> {
  using Base = System<Server<S>>;
  using Event = ServerEvent::Kind;

 public:
  template <class M>
  static constexpr Priority kPriority =
      std::is_same_v<M, Down> || std::is_same_v<M, Exited> ? Priority::kSignal
      : kIsSystem<M>                                       ? Priority::kSystem
      : kIsInfo<S, M>                                      ? Priority::kInfo
                                                           : Priority::kOrdinary;

  template <class... Args>
    requires std::is_constructible_v<S, Args...>
  explicit Server(Args&&... args) : server_(std::forward<Args>(args)...) {
    check_server_hooks<S>();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (begun_) end();
  }

  using Base::receive;

  void receive(Init begin, Reply<InitDone> reply) {
    if (begin.linked) parent_ = this_actor::parent();
    if (begin.name) {
      if (auto named = take_name(*begin.name); !named) {
        refuse(InitResult::ignore());
        return static_cast<void>(reply(std::move(named.error())));
      }
    }
    core::noticing([&] { begin_by(init(), reply); }, [&](core::Leaves) { has_not_begun(reply); });
    go_on();
  }

  template <class M>
  void receive(Call<S, M> call, Reply<typename Call<S, M>::Answer> reply) {
    this->note(Event::kCall, type_name<M>());
    answer<M>(std::move(call.message), std::move(reply));
  }
  template <class M>
  void receive(Later<S, M> later) {
    this->note(Event::kCall, type_name<M>());
    answer<M>(std::move(later.message), std::move(later.promise));
  }
  template <class M>
    requires HandlesCast<S, M>
  void receive(Cast<S, M> cast) {
    this->note(Event::kCast, type_name<M>());
    server_.handle_cast(std::move(cast.message));
    go_on();
  }
  template <class M>
    requires kIsInfo<S, M>
  void receive(M message) {
    this->note(Event::kInfo, type_name<M>());
    server_.handle_info(std::move(message));
    go_on();
  }
  void receive(Down down) { signal(std::move(down)); }
  void receive(Exited exited) {
    if (parent_ && exited.actor == parent_) return server_.stop(std::move(exited.exit));
    signal(std::move(exited));
  }
  void receive(ReceiveTimeout /*message*/) requires HasTimeout<S> {
    this->note(Event::kTimeout, "timeout");
    server_.handle_timeout();
    go_on();
  }
  template <class F, class R>
  std::expected<R, Exit> receive(Look<F, R> look) {
    ++this->statistics_.system;
    try {
      return look.function(std::as_const(server_));
    } catch (const Unwind&) {
      throw;
    } catch (...) {
      return std::unexpected(Exit::panic(std::current_exception()));
    }
  }
  template <class F>
  std::expected<void, Exit> receive(Replace<F> replace) {
    ++this->statistics_.system;
    try {
      S changed(server_);
      replace.function(changed);
      server_ = std::move(changed);
      return {};
    } catch (const Unwind&) {
      throw;
    } catch (...) {
      return std::unexpected(Exit::panic(std::current_exception()));
    }
  }

  [[nodiscard]] Timeout idle() const noexcept { return server_.idle_; }

  // --- for System ---
  [[nodiscard]] bool ends_system() const noexcept { return server_.stops_; }
  [[nodiscard]] Pid system_parent() const noexcept { return parent_; }
  [[nodiscard]] std::string system_status() const {
    if constexpr (HasStatus<S>) {
      try {
        return server_.format_status();
      } catch (const Unwind&) {
        throw;
      } catch (...) {
        return failed_status(std::current_exception());
      }
    } else {
      return std::string(type_name<S>());
    }
  }
  void end_system(const Exit& reason) { server_.stop(reason); }

 private:
  InitResult init() {
    if constexpr (!HasInit<S>) {
      return InitResult::ok();
    } else if constexpr (std::is_void_v<decltype(server_.init())>) {
      server_.init();
      return InitResult::ok();
    } else {
      return server_.init();
    }
  }
  void begin_by(const InitResult& result, Reply<InitDone>& reply) {
    using Kind = InitResult::Kind;
    self_ = this_actor::pid();
    begun_ = result.kind() == Kind::kOk || result.kind() == Kind::kContinue;
    if (!begun_) refuse(result);
    reply(InitDone{result.kind(), result.reason()});
    server_.continues_ |= result.kind() == Kind::kContinue;
  }
  // The starter is told by the answer, and by nothing else.
  void let_go_of_parent() {
    if (parent_) this_actor::unlink(parent_);
  }
  // In a catch block.
  void has_not_begun(Reply<InitDone>& reply) {
    begun_ = false;
    let_go_of_parent();
    reply.fail_by_exception();
  }
  void refuse(const InitResult& result) {
    let_go_of_parent();
    server_.stop(result.kind() == InitResult::Kind::kStop ? result.reason() : Exit::normal());
  }

  // To is Reply or Promise.
  template <class M, class To>
  void answer(M message, To to) {
    using R = typename CallAnswer<S, M>::type;
    From<R> from(std::move(to), self_, this);
    if constexpr (!Answers<S, M>) {
      server_.handle_call(std::move(message), std::move(from));
    } else if constexpr (std::is_void_v<R>) {
      server_.handle_call(std::move(message));
      this->note(Event::kReply, "void");
      from.reply();
    } else {
      R value = server_.handle_call(std::move(message));
      this->note(Event::kReply, type_name<R>());
      from.reply(std::move(value));
    }
    go_on();
  }

  template <class M>
  void signal(M message) {
    this->note(Event::kInfo, type_name<M>());
    if constexpr (HandlesInfo<S, M>) {
      server_.handle_info(std::move(message));
    } else {
      report(unknown_report(type_name<S>(), message));
    }
    go_on();
  }

  // After each handler that has returned.
  void go_on() {
    while (server_.continues_ && !server_.stops_) {
      server_.continues_ = false;
      if constexpr (HasContinue<S>) {
        this->note(Event::kContinue, "continue");
        server_.handle_continue();
      } else {
        refuse_to_continue(type_name<S>());
      }
    }
    if constexpr (!HasTimeout<S>) {
      if (!server_.idle_.is_forever()) [[unlikely]]
        refuse_to_be_idle(type_name<S>());
    }
    if (!kept_.empty() && !server_.stops_) [[unlikely]]
      kept_.clear();  // an exception that was caught
  }

  [[nodiscard]] bool keeps() const noexcept override {
    return server_.stops_ || std::uncaught_exceptions() > 0;
  }
  void keep(std::unique_ptr<Kept> question) noexcept override try {
    kept_.push_back(std::move(question));
  } catch (...) {  // its caller is told at once
  }

  // In the context of the actor that ends, when nobody reaches it any more.
  void end() noexcept {
    const Exit exit = this_actor::exit_reason().value_or(Exit::normal());
    if (exit.kind() != Exit::Kind::kKilled) terminate(exit);
    if (!crash_is_reported()) return;
    try {
      describe_crash(HasStatus<S> ? system_status() : std::string(), to_string(this->last()));
    } catch (...) {  // the report goes without
    }
  }
  void terminate(const Exit& exit) noexcept {
    try {
      server_.terminate(exit);
    } catch (...) {
      report_failure("terminate", std::current_exception());
    }
  }
  void report_failure(std::string_view function, std::exception_ptr failure) noexcept try {
    report(failure_report(type_name<S>(), function, std::move(failure)));
  } catch (...) {  // no memory for it
  }
  void report(const std::string& text) noexcept try {
    server_.report(text);
  } catch (...) {  // nowhere to say it
  }

  std::vector<std::unique_ptr<Kept>> kept_;
  Pid self_;
  Pid parent_;
  bool begun_ = false;
  S server_;
};

}  // namespace otp
}  // namespace bulkhead
