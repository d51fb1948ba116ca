// How a core ends its actors when its domain stops, and what is left to do after its thread has
// left.
#include <new>
#include <string>

#include "base/check.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

constexpr std::size_t kMostNamed = 16;  // per core

struct Left {
  const char* state;
  const char* end;  // when it is ended
};

Left how_left(const Slot& slot) {
  switch (slot.turn) {
    case Turn::kAway:
      return {"stuck in a handler", "when that returns, waits, or calls check()"};
    case Turn::kParked:
      return {"blocked in a handler", "now"};
    default:
      return slot.stack != nullptr ? Left{"in a handler", "when that waits or returns"}
                                   : Left{"busy", "now"};
  }
}

void say_who_is_left(const Slot& slot, Domain& domain) noexcept try {
  const auto [state, end] = how_left(slot);
  domain.tell_of_stop("shutdown: actor " + to_string(pid_of(slot)) + " (" +
                      std::string(slot.kind->name) + ") is still " + state + ", with " +
                      std::to_string(std::uint32_t{slot.length}) +
                      " messages waiting; it is ended " + end);
} catch (const std::bad_alloc&) {
}

void say_how_many_more(std::size_t count, Domain& domain) noexcept try {
  domain.tell_of_stop("shutdown: and " + std::to_string(count) + " more on that core");
} catch (const std::bad_alloc&) {
}

}  // namespace

// Ready ones find the mark when they have their turn; blocked ones are unwound from their wait. An
// actor that arrives later is ended when it is adopted: a search through all slots for each, while
// cores share a million that are to end, would take longer than the ending.
void Core::end_all_actors() {
  unwound_ = true;
  named_ = 0;
  // So that no vacant slot that had its home here is taken by another core while we look at it.
  Domain& mine = *domain.load(std::memory_order_relaxed);
  sync::Guard guard(mine.slots_lock());
  for (const std::uint32_t slot_index : mine.owned_slots()) {
    Slot& slot = Slab::at(slot_index);
    if (end_roamer(slot)) continue;
    if (slot.home.load(std::memory_order_acquire) != index) continue;  // [pair slot.home]
    if (!slot.has(Slot::kMoving)) name_and_unwind(slot);
  }
  if (named_ > kMostNamed) say_how_many_more(named_ - kMostNamed, mine);
}

void Core::name_and_unwind(Slot& slot) {
  const bool busy =
      slot.turn == Turn::kReady || slot.turn == Turn::kParked || slot.turn == Turn::kAway;
  // One that roams may have been marked and named by another core.
  const bool told = slot.has(Slot::kRoams) && slot.has(Slot::kUnwind);
  if (busy && !told && domain.load(std::memory_order_relaxed)->names_busy() &&
      ++named_ <= kMostNamed) {
    say_who_is_left(slot, *domain.load(std::memory_order_relaxed));
  }
  unwind(slot);
}

void Core::end_newcomer(Slot& slot) {
  if (unwound_ && domain.load(std::memory_order_relaxed)->ending()) unwind(slot);
}

void Core::unwind(Slot& slot) {
  if (slot.turn == Turn::kVacant) return;
  // It handles nothing more either, should it not wait again before its handler returns.
  slot.set(Slot::kUnwind | Slot::kStopAsked);
  if (slot.turn == Turn::kIdle) {
    make_ready(slot);
  } else if (slot.turn == Turn::kParked && slot.wait.claim_any()) {
    // (When somebody else has claimed its wait, its resume is on the way.)
    if (trace != nullptr) trace->wakes(running, slot);
    resume_later(slot);
  }
}

bool Core::sweep_arrivals() {
  BULKHEAD_CHECK(current() == nullptr, "a domain is stopped from outside");
  become_current();
  bool found = false;
  while (!arrivals.empty()) {
    found = true;
    take_arrivals();
  }
  BULKHEAD_CHECK(ready.empty() && timers.size() == 0, "nothing runs after the last actor's end");
  flush_all_outgoing();
  resign();
  return found;
}

void Core::sweep_memory() noexcept {
  become_current();
  if (spare_ != nullptr) stacks.give(spare_);
  spare_ = nullptr;
  if (stack != nullptr) stacks.give(stack);  // its thread could not be made
  stack = nullptr;
  free_timers.drain();
  free_bonds.drain();
  give_surplus_slots();
  pool.collect_returned();
  pool.trim(0);
  pool_chunks.store(pool.chunks(), std::memory_order_relaxed);
  stacks.drain();
  ready.shrink();
  unwound_ = false;
  load.store(0, std::memory_order_relaxed);
  work_wanted_by.store(kNoCore, std::memory_order_relaxed);
  resign();
}

}  // namespace bulkhead::core
