#include "bulkhead/spawn.hpp"

#include <string>
#include <system_error>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "bulkhead/config.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

constexpr std::size_t kMostMail = 1'000'000'000;
constexpr std::size_t kMostRestarts = 1'000'000;

[[noreturn]] void refuse_for_lack_of_slots(const Domain& domain) {
  const char* setting = domain.stage() != nullptr ? "StageConfig::actors" : "Config::max_actors";
  throw SpawnError("bulkhead: no room for another actor: " + std::string(setting) + " is " +
                   std::to_string(domain.config().max_actors) + ", and all are in use");
}

void check(const SpawnOptions& options, const Domain& domain) {
  if (options.core && *options.core >= domain.core_count()) {
    throw ConfigError("bulkhead: SpawnOptions::core is " + std::to_string(*options.core) +
                      ", but the runtime has cores 0 to " +
                      std::to_string(domain.core_count() - 1));
  }
  if (options.core && options.own_thread) {
    throw ConfigError("bulkhead: SpawnOptions: an actor with own_thread has no core to start on");
  }
  if (options.stack_size && (*options.stack_size < machine::kMinStackBytes ||
                             *options.stack_size > machine::kMaxStackBytes)) {
    throw ConfigError("bulkhead: SpawnOptions::stack_size is " +
                      std::to_string(*options.stack_size) + " bytes; it must be 16 KiB to 1 GiB");
  }
  if (options.mailbox_bound &&
      (*options.mailbox_bound == 0 || *options.mailbox_bound > kMostMail)) {
    throw ConfigError("bulkhead: SpawnOptions::mailbox_bound is " +
                      std::to_string(*options.mailbox_bound) + "; it must be 1 to 1,000,000,000");
  }
}

void check_isolation(const Isolation& isolation, const ActorClass& kind, const Domain& domain) {
  if (isolation.heap_limit < memory::Heap::kLeastLimit ||
      isolation.heap_limit > memory::Heap::kMostLimit) {
    throw ConfigError("bulkhead: Isolation::heap_limit is " + std::to_string(isolation.heap_limit) +
                      " bytes; it must be 4 KiB to 32 GiB");
  }
  if (!domain.config().report_faults) {
    throw ConfigError(
        "bulkhead: SpawnOptions::isolated: faults are contained by the handlers that "
        "Config::report_faults installs, and that is off");
  }
  if (kind.joint != nullptr) {
    throw ConfigError(
        "bulkhead: SpawnOptions::isolated: an isolated actor cannot be joined: monitor it");
  }
}

void check_restart(const SpawnOptions& options) {
  if (!options.isolated) {
    throw ConfigError(
        "bulkhead: SpawnOptions::restart: only an isolated actor is made anew in place; others "
        "are restarted by supervisors");
  }
  const RestartInPlace& restart = *options.restart;
  if (restart.limit == 0 || restart.limit > kMostRestarts) {
    throw ConfigError("bulkhead: RestartInPlace::limit is " + std::to_string(restart.limit) +
                      "; it must be 1 to 1,000,000");
  }
  if (restart.window.nanoseconds() == 0) {
    throw ConfigError("bulkhead: RestartInPlace::window is 0; it must be longer");
  }
}

void check_bonds(const SpawnOptions& options, const Core* core) {
  if (!options.linked && options.monitor == nullptr) return;
  if (core == nullptr || core->running == nullptr) {
    throw ConfigError(
        "bulkhead: SpawnOptions::linked and monitor are between an actor and its spawner; this one "
        "is spawned outside any actor");
  }
  if (options.monitor != nullptr && core->running->kind->down == nullptr) {
    throw ConfigError("bulkhead: SpawnOptions::monitor: the spawner is of class " +
                      std::string(core->running->kind->name) +
                      ", which has no receive(bulkhead::Down), and could not be told");
  }
}

// Where the core has changed; the actor may change it again, while a straggler's news of the slot
// is under way. Until the slot has its home again, nobody but the caller touches it.
[[gnu::noinline, gnu::cold]] Core* home_from_elsewhere(const NewActor& actor, Core*& core) {
  for (;;) {
    core = Core::current();
    const std::uint16_t home = actor.slot->home.load(std::memory_order_relaxed);
    if (home == core->index) return nullptr;
    Domain& domain = *core->domain.load(std::memory_order_relaxed);
    if (domain.take_home_from(*actor.slot)) return core_at(home);
    Core::yield();
  }
}

// The constructor may have blocked, and gone on on another core than it began on; the slot is still
// the first one's, which is then given it as if by any other core. `core` is the caller's, and
// afterwards again.
Core* home_after_all(const NewActor& actor, Core*& core) {
  if (actor.home != nullptr) return actor.home;
  if (actor.slot->home.load(std::memory_order_relaxed) == core->index) return nullptr;
  return home_from_elsewhere(actor, core);
}

