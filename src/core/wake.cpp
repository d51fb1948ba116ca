// The way of a wake-up to an actor that waits, by whoever has claimed its wait.
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/guest.hpp"
#include "core/inside.hpp"
#include "core/requests.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

void wake_actor(Core* core, Slot& slot, std::uint16_t home) noexcept {
  if (core != nullptr && home == core->quick_home) [[likely]] {
    core->resume_later(slot);
    return;
  }
  if (core != nullptr && core->trace != nullptr) [[unlikely]] {
    core->trace->wakes(core->running, slot);
    if (home == core->index) return core->resume_later(slot);
  }
  // The actor is parked, or about to be, until this signal arrives: it is this wait's only one, and
  // its domain does not stop before.
  Domain* domain = core_at(home)->domain.load(std::memory_order_acquire);
  const bool outside = core == nullptr || core->domain.load(std::memory_order_relaxed) != domain;
  if (outside) domain->gate.visit();
  if (core == nullptr && domain->trace.is_on()) [[unlikely]] {
    domain->trace.wakes_outside(
        {Slab::index_of(slot), slot.generation.load(std::memory_order_relaxed)});
  }
  push_home(slot, slot.resume);
  if (outside) domain->gate.leave();
}

}  // namespace

void wake(Slot& slot) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = enter();
  const std::uint16_t home = slot.home.load(std::memory_order_acquire);
  if (home < kRequestHome) [[likely]] {
    wake_actor(core, slot, home);
  } else if (home == kRequestHome) {
    respond(slot);
  } else {
    unpark_guest(slot);
  }
  if (core != nullptr) core->leave(was);
}

// --- signals that do not wait for their turn -----------------------------------------------------

void Core::hear(Slot& slot, Signal* signal) noexcept {
  const Pid receiver = pid_of(slot);
  if (signal->ops->deliver(&slot, signal) != nullptr) {
    discard(signal, receiver, DropCause::kGone);
    return;
  }
  counts.sent.raise();
  if (slot.turn == Turn::kIdle) make_ready(slot);
}

Slot* Core::find_own(Pid actor) noexcept {
  Slot* slot = Slab::find(actor.index());
  if (slot == nullptr || slot->home.load(std::memory_order_acquire) != index ||  // [pair slot.home]
      !lives(slot, actor)) {
    return nullptr;
  }
  if (slot->inbox.has_mail()) take_in(*slot, slot->inbox.take());
  return slot;
}

}  // namespace bulkhead::core
