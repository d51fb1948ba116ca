// A domain: the cores that one runtime runs, their start and stop, and what is counted for all.
//
// | phase    | meaning                                          | next     | moved by          |
// |----------|--------------------------------------------------|----------|-------------------|
// | Stopped  | no threads; sends from outside are refused       | Running  | start             |
// | Running  |                                                  | Ending   | stop              |
// | Ending   | the gate is closed; each core ends its actors    | Leaving  | stop              |
// | Leaving  | no actor is left; the threads leave their loops  | Stopped  | stop              |
//
// Rules
//  D1  A domain and its cores are never destroyed, only used again: threads outside may still hold
//      their addresses.
//  D2  Threads outside touch a domain's cores only between gate.enter() and gate.leave(); or, for a
//      wake-up that they have claimed (which keeps its actor alive), between visit() and leave();
//      or likewise for the news of a bond, if its receiver lives when they have come in.
//  D3  Quiescence (wait_for_idle): what was settled is summed before what was sent. A message is
//      counted as sent before it can be settled, so equal sums mean that at some moment in between
//      nothing was under way. [pair domain.quiescent]
//  D4  Who waits for quiescence announces it, then looks; a core that goes to sleep looks for such
//      an announcement after its last count. Both put a seq_cst fence between, so one sees the
//      other. Checked by domain_model.cpp.
//  D5  A slot that a domain has taken stays with it until it has stopped: so a straggler's signal
//      is counted as sent and as dropped in the same domain. Who pushes from outside looks at the
//      slot's home again inside the gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/config.hpp"
#include "bulkhead/stats.hpp"
#include "core/commons.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/drive.hpp"
#include "core/reporter.hpp"
#include "core/trace.hpp"
#include "sync/gate.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::core {

/// What threads outside count. What they could not send is counted once: all that they drop was
/// refused, so that these numbers always agree.
struct OutsideCounts {
  RealSync::atomic<std::uint64_t> sent{0};
  RealSync::atomic<std::uint64_t> dropped[kDropCauses]{};
  RealSync::atomic<std::uint64_t> started{0};
};

class Names;

class Domain {
 public:
  /// A stopped domain with these settings, which have been checked. Throws std::bad_alloc,
  /// std::system_error.
  [[nodiscard]] static Domain& take(const Config& config, std::size_t cores);
  /// The same of a stage: one core, which runs while a thread is lent to it.
  [[nodiscard]] static Domain& take(const Config& config, const StageBounds& bounds);
  /// Gives a stopped domain back.
  static void give(Domain& domain) noexcept;

  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  // --- its user, one thread at a time ------------------------------------------------------------

  /// Starts the threads, and returns when all run. Throws std::system_error. The trace that begins
  /// with it: the settings' own, else this one.
  void start(const std::optional<TraceSettings>& trace_by_default = {});
  /// Of a stage: the calling thread alone may use it, until it leaves. False when another does.
  [[nodiscard]] bool claim_stage() noexcept {
    return !stage_claimed_.exchange(true, std::memory_order_acquire);  // [pair domain.stage]
  }
  void leave_stage() noexcept {
    stage_claimed_.store(false, std::memory_order_release);  // [pair domain.stage]
  }
  /// Of a stage that has been started: lends it the calling thread until `drive` is over.
  void lend_thread(Drive& drive) noexcept { crew_.lend_thread(*cores_[0], drive); }
  enum class Left : std::uint8_t { kIdle, kBusy };
  /// Ends all actors, stops the threads and joins them. When busy, says which actors were at work.
  void stop(Left left);
  [[nodiscard]] bool running() const noexcept {
    return phase_.load(std::memory_order_acquire) == Phase::kRunning;
  }
  /// Is this process a fork of the one that runs it? Then its threads are not here.
  [[nodiscard]] bool left_behind() const noexcept;
  /// The same, without a system call; but for forks that C does not know of. Any thread.
  [[nodiscard]] bool was_forked() const noexcept;

  // --- any thread --------------------------------------------------------------------------------