// An isolated actor's state lies in its heap.
[[gnu::noinline, gnu::cold]] void take_isolated_state(NewActor& actor, Core* core,
                                                      const ActorClass& kind,
                                                      const SpawnOptions& options) {
  const Isolation& isolation = *options.isolated;
  if (actor.extras == nullptr) actor.extras = make_extras(core);
  if (actor.extras->rare == nullptr) actor.extras->rare = make_rare(core);
  Compartment* compartment = make_compartment(isolation.heap_limit);
  actor.extras->rare->compartment = compartment;
  if (options.restart) {
    compartment->restarts = {.limit = options.restart->limit,
                             .window = options.restart->window.nanoseconds()};
  }
  actor.slot->state_pool = kActorsHeap;
  actor.slot->state = take_in_compartment(*compartment, kind.size, kind.alignment);
  if (actor.slot->state == nullptr) {
    throw ConfigError("bulkhead: SpawnOptions::isolated: an actor of " + std::to_string(kind.size) +
                      " bytes has no room in a heap of " + std::to_string(isolation.heap_limit));
  }
}

// Memory for an actor's state: of the core's pool, or of the heap for makers outside.
void take_state(Slot& slot, Core* core, const ActorClass& kind) {
  slot.state_class = block_class(kind.size);
  slot.state_pool = core != nullptr ? core->index : kHeapPool;
  if (core == nullptr || slot.state_class == kHeapClass) {
    slot.state_class = kHeapClass;
    slot.state_pool = kHeapPool;
    slot.state = memory::take_from_heap(kind.size);
  } else {
    slot.state = core->pool.take(slot.state_class);
  }
}

bool is_outside(const Core* core, const Domain& domain) noexcept {
  return core == nullptr || core->domain.load(std::memory_order_relaxed) != &domain;
}

// Hands a slot to the core that is its home from now on: with an actor, or vacant.
void hand_to(Slot& slot, Core& home) noexcept {
  slot.set(Slot::kMoving);
  slot.home.store(home.index, std::memory_order_release);  // [pair slot.home]
  home.notify_remote(slot);
}

Core& take_solo(Domain& domain) {
  if (domain.stage() != nullptr) {
    throw SpawnError(
        "bulkhead: SpawnOptions::own_thread: a stage has the thread that runs it, and no other");
  }
  try {
    return domain.take_solo();
  } catch (const std::system_error& error) {
    throw SpawnError(
        std::string("bulkhead: no thread could be made for an actor with own_thread: ") +
        error.what());
  }
}

// The core to start on, null when it is the caller's.
[[gnu::always_inline]] inline Core* home_elsewhere(const SpawnOptions& options, const Core* core,
                                                   Domain& domain) {
  if (options.own_thread) return &take_solo(domain);
  const bool outside = is_outside(core, domain);
  if (!options.core && !outside && !core->solo) return nullptr;
  Core* home = &domain.core(options.core.value_or(0));
  return home == core ? nullptr : home;
}

// A vacant slot; of one for another core, the right of notification is held. Null when there is
// none that no core keeps to itself.
Slot* take_slot(Core* home, Core* core, Domain& domain) noexcept {
  if (home == nullptr) return core->take_slot();
  if (domain.grant_slots(1) == 0) return nullptr;
  Slot* slot = domain.take_slots(1);
  if (slot == nullptr) domain.return_grant(1);
  return slot;
}

// The same when there seems to be none: makes all cores give back those that they keep for their
// next spawns, and waits for that; an actor lets the others run meanwhile, and may go on on another
// core.
[[gnu::noinline, gnu::cold]] void await_slot(NewActor& actor, const SpawnOptions& options,
                                             BrieflyInside& inside, Domain& domain) {
  if (domain.slots_kept() == 0) refuse_for_lack_of_slots(domain);
  constexpr machine::Nanoseconds kPatience = 100 * machine::kMillisecond;  // for long handlers
  Core* core = inside.core();
  if (is_outside(core, domain)) {
    domain.ask_for_slots();
    domain.await_slots(kPatience);
    actor.slot = take_slot(actor.home, core, domain);
  } else if (core->may_wait() && base::critical == nullptr) {
    domain.ask_for_slots();
    const machine::Nanoseconds deadline = machine::now() + kPatience;
    for (bool last = false; actor.slot == nullptr && !last;) {
      inside.goes_on_on(Core::yield());
      Core::check_unwind();
      last = domain.slots_are_back() || machine::now() >= deadline;
      if (!options.own_thread) actor.home = home_elsewhere(options, inside.core(), domain);
      actor.slot = take_slot(actor.home, inside.core(), domain);
    }
  }
  if (actor.slot == nullptr) refuse_for_lack_of_slots(domain);
}

