/// Log: where the runtime tells of actors that have crashed, and servers of what they cannot
/// handle. See docs/guide/crash-reports.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// What is known of an actor that has crashed: ended in another way than normally, by a shutdown or
/// by request_stop. There is one for each, but for functions that somebody joins, who learns it.
struct CrashReport {
  /// Another actor, as far as it is known.
  struct Other {
    Pid pid = {};
    std::string name = {};       ///< in the registry; empty: none
    std::string_view type = {};  ///< of the actor's class; empty: it lives no more
  };
  /// What became of it.
  enum class Afterwards : std::uint8_t {
    kEnded,
    kRestartedInPlace,  ///< it goes on, made anew: SpawnOptions::restart
    kGaveUp,            ///< it has ended, since it had been made anew as often as it may be
  };
  static constexpr std::size_t kMostListed = 16;  ///< of each list

  std::chrono::system_clock::time_point time;
  Pid actor;
  std::string_view type;         ///< of the actor's class
  std::string name;              ///< in the registry; empty: none
  std::string label;             ///< this_actor::set_label
  std::vector<Other> ancestors;  ///< who spawned it, who spawned that one, ..., while they live

  Exit::Kind kind = Exit::Kind::kPanic;
  TrapKind trap = TrapKind::kNone;  ///< which fault of its own, if one ended it
  std::string reason;               ///< what it said, was given for it, or is known of the fault
  std::string reason_type;          ///< of the exception
  std::vector<Exit::Cause> causes;  ///< exceptions that this one held: Exit::causes
  std::string place;                ///< where panic() was called: Exit::place
  bool by_signal = false;           ///< another's doing: exit, kill, or the end of one linked to it
  Other sent_by;                    ///< whose; none: a thread's outside, or it is not known
  std::vector<std::string> stack;   ///< where that happened, as stack_trace(exit)

  std::string message;         ///< the type of what it was handling; empty: nothing
  std::size_t mailbox = 0;     ///< messages that its core had taken in for it, and that waited
  std::uint64_t handled = 0;   ///< messages
  std::vector<Pid> links;      ///< some of the actors that it was linked to
  std::size_t link_count = 0;  ///< all of them
  std::size_t monitoring = 0;  ///< monitors that it had of others
  std::size_t monitored = 0;   ///< and others of it
  std::uint64_t restarts = 0;  ///< how often it had begun again: by its supervisor, or in place
  Afterwards afterwards = Afterwards::kEnded;
  std::string state;                     ///< what it says of its state itself: describe_crash
  std::vector<std::string> last_events;  ///< that it took part in, of a flight recorder or trace
};

/// Several lines, the first one "actor <...> (CLASS) crashed: ...". What could upset a terminal is
/// escaped, and of very long texts only the beginning is there. Throws std::bad_alloc.
[[nodiscard]] std::string to_string(const CrashReport& report);
/// All of it as one line of JSON (UTF-8), without the end of the line. Throws std::bad_alloc.
[[nodiscard]] std::string to_json(const CrashReport& report);

/// Is told, on a thread of the runtime's own, of one after the other. It may take its time: nobody
/// waits for it but the runtime's shutdown. What it throws is told on stderr. It must not start or
/// shut down a runtime.
class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  virtual void crash(const CrashReport& report) = 0;
  /// What else there is to tell: a line of text, or more, without the last one's end.
  virtual void line(std::string_view text) = 0;
};

/// How the log on stderr looks.
enum class LogFormat : std::uint8_t {
  kText,  ///< for people; by way of spdlog's logger "bulkhead" where the library is built with it
  kJson,  ///< a line of JSON for each: to_json, or {"event":"line","time":...,"text":...}
  kOff,   ///< nothing
};

struct LogSettings {
  /// The program's own log. Default: stderr.
  std::shared_ptr<Log> log = {};
  /// Of stderr. Default: as the environment's BULKHEAD_LOG says, text, json or off; else text.
  std::optional<LogFormat> format = {};
  /// How many crashes are told in a second, 1 to 1,000,000; and as many lines. Of those that come
  /// faster the number is told.
  std::size_t per_second = 10;
  /// Changes each report before it is told, to take out what nobody may read. Runs where the log
  /// does. If it throws, the report goes without reason, causes, stack, state and label.
  std::function<void(CrashReport&)> redact = {};
};

/// Which lines LogSettings::per_second holds for.
enum class LineKind : std::uint8_t {
  kOrdinary,
  kRare,  ///< it does not: for what is never said often, and must not be missed
};
/// Tells the log of the caller's runtime; outside of actors and hooks, stderr: a thread outside
/// uses Runtime::log_line. Does not wait.
void log_line(std::string text, LineKind kind = LineKind::kOrdinary) noexcept;

/// In the destructor of an actor that has crashed, for its report: what it says of its state, and,
/// if not empty, what it was handling, if anything, in better words than the name of a type.
/// Elsewhere, and when there is no report, without effect.
void describe_crash(std::string state, std::string message = {}) noexcept;
/// Will describe_crash have an effect? For who would have to make up the text first.
[[nodiscard]] bool crash_is_reported() noexcept;

}  // namespace bulkhead
