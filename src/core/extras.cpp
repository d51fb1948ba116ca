#include "core/extras.hpp"

#include <new>

#include "core/compartment.hpp"
#include "core/inside.hpp"

namespace bulkhead::core {

namespace {

// Null: of a thread outside.
void* take_smallest(Core* core) {
  return core != nullptr ? core->pool.take(0) : memory::take_from_heap(kSmallestBlock);
}

}  // namespace

Extras* make_extras(Core* core) {
  auto* extras = new (take_smallest(core)) Extras;
  extras->pool = core != nullptr ? core->index : kHeapPool;
  return extras;
}

Rare* make_rare(Core* core) {
  auto* rare = new (take_smallest(core)) Rare;
  rare->pool = core != nullptr ? core->index : kHeapPool;
  return rare;
}

void free_rare(Rare* rare, Core* core) noexcept {
  if (rare == nullptr) return;
  if (rare->compartment != nullptr) discard_compartment(rare->compartment);
  delete rare->stop;
  delete rare->notes;
  release_anywhere(rare, rare->pool, 0, core);
}

Extras& extras_of(Slot& slot, Core& core) {
  if (slot.extras == nullptr) slot.extras = make_extras(&core);
  return *slot.extras;
}

Rare& rare_of(Slot& slot, Core& core) {
  Extras& extras = extras_of(slot, core);
  if (extras.rare == nullptr) extras.rare = make_rare(&core);
  return *extras.rare;
}

Notes& notes_of(Slot& slot, Core& core) {
  Rare& rare = rare_of(slot, core);
  if (rare.notes == nullptr) rare.notes = new Notes;
  return *rare.notes;
}

void tell_stop(Slot& slot) noexcept {
  if (slot.extras == nullptr || slot.extras->rare == nullptr) return;
  sync::StopSource* stop = slot.extras->rare->stop;
  if (stop == nullptr) return;
  const InTheMiddle here;  // callbacks are the user's
  stop->request_stop();
}

void discard_extras(Slot& slot, Core& core) noexcept {
  if (slot.has(Slot::kUnwind)) tell_stop(slot);
  free_rare(slot.extras->rare, &core);
  end_timers(slot, core);
  {
    const InTheMiddle here(&core);
    slot.extras->~Extras();
  }
  core.release_block(slot.extras, slot.extras->pool, 0);
  slot.extras = nullptr;
}

}  // namespace bulkhead::core
