/// GenServer: an actor that answers calls, and what start, idle times, failure and stop come to.
///
///     class Counter : public bulkhead::GenServer {
///      public:
///       explicit Counter(int start) : count_(start) {}
///       int handle_call(Get) { return count_; }
///       void handle_cast(Add add) { count_ += add.n; }
///      private:
///       int count_;
///     };
///     auto counter = bulkhead::start_server<Counter>({.linked = true}, 5);
///     const auto count = counter->call(Get{});
#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/otp/child.hpp"
#include "bulkhead/otp/server_actor.hpp"
#include "bulkhead/otp/server_ref.hpp"
#include "bulkhead/runtime.hpp"
#include "bulkhead/spawn.hpp"

namespace bulkhead {

/// How a server is started.
struct ServerOptions {
  /// The name that it has in the runtime's registry, from before its init on. If another actor has
  /// it, the server is not started.
  std::optional<std::string> name = {};
  /// Tied to the actor that starts it, as by this_actor::link, from the first moment on; but when
  /// it cannot be started, that learns so from the result, and in no other way.
  bool linked = false;
  /// Monitored by the actor that starts it; set to the monitor when it has started.
  MonitorRef* monitor = nullptr;
  /// How long its init may take.
  Timeout timeout = kForever;
  /// It ends in order when the last ServerRef goes that was made from the one that its start
  /// returned.
  bool owned_by_refs = false;
  /// What else is to be said of the actor; `linked` and `monitor` of these are not used.
  SpawnOptions spawn = {};
};

/// Why a server was not started. Nothing is left of it: no link, no message.
struct StartError {
  enum class Kind : std::uint8_t {
    kIgnored,         ///< it wants to be left out: InitResult::ignore()
    kFailed,          ///< its init failed: see `exit`
    kTimedOut,        ///< its init took too long; it was killed
    kStopped,         ///< the runtime is not running, or the caller is to end
    kAlreadyStarted,  ///< its name is that of another actor: see `pid`
  };
  Kind kind;
  Exit exit = {};
  Pid pid = {};
};
[[nodiscard]] std::string to_string(const StartError& error);

namespace otp {

/// Where a server is started: in an actor, or in a runtime that is not the caller's.
class Place {
 public:
  Place() = default;
  explicit Place(Runtime& runtime) noexcept : runtime_(&runtime) {}
  /// Who has a name. Throws std::invalid_argument when it cannot be one.
  [[nodiscard]] Pid whereis(const std::string& name) const;
  void unregister_name(const std::string& name, Pid actor) const;

 private:
  Runtime* runtime_ = nullptr;
};

/// Why it need not be tried, if so.
[[nodiscard]] std::expected<void, StartError> may_begin(const Place& place,
                                                        const ServerOptions& options);
/// What has come of an Init.
[[nodiscard]] std::expected<void, StartError> begun(std::expected<InitDone, AskError> answer,
                                                    const Exit& why);
/// The starter, when that has failed, forgets what it has tied to it.
void forget(Pid server, const ServerOptions& options);

template <class S>
std::expected<ServerRef<S>, StartError> begin(const Place& place, Address<Server<S>> server,
                                              const ServerOptions& options) {
  constexpr std::chrono::milliseconds kUntilItIsKilled{100};  // one that waits nowhere is not
  Exit why;
  auto answer = server.ask(Init{options.linked, options.name}, options.timeout, &why);
  const bool late = !answer && answer.error() == AskError::kTimedOut;
  auto result = begun(std::move(answer), why);
  if (result && options.owned_by_refs) return ServerRef<S>::owner_of(server.pid());
  if (result) return ServerRef<S>(server.pid());
  forget(server.pid(), options);
  // Where nobody waits, such as in a hook, it is not known what becomes of its init.
  const bool unknown = late || result.error().kind == StartError::Kind::kStopped;
  if (unknown) static_cast<void>(kill(server.pid()));
  static_cast<void>(server.ask(AwaitEnd{}, late ? Timeout(kUntilItIsKilled) : kForever));
  if (unknown && options.name) place.unregister_name(*options.name, server.pid());
  return std::unexpected(std::move(result.error()));
}

[[nodiscard]] SpawnOptions spawn_options(const ServerOptions& options);

/// What a supervisor hears of it.
[[nodiscard]] ChildStart child_not_started(const StartError& error);

template <class S>
constexpr void check_server() {
  static_assert(std::derived_from<S, GenServer>,
                "bulkhead: start_server starts a class that derives publicly from "
                "bulkhead::GenServer");
}

}  // namespace otp

/// In an actor: makes a server of class S from `args`, here and now, and has it run its init; waits
/// for what comes of that. Throws what the constructor throws, and what spawn_with throws.
template <class S, class... Args>
[[nodiscard]] std::expected<ServerRef<S>, StartError> start_server(const ServerOptions& options,
                                                                   Args&&... args) {
  otp::check_server<S>();
  const otp::Place here;
  if (auto may = otp::may_begin(here, options); !may) return std::unexpected(may.error());
  return otp::begin<S>(
      here, spawn_with<otp::Server<S>>(otp::spawn_options(options), std::forward<Args>(args)...),
      options);
}
/// From a thread outside; without link and monitor.
template <class S, class... Args>
[[nodiscard]] std::expected<ServerRef<S>, StartError> start_server(Runtime& runtime,
                                                                   const ServerOptions& options,
                                                                   Args&&... args) {
  otp::check_server<S>();
  const otp::Place there(runtime);
  if (auto may = otp::may_begin(there, options); !may) return std::unexpected(may.error());
  return otp::begin<S>(
      there,
      runtime.spawn_with<otp::Server<S>>(otp::spawn_options(options), std::forward<Args>(args)...),
      options);
}

/// In a server: where infos for itself are sent, by timers for instance.
template <class S>
[[nodiscard]] Address<otp::Server<S>> server_address(const S* /*self*/) {
  return this_actor::address<otp::Server<S>>();
}

/// A child that is a server, constructed each time from copies of the arguments. Its supervisor
/// waits for its init, as long as that takes; one that wants to be left out is. For other options,
/// a timeout for instance, write a ChildSpec::start that calls start_server.
template <class S, class... Args>
[[nodiscard]] ChildSpec child_server(std::string id, Args... args) {
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = [arguments = std::tuple<Args...>(std::move(args)...)]() -> ChildStart {
    return std::apply(
        [](const Args&... each) -> ChildStart {
          const ServerOptions options{.name = otp::child_name(), .linked = true};
          const auto started = start_server<S>(options, each...);
          return started ? started->pid() : otp::child_not_started(started.error());
        },
        arguments);
  };
  return spec;
}

}  // namespace bulkhead