// Between the new actor and its spawner.
void make_bonds(NewActor& actor, const SpawnOptions& options, Core* core) {
  if ((!options.linked && options.monitor == nullptr) || core->running->has(Slot::kEnding)) return;
  Slot& self = *core->running;
  static_cast<void>(extras_of(self, *core));
  actor.extras = make_extras(core);
  if (const Rare* own = self.extras->rare; own != nullptr && own->child_restarts != 0) {
    actor.extras->rare = make_rare(core);
    actor.extras->rare->restarts = own->child_restarts;
  }
  const Pid other(Slab::index_of(*actor.slot),
                  actor.slot->generation.load(std::memory_order_relaxed));
  if (options.linked) {
    actor.bonds[0] = &make_bond(*core, Bond::Kind::kLink, pid_of(self), other);
  }
  if (options.monitor != nullptr) {
    actor.bonds[1] = &make_bond(*core, Bond::Kind::kMonitor, pid_of(self), other);
  }
}

// The new actor is set up, and nobody knows it yet.
void tie_bonds(const NewActor& actor, const SpawnOptions& options, const Core& core) noexcept {
  if (actor.extras == nullptr) return;
  for (Bond* bond : actor.bonds) {
    if (bond == nullptr) continue;
    tie_both(*core.running->extras, *actor.extras, *bond);
    if (bond->kind == Bond::Kind::kMonitor) {
      *options.monitor = {bond->index, bond->generation.load(std::memory_order_relaxed)};
    }
  }
}

// Undoes what begin_spawn has done so far, but for the state's memory.
void give_up(const NewActor& actor, Domain& domain) noexcept {
  Core* core = Core::current();
  for (Bond* bond : actor.bonds) {
    if (bond != nullptr) give_bond(&bond->news);
  }
  if (actor.extras != nullptr) {
    free_rare(actor.extras->rare, core);
    release_anywhere(actor.extras, actor.extras->pool, 0, core);
  }
  if (actor.slot != nullptr) {
    const bool is_here = home_after_all(actor, core) == nullptr;
    actor.slot->state = nullptr;
    actor.slot->flags = 0;
    actor.slot->turn = Turn::kVacant;
    if (is_here) {
      core->give_slot(*actor.slot);
    } else {
      // Stragglers for its older pids may wait in its inbox: its next home drops them.
      hand_to(*actor.slot, domain.core(0));
    }
  }
  if (actor.home != nullptr && actor.home->solo) domain.solo_is_vacant(*actor.home);
  if (is_outside(core, domain)) domain.gate.leave();
}

}  // namespace

NewActor begin_spawn(const ActorClass& kind, const SpawnOptions& options, Domain* domain) {
  BrieflyInside inside;
  Core* core = inside.core();
  if (domain == nullptr) {
    if (core == nullptr || core->running == nullptr) {
      throw SpawnError(
          "bulkhead: spawn was called outside any actor (a hook of Config is outside, too): use "
          "Runtime::spawn, which says where");
    }
    domain = core->domain.load(std::memory_order_relaxed);
  }
  check(options, *domain);
  check_bonds(options, core);
  if (options.isolated) check_isolation(*options.isolated, kind, *domain);
  if (options.restart) check_restart(options);
  const bool crosses = core != nullptr && crosses_from(*core);
  if (crosses && kind.joint != nullptr) {
    throw ConfigError(
        "bulkhead: spawn_joinable was called in an isolated actor, which shares no memory with "
        "others: monitor the new actor, and have it send its result");
  }
  if (is_outside(core, *domain)) {
    if (!domain->gate.enter()) {
      throw SpawnError(
          "bulkhead: no actor can be made: the runtime is not running; call Runtime::start() "
          "first");
    }
  } else if (domain->ending()) {
    throw SpawnError("bulkhead: no actor can be made: the runtime is shutting down");
  }
  NewActor actor{nullptr, nullptr, nullptr};
  actor.crosses = crosses;
  try {
    actor.home = home_elsewhere(options, core, *domain);
    actor.slot = take_slot(actor.home, core, *domain);
    if (actor.slot == nullptr) [[unlikely]]
      await_slot(actor, options, inside, *domain);
    core = inside.core();
    make_bonds(actor, options, core);
    if (options.isolated) [[unlikely]] {
      take_isolated_state(actor, core, kind, options);
    } else {
      take_state(*actor.slot, core, kind);
    }
  } catch (...) {
    give_up(actor, *domain);
    throw;
  }
  actor.state = actor.slot->state;
  return actor;
}

