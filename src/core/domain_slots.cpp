// Vacant slots: how many of a domain may be out, those that no core keeps, and those that one does.
#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "core/domain.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {
constexpr std::size_t kSlotBatch = 256;

// Under the slots' lock, so that the former home does not look at it meanwhile (stop.cpp). False
// when a straggler's news of it is under way there.
bool claim_from_home(Slot& slot) noexcept {
  if (!slot.inbox.claim_right()) return false;
  slot.home.store(kNoCore, std::memory_order_release);
  return true;
}

}  // namespace

Slot* Domain::take_slots(std::size_t wanted) noexcept {
  Slot* chain = nullptr;
  sync::Guard guard(slots_lock_);
  {
    for (Slot** link = &free_slots_; *link != nullptr && wanted > 0;) {
      Slot* slot = *link;
      if (!claim_from_home(*slot)) {
        link = &slot->next_free;
        continue;
      }
      *link = slot->next_free;
      slot->next_free = chain;
      chain = slot;
      --wanted;
    }
  }
  try {
    // So that what follows cannot fail.
    const std::size_t needed = owned_slots_.size() + wanted;
    if (needed > owned_slots_.capacity()) owned_slots_.reserve(2 * needed);
  } catch (const std::bad_alloc&) {
    return chain;
  }
  Slot* more = wanted > 0 ? Slab::process().take(wanted) : nullptr;
  while (more != nullptr) {
    Slot* next = more->next_free;
    owned_slots_.push_back(Slab::index_of(*more));
    more->next_free = chain;
    chain = more;
    more = next;
  }
  return chain;
}

bool Domain::take_home_from(Slot& slot) noexcept {
  sync::Guard guard(slots_lock_);
  return claim_from_home(slot);
}

void Domain::give_slots(Slot* chain) noexcept {
  sync::Guard guard(slots_lock_);
  while (chain != nullptr) {
    Slot* next = chain->next_free;
    chain->next_free = free_slots_;
    free_slots_ = chain;
    chain = next;
  }
}

// When no thread runs and nobody is inside the gate.
void Domain::give_all_slots() noexcept {
  for (Slot* slot = free_slots_; slot != nullptr; slot = slot->next_free) {
    BULKHEAD_CHECK(slot->inbox.claim_right(), "nobody pushes into slots of a stopped domain");
  }
  Slab::process().give(free_slots_);
  free_slots_ = nullptr;
  owned_slots_ = {};
}

std::size_t Domain::slots_kept() const noexcept {
  if (stage_) return 0;  // who spawns from outside would wait for its core, which may not run
  // Near the limit nobody hoards.
  return granted_.load(std::memory_order_relaxed) > config_.max_actors / 8 * 7 ? 1 : 4096;
}

std::size_t Domain::grant_slots(std::size_t most) noexcept {
  std::size_t granted = granted_.load(std::memory_order_relaxed);
  for (;;) {
    const std::size_t left = config_.max_actors - std::min(granted, config_.max_actors);
    const std::size_t share =
        std::max<std::size_t>(left / (4 * std::max<std::size_t>(all_cores(), 1)), left > 0 ? 1 : 0);
    const std::size_t slots = std::min(share, most);
    if (slots == 0) return 0;
    if (granted_.compare_exchange_weak(granted, granted + slots, std::memory_order_relaxed)) {
      return slots;
    }
  }
}

void Domain::ask_for_slots() noexcept {
  sync::Guard guard(lock_);
  reclaimed_ = 0;
  reclaim_.fetch_add(1, std::memory_order_relaxed);
  wake_all();
}

bool Domain::slots_are_back() noexcept {
  sync::Guard guard(lock_);
  return reclaimed_ >= all_cores();
}

void Domain::await_slots(machine::Nanoseconds patience) {
  sync::UniqueGuard guard(lock_);
  changed_.wait_for(guard, std::chrono::nanoseconds(patience),
                    [this] { return reclaimed_ >= all_cores(); });
}

void Domain::reclaimed() noexcept {
  sync::Guard guard(lock_);
  ++reclaimed_;
  changed_.notify_all();
}

// --- what a core keeps -----------------------------------------------------------------------

Slot* Core::take_slot() noexcept {
  if (free_slots_ == nullptr) {
    Domain& mine = *domain.load(std::memory_order_relaxed);
    const std::size_t granted = mine.grant_slots(mine.slots_kept() != 0 ? kSlotBatch : 1);
    Slot* chain = granted > 0 ? mine.take_slots(granted) : nullptr;
    std::size_t taken = 0;
    Slot* last = nullptr;
    // Nobody else here has them yet: a straggler that is dropped may call a hook, which may spawn.
    for (Slot* slot = chain; slot != nullptr; slot = slot->next_free) {
      slot->home.store(index, std::memory_order_release);  // [pair slot.home]
      drop_stragglers(*slot);
      last = slot;
      ++taken;
    }
    if (last != nullptr) last->next_free = std::exchange(free_slots_, chain);
    free_slot_count_ += taken;
    mine.return_grant(granted - taken);
    if (free_slots_ == nullptr) return nullptr;
  }
  Slot* slot = free_slots_;
  free_slots_ = slot->next_free;
  --free_slot_count_;
  return slot;
}

void Core::give_slot(Slot& slot) noexcept {
  slot.next_free = free_slots_;
  free_slots_ = &slot;
  ++free_slot_count_;
  if (free_slot_count_ >= domain.load(std::memory_order_relaxed)->slots_kept())
    give_surplus_slots();
}

void Core::give_surplus_slots() noexcept {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  const std::uint32_t reclaim = mine.reclaim();
  const std::size_t keep = mine.ending() || reclaimed_ != reclaim ? 0 : mine.slots_kept() / 2;
  Slot* chain = nullptr;
  std::size_t given = 0;
  while (free_slot_count_ > keep) {
    Slot* slot = free_slots_;
    free_slots_ = slot->next_free;
    --free_slot_count_;
    slot->next_free = chain;
    chain = slot;
    ++given;
  }
  mine.give_slots(chain);
  mine.return_grant(given);
  if (reclaimed_ != reclaim) {
    reclaimed_ = reclaim;
    mine.reclaimed();
  }
}

}  // namespace bulkhead::core
