/// Runtime: the scheduler threads, and their life from start to shutdown.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead/actor_info.hpp"
#include "bulkhead/config.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/registry.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/stats.hpp"
#include "bulkhead/trace.hpp"

namespace bulkhead {

/// A multicore runtime. Made, started, used, shut down; and started again, if you like. Several can
/// live in a process; actors of one can send to actors of another.
///
/// Its functions are for threads outside, one at a time for start and shutdown, any for the rest.
/// Actors use the free functions spawn, spawn_with and those of this_actor.
class Runtime {
 public:
  /// Checks the settings and the environment (BULKHEAD_CORES, BULKHEAD_PREEMPT,
  /// BULKHEAD_PREEMPT_MS, BULKHEAD_STACK_TRACE, BULKHEAD_FAULT_REPORTS, BULKHEAD_TRACE,
  /// BULKHEAD_LOG). Throws ConfigError;
  /// std::runtime_error when the process has no core left (1024, of all runtimes together);
  /// std::bad_alloc, whose text says more, when there is no address space.
  explicit Runtime(const Config& config = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  /// Shuts down if that has not been done. In an actor, and in a child process that was forked
  /// while the runtime ran, it is left as it is.
  ~Runtime();

  /// Starts the threads; when it returns they run. Throws std::system_error when the system gives
  /// no threads or descriptors, std::bad_alloc and std::runtime_error when it gives no memory for
  /// stacks, std::logic_error when it runs already, in an actor, and in a child process that was
  /// forked while it ran.
  void start();
  /// Waits until every message sent has been handled, then ends all actors, blocked ones by
  /// unwinding their handlers, and stops the threads. When messages are still being handled after
  /// `patience`, it names the actors that are at it on stderr, and ends them. That can take longer:
  /// a handler that neither returns nor blocks is waited for. Without effect when not running.
  /// Throws std::logic_error in an actor, which it would wait for.
  void shutdown(Timeout patience = std::chrono::seconds(10));
  [[nodiscard]] bool running() const noexcept;

  /// Waits until every message sent has been handled and every countdown of a receive timeout has
  /// ended. Stops nothing. False when `timeout` has passed before. Throws std::logic_error in an
  /// actor, and in a child process that was forked while the runtime ran.
  bool wait_for_idle(Timeout timeout = kForever);

  /// Waits until no actor lives. Stops nothing. False when `timeout` has passed before. Throws
  /// std::logic_error likewise.
  bool wait_for_end(Timeout timeout = kForever);

  /// Makes an actor from outside, on core 0 or the one that the options name. Any thread, and
  /// hooks. Throws SpawnError when there is no room or the runtime is not running, ConfigError for
  /// options that make no sense, std::bad_alloc, and what the constructor throws.
  template <class A, class... Args>
  Address<A> spawn_with(const SpawnOptions& options, Args&&... args) {
    return core::spawn_actor<A>(options, domain_, std::forward<Args>(args)...);
  }
  template <class A, class... Args>
  Address<A> spawn(Args&&... args) {
    return spawn_with<A>(SpawnOptions{}, std::forward<Args>(args)...);
  }
  template <Body F>
  Pid spawn_with(const SpawnOptions& options, F&& body) {
    return core::spawn_body(options, domain_, std::forward<F>(body));
  }
  template <Body F>
  Pid spawn(F&& body) {
    return spawn_with(SpawnOptions{}, std::forward<F>(body));
  }
  /// Refused, with a word on what is wanted.
  template <int = 0, class F>
    requires(!Body<F>)
  void spawn(F&& /*object*/) { core::refuse_object<std::decay_t<F>>(); }
  template <int = 0, class F>
    requires(!Body<F>)
  void spawn_with(const SpawnOptions& /*options*/, F&& /*object*/) {
    core::refuse_object<std::decay_t<F>>();
  }
  template <Body F>
  auto spawn_joinable_with(const SpawnOptions& options, F&& body) {
    return core::spawn_joined(options, domain_, std::forward<F>(body));
  }
  template <Body F>
  auto spawn_joinable(F&& body) {
    return spawn_joinable_with(SpawnOptions{}, std::forward<F>(body));
  }

  /// Names of this runtime's actors: as the functions of the same names (registry.hpp). Any thread,
  /// actors too. While it does not run no actor has a name.
  std::expected<void, RegisterError> register_name(std::string_view name, Pid actor) {
    return core::register_name(domain_, name, actor);
  }
  template <class A>
  std::expected<void, RegisterError> register_name(std::string_view name, const Address<A>& actor) {
    return register_name(name, actor.pid());
  }
  bool unregister_name(std::string_view name, Pid actor = {}) {
    return core::unregister_name(domain_, name, actor);
  }
  [[nodiscard]] Pid whereis(std::string_view name) const { return core::whereis(domain_, name); }
  template <class A>
  [[nodiscard]] Address<A> whereis(std::string_view name) const {
    return Address<A>(core::whereis(domain_, name, core::kClass<A>));
  }
  [[nodiscard]] std::string name_of(Pid actor) const { return core::name_of(domain_, actor); }
  template <class A>
  [[nodiscard]] std::string name_of(const Address<A>& actor) const {
    return name_of(actor.pid());
  }
  [[nodiscard]] std::vector<std::string> registered() const { return core::registered(domain_); }
  /// An address by name, whether anybody has the name or not.
  template <class A>
  [[nodiscard]] NamedAddress<A> named(std::string_view name) const {
    return NamedAddress<A>(domain_, name);
  }

  /// Any thread, actors too.
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::size_t cores() const noexcept;
  /// Its actors that live, in no order: see bulkhead::actors. Any thread. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Pid> actors() const;

  /// Traces what the actors do into a file, which is made or written anew, or into a sink. When it
  /// returns, all cores do, but for those that are in a long handler: they do after it. Ends with
  /// stop_trace, or with the runtime's shutdown. A file that cannot be written any more is told on
  /// stderr, and by stop_trace, and ends the trace. Throws ConfigError for options that make no
  /// sense, std::logic_error in an actor (which can call it by `blocking`).
  std::expected<void, TraceError> start_trace(const std::string& path,
                                              const TraceOptions& options = {});
  std::expected<void, TraceError> start_trace(TraceSink sink, const TraceOptions& options = {});
  /// Writes what is left, and closes the file. A core that does not come out of its handler is not
  /// waited for: its turn is shown to end here. Throws std::logic_error in an actor.
  std::expected<TraceSummary, TraceError> stop_trace();
  /// Is a trace being written? Any thread, actors too.
  [[nodiscard]] bool tracing() const noexcept;

  /// From now on the last events of each core are kept in memory, for last_events. While a trace is
  /// written they are the trace's. Ends with stop_flight_recorder, or the runtime's shutdown.
  /// Throws likewise.
  std::expected<void, TraceError> start_flight_recorder(const TraceOptions& options = {});
  void stop_flight_recorder();
  /// The last events of a flight recorder or of a trace, also of one that has ended with the
  /// runtime, the oldest first, a line of text for each. Any thread, actors too. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::vector<std::string> last_events(const LastEvents& which = {}) const;

 private:
  core::Domain* domain_;
};

/// Starts a runtime, runs `body()` as its first actor, and waits until no actor lives any more,
/// however many it has made; then all of the runtime is gone. Returns what became of the first one:
/// what it returned, or why it ended. Throws what Runtime's constructor and start throw.
///
/// An actor with handlers, and one that waits in its Mailbox, lives until it is stopped: as long as
/// one is left, run does not return. So the body must stop those that it spawns, by
/// stop(address.pid()) or a message that has them stop themselves.
template <Body F>
auto run(const Config& config, F&& body) {
  Runtime runtime(config);
  runtime.start();
  auto first = runtime.spawn_joinable(std::forward<F>(body));
  runtime.wait_for_end();
  return first.join();
}
template <Body F>
auto run(F&& body) {
  return run(Config{}, std::forward<F>(body));
}

}  // namespace bulkhead
