/// Hooks: the functions of a server's class that run when something happens to it. One that cannot
/// be called as its hook does not compile.
///
/// A class that has no function of a hook's name finds the one of its base here, which takes a
/// NoHook. Any function of that name hides it, also one that is private, or is to be called in
/// another way: so that is noticed.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/exit.hpp"
#include "bulkhead/links.hpp"

namespace bulkhead {

/// What a server's init comes to: server_actor.hpp.
class InitResult;

namespace otp {

/// To the log.
void print_report(std::string_view text);

struct NoHook {};

/// The hooks of servers and state machines.
struct Hooks {
  void init(NoHook) const;  // never defined
  void handle_timeout(NoHook) const;
  void format_status(NoHook) const;
  void terminate(const Exit& /*reason*/) {}
  void report(std::string_view text) const { print_report(text); }
};

// --- what a class has, and can be called ---

template <class S>
concept HasInit = requires(S& server) {
  server.init();
};
template <class S>
concept HasContinue = requires(S& server) {
  server.handle_continue();
};
template <class S>
concept HasTimeout = requires(S& server) {
  server.handle_timeout();
};
template <class S>
concept HasNamedTimeout = requires(S& machine, std::string_view name) {
  machine.handle_timeout(name);
};
template <class S>
concept HasStateTimeout = requires(S& machine) {
  machine.handle_state_timeout();
};
template <class S, class E>
concept HasInternal = requires(S& machine, const E& event) {
  machine.handle_internal(event);
};
template <class S, class State>
concept HasEnter = requires(S& machine, const State& before) {
  machine.enter(before);
};
template <class S>
concept HasStatus = requires(const S& server) {
  { server.format_status() } -> std::convertible_to<std::string>;
};
template <class S>
concept HasTerminate = requires(S& server, const Exit& reason) {
  server.terminate(reason);
};
template <class S>
concept HasReport = requires(S& server, std::string_view text) {
  server.report(text);
};

// --- and what it has not ---

template <class S>
concept LacksInit = requires(S& server) {
  server.init(NoHook());
};
template <class S>
concept LacksContinue = requires(S& server) {
  server.handle_continue(NoHook());
};
template <class S>
concept LacksTimeout = requires(S& server) {
  server.handle_timeout(NoHook());
};
template <class S>
concept LacksStateTimeout = requires(S& machine) {
  machine.handle_state_timeout(NoHook());
};
template <class S>
concept LacksEnter = requires(S& machine) {
  machine.enter(NoHook());
};
template <class S>
concept LacksStatus = requires(const S& server) {
  server.format_status(NoHook());
};

template <class S>
constexpr bool init_returns_what_it_may() {
  if constexpr (HasInit<S>) {
    using R = decltype(std::declval<S&>().init());
    return std::is_void_v<R> || std::is_convertible_v<R, InitResult>;
  } else {
    return true;
  }
}

// --- handle_info: several functions, of which each is to be public ---

struct HasInfo {
  int handle_info;
};
template <class S, class Other>
struct BesideInfo : S, Other {};
template <class S>
concept NamesInfo = !std::is_final_v<S> && !requires {
  &BesideInfo<S, HasInfo>::handle_info;
};

/// Does not compile when a handle_info of the class is private.
template <class S>
struct EachInfoMustBePublic : S {
  using S::handle_info;
};
/// Is a handle_info meant for it that is protected, or takes it in a way that it is not given?
template <class S, class M>
constexpr bool misses_info() {
  if constexpr (requires(S & server, M && message) { server.handle_info(std::move(message)); }) {
    return false;
  } else if constexpr (!NamesInfo<S>) {
    return requires(S & server, M & message) { server.handle_info(message); };
  } else {
    using Exposed = EachInfoMustBePublic<S>;
    return requires(Exposed & server, M & message) { server.handle_info(message); }
    || requires(Exposed & server, M && message) { server.handle_info(std::move(message)); };
  }
}

// --- the checks ---

/// Of servers and state machines.
template <class Server>
constexpr void check_common_hooks() {
  static_assert(HasInit<Server> || LacksInit<Server>,
                "bulkhead: init() of this class (Server above) cannot be called: make it public, "
                "`void init()` or `InitResult init()`; or, if it is not what runs first in the "
                "server, give it another name");
  static_assert(init_returns_what_it_may<Server>(),
                "bulkhead: init() of this class (Server above) returns what means nothing: make it "
                "`void init()` or `InitResult init()`");
  static_assert(HasTerminate<Server>,
                "bulkhead: terminate of this class (Server above) cannot be called: make it "
                "public, `void terminate(const Exit& reason)`");
  static_assert(HasStatus<Server> || LacksStatus<Server>,
                "bulkhead: format_status() of this class (Server above) cannot be called: make it "
                "public, and const, `std::string format_status() const`");
  static_assert(HasReport<Server>,
                "bulkhead: report of this class (Server above) cannot be called: make it public, "
                "`void report(std::string_view text)`");
  static_assert(!misses_info<Server, Down>() && !misses_info<Server, Exited>(),
                "bulkhead: handle_info of this class (Server above) cannot be called with a Down, "
                "or an Exited: make it public, and have it take that by value, const& or &&");
}

template <class Server>
constexpr void check_server_hooks() {
  check_common_hooks<Server>();
  static_assert(HasContinue<Server> || LacksContinue<Server>,
                "bulkhead: handle_continue() of this class (Server above) cannot be called: make "
                "it public, `void handle_continue()`");
  static_assert(HasTimeout<Server> || LacksTimeout<Server>,
                "bulkhead: handle_timeout() of this class (Server above) cannot be called: make it "
                "public, `void handle_timeout()`");
}

template <class Machine, class State>
constexpr void check_machine_hooks() {
  check_common_hooks<Machine>();
  static_assert(HasEnter<Machine, State> || LacksEnter<Machine>,
                "bulkhead: enter of this class (Machine above) cannot be called: make it public, "
                "`void enter(const State& before)`");
  static_assert(HasStateTimeout<Machine> || LacksStateTimeout<Machine>,
                "bulkhead: handle_state_timeout() of this class (Machine above) cannot be called: "
                "make it public, `void handle_state_timeout()`");
  static_assert(HasNamedTimeout<Machine> || LacksTimeout<Machine>,
                "bulkhead: handle_timeout of this class (Machine above) cannot be called: make it "
                "public, `void handle_timeout(std::string_view name)`");
}

}  // namespace otp
}  // namespace bulkhead
