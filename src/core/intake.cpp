// What comes to a core: slots, by its arrivals, and signals, by the inboxes of its actors.
#include "base/check.hpp"
#include "core/core.hpp"
#include "core/extras.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

void Core::take_arrivals() {
  Slot* slot = arrivals.take_all();
  while (slot != nullptr) {
    Slot* next = slot->next_arrival;
    BULKHEAD_ASSERT(slot->home.load(std::memory_order_acquire) == index,
                    "home changes only under the right, which came along");
    if (slot->turn == Turn::kVacant && !slot->has(Slot::kMoving)) {
      drop_stragglers(*slot);
    } else if (!wants_over(*slot)) {
      const bool moved_in = slot->has(Slot::kMoving);
      if (moved_in && slot->turn == Turn::kVacant) {
        // Made for an actor whose constructor threw.
        slot->clear(Slot::kMoving);
        drop_stragglers(*slot);
        give_slot(*slot);
      } else {
        Signal* signals = slot->inbox.settle();
        if (moved_in) adopt(*slot);
        take_in(*slot, signals);
        if (slot->has(Slot::kRoams)) [[unlikely]]
          look_at_timeout(*slot);
      }
    }
    slot = next;
  }
}

// For a vacant slot: once the right is given up, another core may take the slot.
void Core::drop_stragglers(Slot& slot) noexcept { drop_all(slot, slot.inbox.settle()); }

void Core::drop_all(const Slot& slot, Signal* signals) noexcept {
  const std::uint32_t slot_index = Slab::index_of(slot);
  if (passes_on_ && signals != nullptr) [[unlikely]]
    pass_on();  // hooks may take long
  while (signals != nullptr) {
    Signal* next = signals->next;
    drop(signals, Pid(slot_index, signals->generation), DropCause::kGone);
    signals = next;
  }
}

// A slot that another core, or an outside thread, has handed over.
void Core::adopt(Slot& slot) {
  slot.clear(Slot::kMoving);
  if (slot.has(Slot::kTimeoutArmed)) timers.start_at(slot.timeout, slot.timeout.due);
  file_timers(slot, *this);
  if (slot.turn == Turn::kReady) {
    ready.push_fair(&slot);
  } else if (slot.turn == Turn::kIdle && (slot.oldest != nullptr || slot.has(Slot::kUnwind))) {
    make_ready(slot);
  }
  end_newcomer(slot);
}

// What is dropped, or has been heard, is destroyed last: its destructor may send to the same actor,
// and so take in what has come since.
void Core::take_in(Slot& slot, Signal* signals) noexcept {
  const std::uint32_t generation = slot.generation.load(std::memory_order_relaxed);
  Signal* stragglers = nullptr;
  Signal** end = &stragglers;
  while (signals != nullptr) {
    Signal* next = signals->next;
    if (signals == &slot.resume) {
      resume_later(slot);
    } else if (signals->generation != generation || slot.turn == Turn::kVacant) {
      if (!welcome(slot, signals)) {
        *end = signals;
        end = &signals->next;
      }
    } else if ((signals->flags & (Signal::kUrgent | Signal::kFirst)) != 0) [[unlikely]] {
      if ((signals->flags & Signal::kFirst) != 0) {
        file(slot, signals, *this);
      } else if (signals->ops->deliver(&slot, signals) != nullptr) {
        *end = signals;
        end = &signals->next;
      }
    } else {
      slot.append(signals);
    }
    signals = next;
  }
  if (slot.turn == Turn::kIdle && slot.oldest != nullptr) make_ready(slot);
  *end = nullptr;
  drop_all(slot, stragglers);
}

Core* Core::drop_mail(Slot& slot) noexcept {
  take_in(slot, slot.inbox.take());
  return current();
}

[[gnu::noinline]] void Core::make_ready_slowly(Slot& slot) {
  if (slot.has(Slot::kMoving)) return;  // ours already, but its arrival makes it ready
  if (slot.has(Slot::kReceiving)) {
    // When somebody else has claimed its wait, its resume is on the way.
    if (!slot.wait.claim_any()) return;
    if (trace != nullptr) trace->wakes(running, slot);
    resume_later(slot);
    return;
  }
  if (slot.has(Slot::kTimeoutArmed)) disarm_timeout(slot);
  slot.turn = Turn::kReady;
  queue_hot(slot);
}

}  // namespace bulkhead::core
