// An actor whose core has gone on in another thread: how it is left behind, and how it comes home.
// See crew.hpp.
#include <utility>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "base/errno.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

Signal* deliver_homecoming(void* /*actor*/, Signal* signal) { return signal; }
void destroy_homecoming(Signal* /*signal*/, DropCause /*cause*/) {}

// Only its address counts: it is never delivered.
constexpr SignalOps kHomecoming = {&deliver_homecoming, &destroy_homecoming, "homecoming"};

}  // namespace

// What a stuck handler must let others wait for. The watch, which has taken the core.
bool Core::is_waited_for() const noexcept {
  return has_something_to_do(machine::now()) || poller.has_news();
}

// Leaves the running actor behind in its thread. The watch, which has taken the core. Throws when
// there is no memory for a stack; then nothing has changed. (A stack that was reserved for the next
// wait stays with the core: between the begin of a wait and its end the actor is inside.)
void Core::part_from(Worker& old) {
  machine::Stack* fresh = take_stack(domain.load(std::memory_order_relaxed)->stack_class);
  Slot& slot = *static_cast<Slot*>(running);
  BULKHEAD_ASSERT(slot.turn == Turn::kRunning, "outside the runtime it neither waits nor is ready");
  old.away_pid = pid_of(slot);
  old.away_kind = slot.kind;
  old.away_stack = slot.stack = stack;
  old.away.publish(&slot);
  if (trace != nullptr) trace->ends(slot, TurnEnd::kAway);
  running = nullptr;
  slot.turn = Turn::kAway;
  stack = fresh;
}

// A thread that came inside and found no core: an outside thread; or one whose core is being looked
// at; or it runs an actor that is away, which then comes home. Goes on, in the last case, in the
// thread that runs the core. `how`: see Seat::enter.
[[gnu::noinline, gnu::cold]] Core* enter_slowly(std::uint8_t how) noexcept {
  Worker* worker = tl_seat.worker;
  if (worker == nullptr) return nullptr;
  if (Core* core = worker->crew.look_again(*worker); core != nullptr) return core;
  BULKHEAD_ASSERT(base::critical == nullptr, "no call into the runtime is made under a lock");
  const int error = base::read_errno();
  Core::come_home(*worker);
  base::write_errno(error);
  Core* core = Core::current();
  core->leave(how);  // as which the other thread came inside
  return core;
}

void Core::come_home(Worker& worker) noexcept {
  Signal home{};
  home.ops = &kHomecoming;
  // Of no incarnation that could be meant, so that nobody has to look for it in the usual case.
  home.generation = ~worker.away->generation.load(std::memory_order_relaxed);
  home.pool = kHeapPool;
  worker.homecoming = &home;
  const Slot& slot = *static_cast<Slot*>(worker.away);
  const bool isolated = slot.isolated();
  if (isolated) leave_compartment();
  machine::change(worker.away_stack, &worker.own, machine::thread_exceptions());
  if (isolated) enter_compartment(slot);  // in another thread
}

// The owner finds a signal in the inbox that is for no incarnation that lives.
bool Core::welcome(Slot& slot, const Signal* signal) {
  if (signal->ops != &kHomecoming) return false;
  BULKHEAD_CHECK(slot.turn == Turn::kAway, "who comes home was away");
  slot.turn = Turn::kReady;
  ready.push_fair(&slot);
  return true;
}

}  // namespace bulkhead::core
