// An actor whose core has gone on in another thread: how it is left behind, and how it comes home.
// See crew.hpp.
#include <utility>

#include "base/check.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
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
  if (!ready.empty() || !arrivals.empty()) return true;
  if (timers.has_fresh() || timers.next_due() <= machine::now()) return true;
  return domain.load(std::memory_order_relaxed)->bell() != heard_ || poller.has_news();
}

// Leaves the running actor behind in its thread. The watch, which has taken the core. Throws when
// there is no memory for a stack; then nothing has changed.
void Core::part_from(Worker& old) {
  machine::Stack* fresh = take_stack(domain.load(std::memory_order_relaxed)->stack_class);
  Slot& slot = *std::exchange(running, nullptr);
  slot.turn = Turn::kAway;
  old.away = &slot;
  old.away_pid = pid_of(slot);
  old.away_name = slot.kind->name;
  old.away_stack = std::exchange(stack, fresh);
  old.reserved = std::exchange(spare_, nullptr);
}

// A thread that came inside and found no core: an outside thread; or one whose core is being looked
// at; or it runs an actor that is away, which then comes home. Goes on, in the last case, in the
// thread that runs the core.
[[gnu::noinline, gnu::cold]] Core* enter_slowly() noexcept {
  Worker* worker = tl_seat.worker;
  if (worker == nullptr) return nullptr;
  if (Core* core = worker->crew.look_again(*worker); core != nullptr) return core;
  Core::come_home(*worker);
  return Core::current();
}

void Core::come_home(Worker& worker) noexcept {
  machine::Stack* reserved = std::exchange(worker.reserved, nullptr);
  Homecoming home{};
  home.stack = worker.away_stack;
  home.signal.ops = &kHomecoming;
  // Of no incarnation that could be meant, so that nobody has to look for it in the usual case.
  home.signal.generation = ~worker.away->generation.load(std::memory_order_relaxed);
  home.signal.pool = kHeapPool;
  worker.homecoming = &home;
  machine::change(home.stack, &worker.own, machine::thread_exceptions());
  if (reserved == nullptr) return;
  Core* core = current();
  if (core->spare_ == nullptr) {
    core->spare_ = reserved;
  } else {
    core->stacks.give(reserved);
  }
}

// The owner finds a signal in the inbox that is for no incarnation that lives.
bool Core::welcome(Slot& slot, Signal* signal) {
  if (signal->ops != &kHomecoming) return false;
  BULKHEAD_CHECK(slot.turn == Turn::kAway, "who comes home was away");
  slot.stack = reinterpret_cast<Homecoming*>(signal)->stack;
  slot.turn = Turn::kReady;
  ready.push_fair(&slot);
  return true;
}

}  // namespace bulkhead::core
