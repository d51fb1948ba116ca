/// Config: what a runtime is made of.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>

#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/log.hpp"
#include "bulkhead/standard.hpp"
#include "bulkhead/trace.hpp"

namespace bulkhead {

/// A setting that cannot be used: its text names the setting, what was given and what is possible.
struct ConfigError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Where actors wait that are ready to run.
enum class RunQueue : unsigned char {
  kPartitioned,  ///< each core has its own, and gives of it to cores that have run dry
  kMutex,        ///< all cores share one queue, under a lock: first come, first served
  kRing,         ///< all cores share one bounded ring without a lock, and a list for what is more
  kStriped,      ///< a ring for each core, from which the others take, too
  kRounds,       ///< as kPartitioned, but each core handles one message of each that is ready, then
                 ///< looks about: nobody waits longer than for the others' one message
};

/// Does it hold what any core may run?
[[nodiscard]] constexpr bool is_shared(RunQueue kind) noexcept {
  return kind != RunQueue::kPartitioned && kind != RunQueue::kRounds;
}

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
  /// With one of the shared queues (kMutex, kRing, kStriped) an actor runs on whichever core takes
  /// it next, but for those that are pinned, or started on a given core, or have a thread of their
  /// own; gather and share_work then concern nobody else.
  RunQueue run_queue = RunQueue::kPartitioned;
  /// A fault in an actor (a stack overflow, a null access, an abort, ...) is told on stderr, with
  /// the actor's pid and class, before the program's own handler or the default action has its
  /// turn.
  /// The signal handlers for that are installed when the first runtime that wants them starts, and
  /// stay. The environment's BULKHEAD_FAULT_REPORTS=0 switches them off for all runtimes.
  bool report_faults = true;
  /// An actor that has had its turn for so long, in a handler that is stuck or in many that are
  /// slow, while others wait for its core, keeps its thread, and the core goes on in another one;
  /// at its next call into the runtime it rejoins its core. If nobody waits, that happens after
  /// twenty times as long. It is time by the clock, in which other processes may have had the
  /// processor. 1 ms or more; kForever: never.
  Timeout hand_over_after = std::chrono::milliseconds(5);

  /// How long an actor may run before it is made to give way to others, where that can happen: at
  /// allocations, in code that is compiled for it (bulkhead_preemptible), and at check(). 0 to
  /// 10 s; with 0 it gives way each time that it is looked at.
  std::chrono::nanoseconds time_slice = std::chrono::microseconds(100);
  /// Every so many allocations by `new` the time of an actor is looked at; 128 is a good choice, 1
  /// to 1,000,000,000. Default: 0, never, since code that allocates under a lock, or uses what
  /// belongs to its thread, must be ready for it. Without effect under sanitizers.
  std::size_t preempt_allocations = 0;
  /// The same for code that is compiled for it: after so many basic blocks, 1 to 1,000,000,000,000;
  /// 0 for never.
  std::size_t preempt_reductions = 10'000;
  /// An actor with many messages gives way between two of them after this time, 1 us to 1 h; 0 for
  /// never. Default: as the environment says: BULKHEAD_PREEMPT=1 and BULKHEAD_PREEMPT_MS
  /// (milliseconds, 1 to 3,600,000, default 1); else never.
  std::optional<std::chrono::nanoseconds> message_slice = {};

  /// Called on the core of an actor that has ended, after its state is gone. Must not throw. It may
  /// send, and spawn by Runtime::spawn; the free spawn throws SpawnError. Nothing waits there: a
  /// sleep and a yield return at once; an ask, and what would have to wait at a channel or on the
  /// network, fail with kStopped; a lock that is not free, a join of an actor that lives, and other
  /// waits throw std::logic_error; blocking(f) just calls f, and holds up the core.
  std::function<void(const Death&)> on_death = {};
  /// Called for each message that is dropped, on the thread that drops it, after it was counted;
  /// but not for those that a hook drops. What holds for on_death holds for it.
  std::function<void(const DeadLetter&)> on_dead_letter = {};

  /// Where crashes are told, with or without on_death.
  LogSettings log = {};

  /// A trace that begins with the runtime, and ends with its shutdown (see trace.hpp). If it cannot
  /// be written, that is told on stderr, and the runtime runs without. Default: to the file that
  /// the environment's BULKHEAD_TRACE names; else none. Of several runtimes, or starts, in one
  /// process the second one's file has .2 behind its name, and so on.
  std::optional<TraceSettings> trace = {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::size_t kDefaultStackSize = 256 * 1024;
#else
  static constexpr std::size_t kDefaultStackSize = 64 * 1024;
#endif
};

}  // namespace bulkhead
