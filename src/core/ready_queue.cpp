#include "core/ready_queue.hpp"

#include "core/slot.hpp"

namespace bulkhead::core {

[[gnu::cold]] void ReadyQueue::grow_or_chain(SlotRing& ring, Slot* slot) noexcept {
  if (!ring.push_back(slot)) chain(slot);
}

[[gnu::cold]] void ReadyQueue::chain(Slot* slot) noexcept {
  slot->next_free = nullptr;
  (first_chained_ == nullptr ? first_chained_ : last_chained_->next_free) = slot;
  last_chained_ = slot;
  ++chained_;
}

[[gnu::cold]] Slot* ReadyQueue::unchain() noexcept {
  Slot* slot = first_chained_;
  if (slot == nullptr) return nullptr;
  first_chained_ = slot->next_free;
  --chained_;
  return slot;
}

}  // namespace bulkhead::core
