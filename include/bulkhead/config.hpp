/// Config: what a runtime is made of.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>

#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/standard.hpp"

namespace bulkhead {

/// A setting that cannot be used: its text names the setting, what was given and what is possible.
struct ConfigError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// All settings have defaults that are safe. Values that make no sense are refused by the runtime's
/// constructor with a ConfigError; nothing is silently adjusted.
struct Config {
  /// Scheduler threads, 1 to 256. Default: the environment's BULKHEAD_CORES, else the CPUs that
  /// this process may use (affinity and control group's quota).
  std::optional<std::size_t> cores = {};
  /// Binds each core to a CPU while there are enough CPUs.
  bool bind_cores = true;
  /// How many actors may live at a time, 1 to 16,777,215. Address space, not memory, is reserved.
  std::size_t max_actors = 16'000'000;
  /// The stack that handlers run on and that a blocked one keeps, in bytes, 16 KiB to 1 GiB,
  /// rounded up to the next power of two. Spawn options can ask for a larger one.
  std::size_t stack_size = kDefaultStackSize;
  /// Actors that talk gather on one core. Spawn options can pin an actor.
  bool gather = true;
  /// Cores that run out of work are given actors of others.
  bool share_work = true;
  /// A handler that neither returns nor calls the runtime for so long, while other actors wait for
  /// its core, keeps its thread, and the core goes on in another one. 1 ms or more; kForever:
  /// never.
  Timeout hand_over_after = std::chrono::milliseconds(5);

  /// Called on the core of an actor that has ended, after its state is gone. Must not block or
  /// throw.
  std::function<void(const Death&)> on_death = {};
  /// Called for each message that is dropped, on the thread that drops it, after it was counted.
  /// Must not block or throw.
  std::function<void(const DeadLetter&)> on_dead_letter = {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::size_t kDefaultStackSize = 256 * 1024;
#else
  static constexpr std::size_t kDefaultStackSize = 64 * 1024;
#endif
};

}  // namespace bulkhead
