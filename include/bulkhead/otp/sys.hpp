/// sys: looking into servers and supervisors while they run. These functions are answered ahead of
/// whatever waits in a mailbox, and also by one that is suspended; but not in the middle of a
/// handler. Any actor or thread calls them, and waits.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bulkhead/otp/gen_server.hpp"
#include "bulkhead/otp/supervisor.hpp"

namespace bulkhead::sys {

namespace detail {

// A function that has failed has not ended the server.
template <class R>
[[nodiscard]] CallResult<R> flat(CallResult<std::expected<R, Exit>> result) {
  if (!result) return std::unexpected(std::move(result.error()));
  if (!*result) return std::unexpected(CallError{AskError::kNoReply, std::move(result->error())});
  if constexpr (std::is_void_v<R>) {
    return {};
  } else {
    return **std::move(result);
  }
}

}  // namespace detail

/// From now on it handles nothing but these functions, until resume. What is sent to it meanwhile
/// waits. Without effect on one that is suspended.
template <class S>
CallResult<void> suspend(const ServerRef<S>& server, Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::Suspend{}, timeout);
}
CallResult<void> suspend(SupervisorRef supervisor, Timeout timeout = kDefaultAskTimeout);
template <class S>
CallResult<void> resume(const ServerRef<S>& server, Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::Resume{}, timeout);
}
CallResult<void> resume(SupervisorRef supervisor, Timeout timeout = kDefaultAskTimeout);

/// What `look(const S&)` returns, which is run in the server. What it throws is the error's exit.
template <class S, class F>
  requires std::is_invocable_v<F&, const S&>
[[nodiscard]] auto get_state(const ServerRef<S>& server, F look,
                             Timeout timeout = kDefaultAskTimeout) {
  using R = std::decay_t<std::invoke_result_t<F&, const S&>>;
  return detail::flat<R>(otp::ask(server.address(), otp::Look<F, R>{std::move(look)}, timeout));
}
/// A copy of the server.
template <class S>
  requires std::is_copy_constructible_v<S>
[[nodiscard]] CallResult<S> get_state(const ServerRef<S>& server,
                                      Timeout timeout = kDefaultAskTimeout) {
  return get_state(
      server, [](const S& state) { return S(state); }, timeout);
}
/// A supervisor's children.
[[nodiscard]] CallResult<std::vector<ChildInfo>> get_state(SupervisorRef supervisor,
                                                           Timeout timeout = kDefaultAskTimeout);

/// Runs `change(S&)` on a copy, in the server, and makes that its state; what it throws is the
/// error's exit, and the state stays. S must be copyable.
template <class S, class F>
  requires std::is_invocable_v<F&, S&> CallResult<void> replace_state(
      const ServerRef<S>& server, F change, Timeout timeout = kDefaultAskTimeout) {
    static_assert(std::is_copy_constructible_v<S> && std::is_copy_assignable_v<S>,
                  "bulkhead: replace_state changes a copy of the server, so its class must be one "
                  "that can be copied");
    return detail::flat<void>(
        otp::ask(server.address(), otp::Replace<F>{std::move(change)}, timeout));
  }

/// Its state as text: what its format_status() returns, or that this has failed; without one, the
/// name of its class. Of a supervisor: its strategy, and how many children it has.
template <class S>
[[nodiscard]] CallResult<std::string> get_status(const ServerRef<S>& server,
                                                 Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::GetStatus{}, timeout);
}
[[nodiscard]] CallResult<std::string> get_status(SupervisorRef supervisor,
                                                 Timeout timeout = kDefaultAskTimeout);

template <class S>
[[nodiscard]] CallResult<ServerStatistics> statistics(const ServerRef<S>& server,
                                                      Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::GetStatistics{}, timeout);
}
[[nodiscard]] CallResult<ServerStatistics> statistics(SupervisorRef supervisor,
                                                      Timeout timeout = kDefaultAskTimeout);

/// Has `sink` called, in the server, with what it handles and replies, before it does so. A sink
/// that throws is let go. One takes the place of another.
template <class S>
CallResult<void> trace(const ServerRef<S>& server, std::function<void(const ServerEvent&)> sink,
                       Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::SetTrace{std::move(sink)}, timeout);
}
/// The same, on stderr.
void print_event(const ServerEvent& event);
template <class S>
CallResult<void> trace(const ServerRef<S>& server) {
  return trace(server, &print_event);
}
template <class S>
CallResult<void> no_trace(const ServerRef<S>& server, Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::SetTrace{}, timeout);
}

/// From now on it keeps the last `size` events, as text; 0: none.
template <class S>
CallResult<void> log(const ServerRef<S>& server, std::size_t size,
                     Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::SetLog{size}, timeout);
}
template <class S>
[[nodiscard]] CallResult<std::vector<std::string>> get_log(const ServerRef<S>& server,
                                                           Timeout timeout = kDefaultAskTimeout) {
  return otp::ask(server.address(), otp::GetLog{}, timeout);
}

}  // namespace bulkhead::sys
