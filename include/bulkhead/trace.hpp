/// Trace: what the actors of a runtime do, moment by moment, for looking at it later: spawns, turns
/// of actors on their cores, waits, wake-ups, messages and exits. See docs/guide/tracing.md.
///
/// Runtime::start_trace writes a file, or calls a sink, in the Chrome trace format, which
/// ui.perfetto.dev opens. Runtime::start_flight_recorder writes nothing, and keeps the last events
/// of each core in memory, for last_events. An actor is never held up by either: what is more than
/// can be written is dropped, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/pid.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// Which events, and how many are kept.
struct TraceOptions {
  bool spawns = true;  ///< an actor is made
  bool runs = true;    ///< an actor's turn on a core begins and ends
  bool parks = true;   ///< a handler blocks, and what for
  bool wakes = true;   ///< a blocked one is woken
  bool sends = true;   ///< a message is sent, and taken to be handled
  bool exits = true;   ///< an actor ends, and how
  /// Only events that one of these takes part in; empty: of all actors.
  std::vector<Pid> actors = {};
  /// Room for so many events of each core, 16 to 16,777,216, rounded up to the next power of two;
  /// each takes 40 bytes. And as many for all threads outside together.
  std::size_t events_per_core = 65'536;
};

/// Takes the text of a trace, piece by piece, on a thread of the runtime's. Returns false when it
/// can take no more: the trace ends. It must not start or stop a trace.
using TraceSink = std::function<bool(std::string_view text)>;

/// For Config::trace: a trace that begins with the runtime. One of the first three is set.
struct TraceSettings {
  std::string path = {};         ///< of a file that is written, or written anew
  TraceSink sink = {};           ///< in place of a file
  bool flight_recorder = false;  ///< nothing is written
  TraceOptions options = {};
};

/// Why a trace could not be started, or has ended early.
struct TraceError {
  enum class Kind : unsigned char {
    kNotRunning,   ///< the runtime does not run
    kAlreadyOn,    ///< there is a trace already; only one at a time is written
    kNotOn,        ///< there is none to stop
    kCannotOpen,   ///< the file
    kCannotWrite,  ///< the file; or the sink has refused. What came before has been written
    kNoMemory,     ///< for the events
    kNoThread,     ///< that writes
  };
  Kind kind;
  std::string text;  ///< what happened, and to which file

  friend const std::string& to_string(const TraceError& error) noexcept { return error.text; }
};

/// What a trace has become.
struct TraceSummary {
  std::uint64_t events = 0;   ///< that were written
  std::uint64_t dropped = 0;  ///< that found no room, since they came faster than they were written
  std::uint64_t bytes = 0;    ///< of text
};

/// Which of the events that are kept are wanted.
struct LastEvents {
  Pid actor = {};         ///< only those that it takes part in; none: all
  std::size_t most = 32;  ///< the newest so many
};

/// In an actor, or a hook: the last events of its runtime, if it is traced or a flight recorder
/// runs, the oldest first, a line of text for each. Elsewhere there are none: see
/// Runtime::last_events. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> last_events(const LastEvents& which = {});

}  // namespace bulkhead