  enum class Countdowns : std::uint8_t { kWaitFor, kIgnore };
  /// Has all cores look about, while they run.
  void ring_bell() noexcept {
    const sync::Guard guard(lock_);
    wake_all();
  }
  /// With those of actors with a thread of their own.
  [[nodiscard]] std::size_t all_cores() const noexcept {
    return all_cores_.load(std::memory_order_acquire);  // [pair domain.cores]
  }
  [[nodiscard]] Core& any_core(std::size_t place) const noexcept { return *cores_[place]; }
  /// Waits until nothing is under way. False when `timeout` has passed.
  [[nodiscard]] bool wait_for_idle(Countdowns countdowns, machine::Nanoseconds timeout);
  /// Waits until no actor lives. False when `timeout` has passed.
  [[nodiscard]] bool wait_for_end(machine::Nanoseconds timeout);
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::size_t core_count() const noexcept { return core_count_; }
  [[nodiscard]] Core& core(std::size_t index) const noexcept { return *cores_[index]; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }
  /// Null when it has threads of its own.
  [[nodiscard]] const StageBounds* stage() const noexcept { return stage_ ? &*stage_ : nullptr; }
  /// The home of actors that roam; null when all are at home on cores.
  [[nodiscard]] Commons* commons() const noexcept { return commons_.get(); }
  /// The names of its actors. Of one Runtime: the next one has others.
  [[nodiscard]] const std::shared_ptr<Names>& names() const noexcept { return names_; }

  sync::Gate<RealSync> gate;
  OutsideCounts outside;
  Trace trace{*this};
  Reporter reporter{*this};
  std::uint8_t stack_class = 0;

  void announce_death(const Death& death) noexcept;
  void dead_letter(Pid receiver, std::string_view message, DropCause cause) noexcept;
  /// Counts and tells a message that a thread outside could not send.
  void refused_outside(Pid receiver, std::string_view message, DropCause cause) noexcept;

  // Slots, so that no more than max_actors live (domain_slots.cpp). Takes up to `wanted` vacant
  /// slots, chained by next_free; the caller holds the right of each, and has them granted. Any of
  /// its cores, and threads inside the gate.
  [[nodiscard]] Slot* take_slots(std::size_t wanted) noexcept;
  /// Takes a vacant slot of another core, as for take_slots: true when the caller holds its right.
  /// False when news of it is under way to its home.
  [[nodiscard]] bool take_home_from(Slot& slot) noexcept;
  /// Gives a chain of vacant slots of its cores back.
  void give_slots(Slot* chain) noexcept;
  /// Held, no vacant slot is taken, and owned_slots() may be read.
  [[nodiscard]] sync::Mutex& slots_lock() noexcept { return slots_lock_; }
  /// The indexes of all slots that the domain has taken since its start.
  [[nodiscard]] const std::vector<std::uint32_t>& owned_slots() const noexcept {
    return owned_slots_;
  }
  [[nodiscard]] std::size_t grant_slots(std::size_t most) noexcept;
  void return_grant(std::size_t slots) noexcept {
    granted_.fetch_sub(slots, std::memory_order_relaxed);
  }
  /// Who finds no slot makes the cores give theirs back. A core that is busy in a long handler does
  /// so when that has returned.
  void ask_for_slots() noexcept;
  /// Have all done so?
  [[nodiscard]] bool slots_are_back() noexcept;
  /// Waits for that, at most so long. Threads outside.
  void await_slots(machine::Nanoseconds patience);
  [[nodiscard]] std::uint32_t reclaim() const noexcept {
    return reclaim_.load(std::memory_order_relaxed);
  }
  void reclaimed() noexcept;
  /// How many vacant slots a core may keep to itself.
  [[nodiscard]] std::size_t slots_kept() const noexcept;

  /// A core, with a running thread, for one actor that has it to itself. It comes back by itself
  /// when the actor has ended. Throws std::runtime_error, std::system_error.
  [[nodiscard]] Core& take_solo();

  // --- its cores ---------------------------------------------------------------------------------

