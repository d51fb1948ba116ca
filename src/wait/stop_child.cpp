// Only its owner may mark an actor to be unwound. So an actor is sent to where it lives that does
// it there, and follows it when it has moved.
#include "wait/stop_child.hpp"

#include <exception>

#include "bulkhead/delivery.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/spawn.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/slab.hpp"

namespace bulkhead {

Delivery stop(Pid actor);

namespace wait {

namespace {

using core::Core;
using core::Slot;
using core::Turn;

struct Stopper {
  Pid child;

  void operator()() const noexcept {
    Slot& slot = core::Slab::at(child.index());
    Core* core = Core::current();
    if (slot.home.load(std::memory_order_acquire) != core->index) {  // [pair slot.home]
      stop_child(child);
      return;
    }
    // It is ours now, and stays so while we run.
    if (slot.generation.load(std::memory_order_relaxed) != child.generation()) return;
    if (slot.has(Slot::kMoving)) {
      stop_child(child);
      return;
    }
    slot.set(Slot::kUnwind);
    if (slot.turn == Turn::kIdle) core->make_ready(slot);
    if (slot.turn == Turn::kParked && slot.wait.claim_any()) core->resume_later(slot);
  }
};

}  // namespace

void stop_child(Pid child) noexcept {
  const Slot& slot = core::Slab::at(child.index());
  if (slot.generation.load(std::memory_order_acquire) != child.generation()) return;
  const core::Domain& domain = *Core::current()->domain.load(std::memory_order_relaxed);
  const Core* home = core::core_at(slot.home.load(std::memory_order_acquire));
  if (home == nullptr || home->domain.load(std::memory_order_relaxed) != &domain) return;
  SpawnOptions there;
  there.core = domain.place_of(*home);
  there.pinned = true;
  if (*there.core >= domain.core_count()) {  // it has a thread to itself
    static_cast<void>(bulkhead::stop(child));
    return;
  }
  try {
    static_cast<void>(spawn_with(there, Stopper{child}));
  } catch (const std::exception&) {  // when the runtime shuts down, it ends all actors itself
  }
}

}  // namespace wait

}  // namespace bulkhead
