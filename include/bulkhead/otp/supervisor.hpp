/// Supervisors: actors that start others, and start them again when they end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bulkhead/address.hpp"
#include "bulkhead/ask.hpp"
#include "bulkhead/otp/child.hpp"
#include "bulkhead/runtime.hpp"

namespace bulkhead {

/// Who is started again with a child that has ended.
enum class Strategy : std::uint8_t {
  kOneForOne,   ///< it alone
  kOneForAll,   ///< all children: they are ended, last started first, and started again in order
  kRestForOne,  ///< it, and those that were started after it
  /// It alone; and all children are alike: made by start_child, as SupervisorSpec::like says, in no
  /// order and with no id. For very many.
  kSimpleOneForOne,
};

/// When children that are significant end the supervisor by theirs.
enum class AutoShutdown : std::uint8_t { kNever, kAnySignificant, kAllSignificant };

/// How long a supervisor waits before it starts a child again: `least` first, twice as long each
/// time, up to `most`; each time longer by a random part of `jitter` (0 to 1) of that. It begins
/// anew when the child has lived for `reset_after`.
struct Backoff {
  std::chrono::nanoseconds least{0};
  std::chrono::nanoseconds most{0};
  double jitter = 0.2;
  std::chrono::nanoseconds reset_after{std::chrono::seconds(10)};
};

struct SupervisorSpec {
  Strategy strategy = Strategy::kOneForOne;
  /// More restarts than this within `period`, and the supervisor gives up: it ends its children,
  /// and itself, with Exit::shutdown("too many restarts").
  unsigned intensity = 3;
  std::chrono::nanoseconds period{std::chrono::seconds(5)};
  AutoShutdown auto_shutdown = AutoShutdown::kNever;
  /// None: at once.
  std::optional<Backoff> backoff = {};
  /// Started in this order; ended in the reverse.
  std::vector<ChildSpec> children = {};
  /// For kSimpleOneForOne: what all children have in common. Its id and start are not used.
  ChildSpec like = {};
};

/// What is wrong with a specification.
enum class SpecFault : std::uint8_t {
  kNoId,
  kIdTaken,       ///< two children have it
  kNoStart,       ///< no function to start it
  kNoPeriod,      ///< of the supervisor: zero or negative
  kBackoff,       ///< of the supervisor: negative, least above most, most above 100 years, or
                  ///< jitter outside 0 to 1
  kSignificant,   ///< a permanent child, or one of a supervisor that never shuts down by itself
  kTemplateOnly,  ///< kSimpleOneForOne has no children to begin with
  kName,          ///< its name is empty, or longer than 255 bytes
  kNameShared,    ///< children of kSimpleOneForOne are many, and a name is one actor's
  kStrategy,      ///< of the supervisor: none of Strategy's
  kAutoShutdown,  ///< of the supervisor: none of AutoShutdown's
  kRestart,       ///< none of Restart's
  kType,          ///< none of ChildType's
};

/// Why a child, or a supervisor, was not started, or not found.
struct ChildError {
  enum class Kind : std::uint8_t {
    kSpec,            ///< its specification makes no sense: see `fault`
    kAlreadyStarted,  ///< the id is that of one that runs: see `pid`
    kAlreadyPresent,  ///< the id is that of one that does not run
    kFailed,          ///< it did not start: see `exit`
    kNotFound,        ///< there is no such child
    kRunning,         ///< it runs: it cannot be started or deleted
    kRestarting,      ///< it is being started again
    kSimple,          ///< children of kSimpleOneForOne have no ids
    kNoSupervisor,    ///< the supervisor has ended, or the call failed: see `call`
  };
  Kind kind;
  std::string id = {};  ///< of the child that it is about; empty: the supervisor's own
  SpecFault fault{};
  Pid pid = {};
  Exit exit = {};
  AskError call{};
};
[[nodiscard]] std::string to_string(const ChildError& error);

/// A child as it is now.
struct ChildInfo {
  enum class State : std::uint8_t {
    kRunning,
    kRestarting,
    kStopped,  ///< ended, or it wanted to be left out
  };
  std::string id;
  Pid pid;  ///< none, unless it runs
  State state;
  ChildType type;
  Restart restart;
  std::uint32_t restarts = 0;  ///< how often it has been started again
};

struct ChildCount {
  std::size_t specs = 0;        ///< children, running or not
  std::size_t active = 0;       ///< those that run
  std::size_t supervisors = 0;  ///< of specs
  std::size_t workers = 0;      ///< of specs
};

namespace otp {
class Supervisor;
}

/// Calls to a supervisor, from any actor or thread; cheap to copy. They wait as long as it takes: a
/// supervisor answers between two restarts, but is busy while it starts or ends a child. Each may
/// fail with ChildError::Kind::kNoSupervisor.
class SupervisorRef {
 public:
  SupervisorRef() = default;
  explicit SupervisorRef(Pid pid) noexcept : pid_(pid) {}

  [[nodiscard]] Pid pid() const noexcept { return pid_; }
  explicit operator bool() const noexcept { return static_cast<bool>(pid_); }

  /// Adds a child, and starts it. None when it wants to be left out: its specification stays,
  /// unless it is temporary.
  std::expected<Pid, ChildError> start_child(ChildSpec spec) const;
  /// For kSimpleOneForOne: one more, which `start` makes (see ChildSpec::start).
  std::expected<Pid, ChildError> start_child(std::function<ChildStart()> start) const;
  /// Ends a child. Its specification stays, unless it is temporary. Without effect when it does not
  /// run; a restart that was due is called off.
  std::expected<void, ChildError> terminate_child(std::string id) const;
  std::expected<void, ChildError> terminate_child(Pid child) const;
  /// Starts a child that does not run.
  std::expected<Pid, ChildError> restart_child(std::string id) const;
  /// Forgets a child that does not run.
  std::expected<void, ChildError> delete_child(std::string id) const;

  [[nodiscard]] std::expected<std::vector<ChildInfo>, ChildError> which_children() const;
  [[nodiscard]] std::expected<ChildCount, ChildError> count_children() const;
  /// Of a temporary child that runs, without its `start`: that is needed no more.
  [[nodiscard]] std::expected<ChildSpec, ChildError> child_spec(std::string id) const;

  /// Ends it, children first, for that reason, and waits until it has ended. False when time is up
  /// before.
  bool stop(Exit reason = Exit::normal(), Timeout timeout = kForever) const;

 private:
  Pid pid_;
};

/// In an actor: starts a supervisor that is linked to it, and its children, in order. If one cannot
/// be started, those before it are ended again, and the error says which one and why. The
/// supervisor ends, with its children, when the caller does.
[[nodiscard]] std::expected<SupervisorRef, ChildError> start_supervisor(SupervisorSpec spec);
/// From a thread outside: the root of a tree.
[[nodiscard]] std::expected<SupervisorRef, ChildError> start_supervisor(Runtime& runtime,
                                                                        SupervisorSpec spec);
/// A child that is a supervisor.
[[nodiscard]] ChildSpec child_supervisor(std::string id, SupervisorSpec spec);

}  // namespace bulkhead