  [[nodiscard]] bool ending() const noexcept {
    return phase_.load(std::memory_order_acquire) >= Phase::kEnding;
  }
  /// Are the actors that are at work to be named before they are ended?
  [[nodiscard]] bool names_busy() const noexcept { return left_ == Left::kBusy; }
  /// The CPU that a core is to be bound to; -1 when it is not.
  [[nodiscard]] int cpu_for(const Core& core) const noexcept;
  [[nodiscard]] const std::vector<int>& cpus() const noexcept { return cpus_; }
  /// May this core, which has nothing to do, leave its loop?
  [[nodiscard]] bool may_leave(const Core& core) const noexcept;
  /// Is there no other core that could send to this one's?
  [[nodiscard]] bool single() const noexcept {
    return all_cores_.load(std::memory_order_relaxed) == 1;
  }
  /// Is it over, and why? Its core, between rounds.
  [[nodiscard]] bool is_over(Drive& drive, machine::Nanoseconds now) const noexcept;
  void solo_is_vacant(Core& core) noexcept;
  /// Changes whenever all cores are to look about. A core that has read it, and looked, and reads
  /// it again, has missed nothing.
  [[nodiscard]] std::uint32_t bell() const noexcept {
    return bell_.load(std::memory_order_seq_cst);
  }
  void core_sleeps(const Core& core) noexcept;
  void core_wakes(const Core& core) noexcept {
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    crew_.core_wakes(core);
  }
  [[nodiscard]] bool some_sleep() const noexcept {
    return sleepers_.load(std::memory_order_relaxed) != 0;
  }

  /// Whom a stop waits for, or ends: a line of the log, or, if there is none, on stderr.
  void tell_of_stop(std::string_view text) noexcept;

 private:
  enum class Phase : std::uint8_t { kStopped, kRunning, kEnding, kLeaving };
  Domain() = default;

  void report_stopped_send(std::string_view message) noexcept;
  template <class Seen>
  [[nodiscard]] bool watch(machine::Nanoseconds timeout, Seen seen);
  void tell_watchers() noexcept;
  [[nodiscard]] bool quiescent(Countdowns countdowns) const noexcept;
  [[nodiscard]] bool all_ended() const noexcept;
  [[nodiscard]] static std::string runs_on(const Core& core);
  void report_who_runs() noexcept;
  void report_who_holds_up() noexcept;
  void wake_all() noexcept;
  void sweep() noexcept;
  void give_all_slots() noexcept;
  void start_thread(Core& core);
  void end_stage() noexcept;
  void open_poller(Core& core);
  void make_commons(std::size_t cores);
  void end_commons() noexcept;
  Core& add_core();

  Config config_;
  std::optional<StageBounds> stage_;
  RealSync::atomic<bool> stage_claimed_{false};
  // Threads outside call its hooks inside, since they may do so after the domain has stopped.
  sync::Gate<RealSync> hooks_;
  // First the scheduler's, then those of actors with a thread of their own.
  Core* cores_[kMaxCores] = {};
  RealSync::atomic<std::size_t> all_cores_{0};
  std::size_t core_count_ = 0;
  std::vector<int> cpus_;
  std::unique_ptr<Commons> commons_;
  std::shared_ptr<Names> names_;
  Crew crew_{*this};
  RealSync::atomic<Phase> phase_{Phase::kStopped};
  Left left_ = Left::kIdle;
  int process_ = 0;          // that has started it
  std::uint32_t forks_ = 0;  // and how often that had been forked
  RealSync::atomic<std::uint32_t> sleepers_{0};
  RealSync::atomic<std::uint32_t> watchers_{0};
  RealSync::atomic<std::size_t> granted_{0};
  RealSync::atomic<bool> reported_{false};
  RealSync::atomic<std::uint32_t> reclaim_{0};
  RealSync::atomic<std::uint32_t> bell_{0};
  sync::Mutex slots_lock_;
  Slot* free_slots_ = nullptr;              // under slots_lock_
  std::vector<std::uint32_t> owned_slots_;  // likewise

  mutable sync::Mutex lock_;  // for what follows, and for who waits
  sync::Condition changed_;
  std::size_t reclaimed_ = 0;  // cores that have given their slots back
  std::vector<Core*> vacant_solos_;
  Domain* next_free_ = nullptr;
};

/// Has `function` called whenever a domain has stopped and no other runs, by who has stopped it;
/// for layers above that keep threads. Never forgotten. Throws std::bad_alloc.
void when_none_runs(void (*function)() noexcept);

/// Counts a message of a thread outside for which no domain can be blamed.
void count_stray() noexcept;

}  // namespace bulkhead::core