void cancel_spawn(const NewActor& actor) noexcept {
  const Inside inside;
  Slot& slot = *actor.slot;
  Core* core = Core::current();
  if (slot.state_pool != kActorsHeap)
    release_anywhere(slot.state, slot.state_pool, slot.state_class, core);
  give_up(actor, actor.home != nullptr ? *actor.home->domain.load(std::memory_order_relaxed)
                                       : *core->domain.load(std::memory_order_relaxed));
}

namespace {

// Everything of a new actor's slot but its home and its turn.
void set_up(Slot& slot, const ActorClass& kind, const SpawnOptions& options, const Domain& domain,
            machine::Nanoseconds now) {
  slot.wanted_by.store(kNoCore, std::memory_order_relaxed);
  const StageBounds* stage = domain.stage();
  const std::size_t bound = options.mailbox_bound.value_or(stage != nullptr ? stage->mailbox : 0);
  slot.mail_bound.store(static_cast<std::uint32_t>(bound), std::memory_order_relaxed);
  slot.oldest = slot.newest = nullptr;
  slot.kind.publish(&kind);  // who finds it, finds the last actor's generation gone
  slot.stack = nullptr;
  slot.length = 0;
  slot.flags = options.pinned ? Slot::kPinned : std::uint16_t{0};
  if (domain.commons() != nullptr && !options.pinned && !options.core && !options.own_thread)
      [[unlikely]] {
    slot.set(Slot::kRoams);
  }
  slot.stack_class =
      options.stack_size ? machine::stack_class(*options.stack_size) : domain.stack_class;
  if (options.isolated) slot.stack_class |= Slot::kIsolated;
  slot.timeout = Timer{};
  slot.wait_timer = nullptr;
  slot.handled = 0;
  slot.stays_until = coarse(now);
  if (kind.receive_timeout != nullptr) slot.set(Slot::kHasTimeout);
  if (kind.started != nullptr || kind.receive_timeout != nullptr) slot.set(Slot::kStartPending);
}

// The last of it that others look at.
[[gnu::always_inline]] inline void let_live(Slot& slot, const Core* core) {
  slot.parent = core != nullptr && core->running != nullptr ? pid_of(*core->running) : Pid();
  slot.lives.publish(true);
}

}  // namespace

Pid finish_spawn(const NewActor& actor, const ActorClass& kind,
                 const SpawnOptions& options) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = enter();
  Slot& slot = *actor.slot;
  const Pid pid(Slab::index_of(slot), slot.generation.load(std::memory_order_relaxed));
  Core* elsewhere = home_after_all(actor, core);
  if (elsewhere == nullptr) {
    set_up(slot, kind, options, *core->domain.load(std::memory_order_relaxed), core->clock());
    slot.extras = actor.extras;
    let_live(slot, core);
    tie_bonds(actor, options, *core);
    core->counts.started.raise();
    slot.turn = Turn::kIdle;
    if (slot.has(Slot::kStartPending)) core->counts.sent.raise();
    if (core->trace != nullptr) [[unlikely]]
      core->trace->spawns(core->running, pid, kind);
    if (slot.has(Slot::kRoams)) [[unlikely]] {
      core->launch(slot);
      core->leave(was);
      return pid;
    }
    if (slot.has(Slot::kStartPending)) core->make_ready(slot);
    // The constructor may have let the core run, and that may have ended all the others.
    core->end_newcomer(slot);
    core->leave(was);
    return pid;
  }
  Core& home = *elsewhere;
  Domain& domain = *home.domain.load(std::memory_order_relaxed);
  set_up(slot, kind, options, domain, machine::now());
  slot.extras = actor.extras;
  if (home.solo) slot.set(Slot::kSolo);
  let_live(slot, core);
  if (core != nullptr) tie_bonds(actor, options, *core);
  slot.turn = Turn::kReady;
  const bool outside = is_outside(core, domain);
  if (outside) {
    domain.outside.started.fetch_add(1, std::memory_order_release);
    if (domain.trace.is_on()) domain.trace.spawns_outside(pid, kind);
    if (slot.has(Slot::kStartPending)) domain.outside.sent.fetch_add(1, std::memory_order_release);
  } else {
    core->counts.started.raise();
    if (core->trace != nullptr) core->trace->spawns(core->running, pid, kind);
    if (slot.has(Slot::kStartPending)) core->counts.sent.raise();
  }
  if (slot.has(Slot::kRoams)) {
    domain.commons()->become_home_of(slot);
    notify(slot);
  } else {
    hand_to(slot, home);
  }
  if (outside) domain.gate.leave();
  if (core != nullptr) core->leave(was);
  return pid;
}

}  // namespace bulkhead::core
