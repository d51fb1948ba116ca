/// Runtime: the scheduler threads, and their life from start to shutdown.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead/config.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/host.hpp"
#include "bulkhead/trace.hpp"

namespace bulkhead {

/// A multicore runtime. Made, started, used, shut down; and started again, if you like. Several can
/// live in a process; actors of one can send to actors of another.
///
/// Its functions are for threads outside, one at a time for start and shutdown, any for the rest.
class Runtime : public Host {
 public:
  /// Checks the settings and the environment (BULKHEAD_CORES, BULKHEAD_PREEMPT,
  /// BULKHEAD_PREEMPT_MS, BULKHEAD_STACK_TRACE, BULKHEAD_FAULT_REPORTS, BULKHEAD_TRACE,
  /// BULKHEAD_LOG). Throws ConfigError;
  /// std::runtime_error when the process has no core left (1024, of all runtimes together);
  /// std::bad_alloc, whose text says more, when there is no address space.
  explicit Runtime(const Config& config = {});
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

  /// Any thread, actors too.
  [[nodiscard]] std::size_t cores() const noexcept;

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
