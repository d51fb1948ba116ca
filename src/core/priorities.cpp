// Priorities: signals that are put in front of others in an actor's queue.
//
// The queue begins with those that were filed, highest priority first, and goes on with the others.
// So that each is filed at once, however many wait, an actor knows where each priority ends:
// Rare::last[p - 1] is the last signal whose priority is p or higher. Signals are handled from the
// front, by code that knows nothing of this; therefore `last` counts only as long as the oldest
// signal's priority is p or higher: then none of those, and so not the last of them, has been
// taken from the front since it was set. Who takes one out of the middle says so (note_taken).
#include <new>

#include "core/extras.hpp"

namespace bulkhead::core {

namespace {

int level(const Signal* signal) noexcept {
  if (signal == nullptr || (signal->flags & Signal::kFirst) == 0) return 0;
  return static_cast<int>(signal->ops->priority);
}

void insert(Slot& slot, Signal* signal, Signal* before) noexcept {
  Signal*& place = before != nullptr ? before->next : slot.oldest;
  signal->next = place;
  place = signal;
  if (signal->next == nullptr) slot.newest = signal;
  ++slot.length;
}

}  // namespace

void file(Slot& slot, Signal* signal, Core& core) noexcept {
  Rare* rare = nullptr;
  try {
    rare = &rare_of(slot, core);
  } catch (const std::bad_alloc&) {
    signal->flags = static_cast<std::uint8_t>(signal->flags & ~Signal::kFirst);
    slot.append(signal);
    return;
  }
  const int mine = level(signal);
  const int highest = level(slot.oldest);
  Signal* const before = highest >= mine ? rare->last[mine - 1] : nullptr;
  insert(slot, signal, before);
  for (int other = mine; other > 0; --other) {
    Signal*& last = rare->last[other - 1];
    // Of a lower priority that has signals of its own the last one stays the last.
    if (other > highest || last == before) last = signal;
  }
  ++rare->filed;
}

std::uint32_t filed(const Slot& slot) noexcept {
  return slot.extras != nullptr && slot.extras->rare != nullptr ? slot.extras->rare->filed : 0;
}

void note_taken(Slot& slot, const Signal* signal, Signal* before) noexcept {
  for (Signal*& last : slot.extras->rare->last) {
    if (last == signal) last = before;
  }
}

}  // namespace bulkhead::core
