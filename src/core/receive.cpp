// Receiving in mid-handler: an actor takes messages out of its own queue, in its own order.
#include <exception>
#include <stdexcept>
#include <utility>

#include "bulkhead/take.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/stop_requests.hpp"
#include "core/watches.hpp"

namespace bulkhead::core {

// From behind `last`, the newest one that was looked at and left; null: from the oldest on. What
// look_at() does may append to the queue; only this takes out: a condition can neither wait nor
// receive, so nothing comes between what is looked at and its place.
Signal* Core::look_through(Slot& slot, Signal*& last, LookAt look_at, void* context) {
  const InTheMiddle here(this);
  for (;;) {
    Signal* const signal = last != nullptr ? last->next : slot.oldest;
    if (signal == nullptr) return nullptr;
    Signal* found = signal;
    const auto put_in_place = [&]() noexcept {
      if (found == signal) return;
      found->next = signal->next;
      (last != nullptr ? last->next : slot.oldest) = found;
      if (slot.newest == signal) slot.newest = found;
      release(signal);
    };
    Look decision = Look::kDiscard;
    try {
      if (is_over(*signal)) {
        signal->ops->destroy(signal, DropCause::kGone);
      } else {
        decision = look_at(context, found);
      }
    } catch (...) {
      put_in_place();
      throw;
    }
    put_in_place();
    if (decision == Look::kLeave) {
      last = found;
      continue;
    }
    if (decision == Look::kLeaveAll) return nullptr;
    (last != nullptr ? last->next : slot.oldest) = found->next;
    if (slot.newest == found) slot.newest = last;
    --slot.length;
    if ((found->flags & Signal::kFirst) != 0) note_taken(slot, found, last);
    if ((found->flags & Signal::kBounded) != 0) give_place_back(slot, *found);
    if ((found->flags & Signal::kTraced) != 0) trace_taking(slot, *found);
    if (decision == Look::kTake) return found;
    release(found);
    counts.handled.raise();
  }
}

Found receive(const void* mailbox, LookAt look, void* context, Timeout timeout) {
  const Inside inside;
  const Core* core = Core::current();
  if (core != nullptr && core->running != nullptr && !core->may_wait()) {
    throw std::logic_error(
        "bulkhead: Mailbox::next (or take_for) was called by a condition of itself, a hook, or the "
        "destructor of a message that is dropped: there nothing can be received");
  }
  if (core == nullptr || core->running == nullptr || core->running->state != mailbox) {
    throw std::logic_error("bulkhead: Mailbox::next (or take_for) was called outside its actor");
  }
  Signal* signal = Core::receive(look, context, timeout.nanoseconds());
  return {signal, Core::current()->running->length};
}

void refuse_to_receive() {
  throw std::logic_error(
      "bulkhead: Mailbox::next was called in a destructor of an actor that is to end: there it "
      "cannot wait for a message");
}

InHand::InHand() noexcept : stack_(nullptr) {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || core->running == nullptr) return;  // receive refuses
  stack_ = core->stack;
  signal_ = std::exchange(stack_->in_hand, nullptr);
  ops_ = std::exchange(stack_->in_hand_ops, nullptr);
}

void in_hand(Signal* signal) noexcept {
  const BrieflyInside inside;
  inside.core()->stack->in_hand = signal;
}

void no_longer_in_hand(Signal* signal) noexcept {
  const Inside inside;
  Core::current()->stack->in_hand = nullptr;
  release_anywhere(signal);
}

InHand::~InHand() {
  if (stack_ == nullptr) return;
  const BrieflyInside inside;
  if (stack_->in_hand != nullptr) {  // its handler has thrown
    inside.core()->drop(stack_->in_hand, pid_of(*inside.core()->running),
                        DropCause::kHandlerFailed);
  } else if (stack_->in_hand_ops != nullptr) {
    inside.core()->counts.handled.raise();
  }
  stack_->in_hand = signal_;
  stack_->in_hand_ops = ops_;
}

Signal* Core::receive(LookAt look, void* context, machine::Nanoseconds timeout) {
  if (timeout == 0) Core::look(Unwinds::kNo);  // who asks again and again lets others run
  Core* core = current();
  Slot& slot = *core->running;
  // What was received before is handled now; so is its start: from here on it is idle when it
  // waits.
  if (std::exchange(core->stack->in_hand_ops, nullptr) != nullptr) {
    core->counts.handled.raise();
    if (slot.extras != nullptr && slot.extras->watches_due) look_at_due(slot, *core);
  }
  if (slot.has(Slot::kStartPending)) {
    slot.clear(Slot::kStartPending);
    core->counts.handled.raise();
  }
  const machine::Nanoseconds due = timeout == machine::kNever || timeout == 0
                                       ? timeout
                                       : machine::later(machine::now(), timeout);
  Signal* last = nullptr;
  std::uint32_t looked_at = filed(slot);
  for (;;) {
    core = current();
    if (slot.inbox.has_mail()) core->take_in(slot, slot.inbox.take());
    // What has been filed since is in front of what was looked at.
    if (std::exchange(looked_at, filed(slot)) != looked_at) last = nullptr;
    if (Signal* signal = core->look_through(slot, last, look, context); signal != nullptr) {
      core->stack->in_hand = nullptr;
      core->stack->in_hand_ops = signal->ops;
      if (slot.isolated() || (signal->flags & Signal::kCrosses) != 0) [[unlikely]]
        take_over_wall(slot, signal);
      return signal;
    }
    const machine::Nanoseconds left = due == machine::kNever ? due : due - machine::now();
    if (timeout == 0 || left <= 0) return nullptr;
    const std::uint64_t epoch = begin_wait();
    slot.set(Slot::kReceiving);
    park(epoch, left, WaitsFor::kMessage);
    if (slot.has(Slot::kUnwind)) return nullptr;  // and could not be unwound
  }
}

void put_back(Signal* signal) noexcept {
  const BrieflyInside inside;
  Core* core = inside.core();
  Slot& slot = *core->running;
  core->stack->in_hand_ops = nullptr;
  signal->next = slot.oldest;
  if (slot.oldest == nullptr) slot.newest = signal;
  slot.oldest = signal;
  ++slot.length;
}

std::size_t queue_length() noexcept {
  const BrieflyInside inside;
  return inside.core()->running->length;
}

void end_wait_by_mail(bool ends) noexcept {
  const BrieflyInside inside;
  Slot& slot = *inside.core()->running;
  if (ends) {
    slot.set(Slot::kReceiving);
  } else {
    slot.clear(Slot::kReceiving);
  }
}

bool take_stop_request() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || !core->may_wait()) return false;
  Slot& slot = *core->running;
  if (!slot.has(Slot::kUnwind) || core->must_end(slot)) return false;
  tell_stop(slot);
  // One that is being unwound stays so: in its destructors nothing waits.
  const bool unwinds =
      slot.has(Slot::kUnwinding) && (slot.has(Slot::kEnding) || std::uncaught_exceptions() != 0);
  if (!unwinds) slot.clear(Slot::kUnwind | Slot::kUnwinding);
  return true;
}

bool hear_stop_requests() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || !core->may_wait()) return true;
  Slot& slot = *core->running;
  if (core->must_end(slot)) return true;  // it is unwound
  if (slot.has(Slot::kUnwind)) return false;
  slot.set(Slot::kHearsStop);
  return true;
}

void hear_no_stop_requests() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core != nullptr && core->may_wait()) core->running->clear(Slot::kHearsStop);
}

}  // namespace bulkhead::core
