/// Stage: actors on the calling thread, in rounds, with bounds on everything. Not part of
/// bulkhead.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

#include "bulkhead/config.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/host.hpp"
#include "bulkhead/standard.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead {

/// What a stage is made of. It takes the memory for all of it when it is made, and again after a
/// shutdown. Values that make no sense are refused with a ConfigError.
struct StageConfig {
  /// How many actors may live at a time, 1 to 1,048,576.
  std::size_t actors = 0;
  /// How many messages may wait for an actor, 1 to 1,000,000; more are refused with
  /// Delivery::kFull. SpawnOptions::mailbox_bound may give an actor another bound.
  std::size_t mailbox = 16;
  /// So large are the messages for which memory is taken, in bytes, 1 to 3072. For larger ones, and
  /// for what is sent to isolated actors but for plain values, it is taken when they are first
  /// sent, and kept.
  std::size_t message_bytes = 40;
  /// How many timers may run, requests be pending, and descriptors be watched at a time, together,
  /// 0 to 16,777,216; for more, send_after, send_every and request throw CapacityError, and
  /// net::watch fails.
  std::size_t timers = 0;
  /// As those of Config.
  std::size_t stack_size = Config::kDefaultStackSize;
  bool report_faults = true;
  std::function<void(const Death&)> on_death = {};
  std::function<void(const DeadLetter&)> on_dead_letter = {};
  LogSettings log = {};
};

/// A runtime without threads: its actors run while a thread calls run(). They run in rounds: each
/// that was ready when the round began has one message handled, in the order in which they were
/// made ready. So a program that uses no clock and nothing from outside does the same each time.
///
/// All that holds of actors holds on a stage, but that none has a thread of its own. A handler that
/// loops, or blocks the thread by other means than Bulkhead's, holds up all the others.
class Stage : public Host {
 public:
  /// Takes all memory, and is ready. Throws ConfigError; std::runtime_error when the process has no
  /// core left (1024, of all runtimes together); std::bad_alloc; std::system_error when there are
  /// no descriptors; std::logic_error in an actor.
  explicit Stage(const StageConfig& config);
  /// Shuts down.
  ~Stage();

  enum class End : std::uint8_t {
    kNobodyLives,  ///< the last actor has ended
    kStopped,      ///< it was asked to stop
    kDeadline,     ///< time was up
  };
  /// Runs its actors until none lives, `stop` asks for its end, or time is up, whichever is first;
  /// looks between two rounds, also under endless mail. One round is run in any case. While nobody
  /// is ready, the thread sleeps. What is left goes on in the next run, which another thread may
  /// call. Throws std::logic_error when it runs already, in an actor, and in a child process of the
  /// one that has made it.
  End run(Timeout time = kForever, const std::stop_token& stop = {});
  End run_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {});

  /// Ends all actors at once, blocked ones by unwinding their handlers; drops what is queued.
  /// Nobody is told but by the hooks of StageConfig. Addresses from before stand for nobody; new
  /// actors can be spawned; statistics are kept. Throws std::logic_error when it runs, in an actor,
  /// and in a child process of the one that has made it; else as the constructor, for what it takes
  /// anew: then everything has ended, and no actor can be spawned until another shutdown succeeds.
  void shutdown();

  /// Between runs: an actor's state, to be read until the next run, spawn or send; null when it has
  /// ended, or has not started yet, or is of another class or stage. Throws std::logic_error while
  /// it runs.
  template <class A>
  [[nodiscard]] const A* node(const Address<A>& actor) const {
    return static_cast<const A*>(state_of(actor.pid(), type_name<A>()));
  }

 private:
  class Turn;
  [[nodiscard]] const void* state_of(Pid actor, std::string_view actor_class) const;
  End run_to(std::int64_t deadline, const std::stop_token& stop);
};

}  // namespace bulkhead
