// How an isolated actor is made anew, in place: see SpawnOptions::restart.
#include <string>
#include <string_view>
#include <utility>

#include "bulkhead/config.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"

namespace bulkhead::core {

bool Restarts::one_more(machine::Nanoseconds now) noexcept {
  if (count == 0 || now - since >= window) {
    since = now;
    count = 0;
  }
  if (count == limit) return false;
  ++count;
  ++all;
  return true;
}

void give_seed(const NewActor& actor, Seed* seed) noexcept {
  Compartment& compartment = *actor.extras->rare->compartment;
  compartment.seed = seed;
  compartment.is_built = !seed->makes_itself;
}

void discard_seed(const Seed* seed) noexcept {
  if (seed->heap != nullptr) {
    static_cast<memory::Heap*>(seed->heap)->discard();
  } else {
    seed->destroy(seed);
  }
}

void refuse_to_restart(std::string_view type) {
  throw ConfigError("bulkhead: SpawnOptions::restart: the actor is spawned with " +
                    std::string(type) + ", which is handed over and so cannot be given again");
}

bool is_built() noexcept {
  const BrieflyInside inside;
  Slot& slot = *inside.core()->running;
  if (slot.isolated()) compartment_of(slot)->is_built = true;
  return !slot.has(Slot::kStopAsked);
}

// It has failed or trapped; its state is gone. True when it goes on, in the place of `finish`.
bool Core::restart_in_place(Slot& slot, const Exit& exit, Settled& settled,
                            std::unique_ptr<Told>& told) {
  Compartment& compartment = *compartment_of(slot);
  if (compartment.seed == nullptr || !compartment.is_built || !is_crash(exit)) return false;
  Core* core = current();
  if (slot.has(Slot::kUnwind | Slot::kStopAsked) || is_sentenced(slot) ||
      core->domain.load(std::memory_order_relaxed)->ending()) {
    return false;
  }
  using Afterwards = CrashReport::Afterwards;
  if (!compartment.restarts.one_more(machine::now())) {
    if (told != nullptr) told->crash->afterwards = Afterwards::kGaveUp;
    return false;
  }
  compartment.belongings.release_all();
  void* state = build_anew(compartment, *slot.kind);
  if (state == nullptr) return false;
  slot.state = state;
  compartment.is_lost = true;  // what it had taken, and put back, went with its memory
  Bond* const untold = leave_all(slot, exit, Made::kByItself);
  slot.extras->traps = false;
  if (slot.inbox.has_mail()) core->take_in(slot, slot.inbox.take());
  for (std::uint32_t left = slot.length; left > 0 && slot.oldest != nullptr; --left) {
    core->drop(slot.pop(), pid_of(slot), DropCause::kGone);
  }
  compartment.is_lost = false;
  compartment.locks.count = 0;
  end_timers(slot, *core);
  if (slot.has(Slot::kTimeoutArmed)) core->disarm_timeout(slot);
  if (slot.has(Slot::kTimeoutDue)) core->counts.timeouts_ended.raise();
  if (slot.has(Slot::kStartPending)) ++settled.handled;
  slot.clear(Slot::kTimeoutDue | Slot::kTimeoutOver);
  tell_all(*core, untold);
  if (told != nullptr) {
    told->crash->afterwards = Afterwards::kRestartedInPlace;
    core->domain.load(std::memory_order_relaxed)->reporter.put(std::move(told));
  }
  if (exit.kind() == Exit::Kind::kPanic) core->counts.failed.raise();
  if (exit.kind() == Exit::Kind::kTrapped) core->counts.trapped.raise();
  core->counts.restarted.raise();
  if (slot.kind->started != nullptr) {
    slot.set(Slot::kStartPending);
    core->counts.sent.raise();  // as by its spawn
  }
  core->stack->exit = nullptr;
  core->running = nullptr;
  slot.turn = Turn::kReady;
  core->queue_fair(slot);
  core->counts.dropped_sent.raise(settled.dropped);
  core->counts.handled.raise(settled.handled);
  return true;
}

}  // namespace bulkhead::core
