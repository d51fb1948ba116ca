// Signals that are not delivered any more: destroyed, released, counted and told, once.
#include <utility>

#include "core/bond.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

// Of the running actor: what it held goes with its heap, and who asked is told as that is
// discarded.
bool is_in_lost_memory(const Signal& signal, const Slot* running) noexcept {
  return (signal.flags & Signal::kCrossed) != 0 && compartment_of(*running)->is_lost;
}

}  // namespace

void Core::discard(Signal* signal, Pid receiver, DropCause cause) noexcept {
  if ((signal->flags & Signal::kBounded) != 0) give_place_back(Slab::at(receiver.index()), *signal);
  const SignalOps& ops = *signal->ops;
  const bool lost = (signal->flags & Signal::kLosesNothing) == 0;
  if (!is_in_lost_memory(*signal, running)) [[likely]] {
    const InTheMiddle here(this);
    ops.destroy(signal, cause);
  }
  release(signal);
  if (lost) count_dropped(receiver, ops, cause);
}

void Core::count_dropped(Pid receiver, const SignalOps& ops, DropCause cause) noexcept {
  counts.dropped[static_cast<std::size_t>(cause)].raise();
  domain.load(std::memory_order_relaxed)->dead_letter(receiver, ops.name, cause);
}

void Core::drop(Signal* signal, Pid receiver, DropCause cause) noexcept {
  const bool lost = (signal->flags & Signal::kLosesNothing) == 0;
  Count& settled = lost ? counts.dropped_sent : counts.handled;
  if (cause == DropCause::kGone && tells_of_end(signal)) counts.downs_lost.raise();
  discard(signal, receiver, cause);
  settled.raise();  // last: while it is missing, nothing is idle
}

// The message that was being handled when its handler failed. It may have been released already,
// when the handler was given all of it; then it is only counted. Returns how many were dropped.
std::uint32_t Core::discard_in_hand(Slot& slot, machine::Stack* me, DropCause cause) {
  const SignalOps* ops = std::exchange(me->in_hand_ops, nullptr);
  if (ops == nullptr) return 0;
  if (me->in_hand != nullptr) {
    me->core->discard(me->in_hand, pid_of(slot), cause);
  } else {
    me->core->count_dropped(pid_of(slot), *ops, cause);
  }
  return 1;
}

}  // namespace bulkhead::core
