/// SpawnOptions: how an actor is made.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>

#include "bulkhead/duration.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// An actor could not be made: its text says why, and which setting to change.
struct SpawnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an isolated actor is given. See docs/guide/compartments.md.
struct Isolation {
  /// Of what its code allocates, in bytes.
  std::size_t heap_limit = std::size_t{16} << 20;
};

/// How often an isolated actor is made anew, in place: see SpawnOptions::restart.
struct RestartInPlace {
  /// Within the window, 1 to 1,000,000.
  std::size_t limit = 3;
  /// Counted from the first restart in it.
  Timeout window = std::chrono::seconds(60);
};

/// How an actor is made. The defaults suit most.
struct SpawnOptions {
  /// The core to start on. Default: the spawner's; for threads outside, core 0.
  std::optional<std::size_t> core = {};
  /// Stays on its core. (The core may go on in another thread: Config::hand_over_after. Who needs a
  /// certain thread wants own_thread.)
  bool pinned = false;
  /// A thread of the operating system of its own, which no other actor shares.
  bool own_thread = false;
  /// The stack that its handlers run on, in bytes, 16 KiB to 1 GiB, rounded up to a power of two.
  /// Default: the runtime's.
  std::optional<std::size_t> stack_size = {};
  /// How many messages may wait in its mailbox, 1 to 1,000,000,000; more are refused with
  /// Delivery::kFull. Default: no bound.
  std::optional<std::size_t> mailbox_bound = {};
  /// Linked to its spawner from the first moment on, as by this_actor::link.
  bool linked = false;
  /// Monitored by its spawner from the first moment on, as by this_actor::monitor. Set to the
  /// monitor.
  MonitorRef* monitor = nullptr;
  /// A compartment of its own: a fault of its code, such as a null access, a stack overflow or an
  /// abort, ends this actor, and nobody else.
  std::optional<Isolation> isolated = {};
  /// Of an isolated actor: when it fails or traps it is made anew, in a fresh heap, from the same
  /// arguments, of which copies are kept. It keeps its address and its names, and those who monitor
  /// it or have linked to it. They hear nothing until it ends for good: in another way, or when its
  /// restarts are used up, or its constructor fails. What was in its mailbox is dropped, and asks
  /// of others fail with AskError::kDied; its timers, monitors and links of its own end.
  std::optional<RestartInPlace> restart = {};
};

namespace core {
/// Not made anew for each spawn.
inline constexpr SpawnOptions kSpawnDefaults{};
}  // namespace core

}  // namespace bulkhead
