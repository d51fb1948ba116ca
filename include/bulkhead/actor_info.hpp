/// What can be seen of an actor from outside, while it goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/pid.hpp"

namespace bulkhead {

/// An actor, as it was a moment ago.
struct ActorInfo {
  enum class State : std::uint8_t {
    kIdle,     ///< waits for messages
    kReady,    ///< waits for its core
    kRunning,  ///< its handler runs
    kBlocked,  ///< its handler waits, for an answer, time, a lock
    kStuck,    ///< its handler runs, and its core has gone on without it
  };
  Pid pid;
  std::string_view type;  ///< its class, or what the function is called that it runs
  Pid parent;             ///< who spawned it; none: a thread outside
  State state;
  /// The core that it is on; none while it has a thread of its own, or may run on any.
  std::optional<std::size_t> core;
  std::size_t mailbox;    ///< messages that its core has taken in for it, and that wait
  std::uint64_t handled;  ///< messages
};

/// "idle", "ready", "running", "blocked", "stuck".
[[nodiscard]] std::string_view to_string(ActorInfo::State state) noexcept;

/// Looks at an actor; none when it has ended, or begun to. Any thread. Neither waits for it nor
/// disturbs it, and takes the same time however much it has to do. The figures are read one after
/// the other.
[[nodiscard]] std::optional<ActorInfo> actor_info(Pid actor) noexcept;

/// In an actor: those of its runtime that live, in no order; from outside, Runtime::actors. Who
/// lives from before the call until after it is among them, and who has ended before it is not.
/// Throws std::logic_error outside actors, std::bad_alloc.
[[nodiscard]] std::vector<Pid> actors();

}  // namespace bulkhead
