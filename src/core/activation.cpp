// One activation: an actor has its turn. Its handlers run on the core's own stack, one message
// after another, until the batch is used up, the queue is empty, a handler blocks, or the actor
// ends.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "bulkhead/join.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "core/thrown.hpp"
#include "core/unwinding.hpp"

namespace bulkhead::core {

void Core::activate(Slot& slot, machine::Stack* me) {
  Core* core = me->core;
  core->running = &slot;
  slot.turn = Turn::kRunning;
  if (core->trace != nullptr) [[unlikely]] {
    activate_traced(slot, me);
  } else {
    begin_turn(core, slot, me);
  }
}

[[gnu::noinline, gnu::cold]] void Core::activate_traced(Slot& slot, machine::Stack* me) {
  me->core->trace->begins(slot);
  begin_turn(me->core, slot, me);
}

[[gnu::always_inline]] inline void Core::begin_turn(Core* core, Slot& slot, machine::Stack* me) {
  if (slot.stack != nullptr) core->switch_to(slot);
  if (slot.has(Slot::kUnwind)) [[unlikely]] {
    end_between_turns(slot, *core);
    return;
  }
  if (slot.stack_class != me->size_class) [[unlikely]] {
    core->change_stack(slot, me);
    return;
  }
  deliver_batch(slot, me);
}

// There is no core in a child process that was forked (forget_in_fork).
[[noreturn, gnu::cold]] static void fail_in_fork() noexcept {
  std::fputs(
      "bulkhead: in a child process that an actor has forked, its handler returned or threw: "
      "end the child by exec or _exit\n",
      stderr);
  std::_Exit(1);
}

// After the user's code: the core that runs this stack now. If it has gone on without the actor,
// the actor comes home first.
Core* Core::back_inside(machine::Stack* me) noexcept {
  Core* core = me->seat->at.enter();
  if (core == nullptr) [[unlikely]]
    core = enter_slowly();
  if (core == nullptr) [[unlikely]]
    fail_in_fork();
  return core;
}

// Everything that an actor does happens below this frame. The core is read anew after each handler,
// which may have blocked and gone on elsewhere. While the user's code runs, the thread is outside.
// What an isolated actor has handled is counted where a trap does not lose it (trap.hpp).
template <bool kIsolated>
[[gnu::always_inline]] inline void Core::deliver_batch_of(Slot& slot, machine::Stack* me) {
  std::uint32_t mine = 0;
  std::uint32_t& handled = kIsolated ? me->handled : mine;
  enum { kNeither, kUnwound, kFailed } thrown = kNeither;
  try {
    Signal* signal = slot.oldest;
    if (slot.has(Slot::kStartPending | Slot::kTimeoutDue)) [[unlikely]] {
      before_messages(slot, me);  // where it may ask to stop: who was asked before is unwound
      signal = slot.has(Slot::kStopAsked) ? nullptr : slot.oldest;
    }
    Core* core = me->core;
    while (signal != nullptr && handled < core->batch_) {
      slot.oldest = signal->next;
      --slot.length;
      me->in_hand = signal;
      me->in_hand_ops = signal->ops;
      if ((signal->flags & Slot::kMarks) != 0) [[unlikely]] {
        if ((signal->flags & Signal::kTick) != 0) empty_if_over(*signal);
        if ((signal->flags & Signal::kBounded) != 0) give_place_back(slot, *signal);
        if ((signal->flags & Signal::kTraced) != 0) core->trace_taking(slot, *signal);
        if (!kIsolated && (signal->flags & Signal::kCrosses) != 0) cross_in(*signal);
      }
      if constexpr (kIsolated) admit_over_wall(*signal);
      me->seat->at.leave();
      Signal* done = signal->ops->deliver(slot.state, signal);
      core = back_inside(me);
      me->in_hand_ops = nullptr;
      ++handled;
      if (done != nullptr) core->release(done);
      if (slot.has(Slot::kStopAsked)) [[unlikely]]
        break;
      signal = slot.oldest;
    }
    if (slot.has(Slot::kHasTimeout)) [[unlikely]]
      arm_timeout(slot, me, handled);
  } catch (const Unwind&) {
    thrown = kUnwound;
  } catch (const Leaving&) {  // never: it is asked, and notes where the exception was thrown
  } catch (...) {
    back_inside(me)->failure_ = std::current_exception();
    thrown = kFailed;
  }
  // Outside the catch blocks: when the actor has ended, nothing holds its exception any more.
  if (thrown != kNeither) [[unlikely]] {
    if (thrown == kUnwound) {
      end_unwound(slot, me, handled);
    } else {
      end_failed(slot, me, handled);
    }
    return;
  }
  if (slot.has(Slot::kStopAsked)) [[unlikely]] {
    end_asked(slot, me, handled);
    return;
  }
  Core* core = me->core;
  // Messages are counted when the batch is over: while one is in hand, nothing is idle anyway.
  core->counts.handled.raise(handled);
  slot.handled = slot.handled + handled;
  if (core->trace != nullptr) [[unlikely]]
    core->trace->ends(slot, slot.oldest == nullptr ? TurnEnd::kIdle : TurnEnd::kBatch, handled);
  core->running = nullptr;
  if (slot.oldest == nullptr) [[likely]] {
    slot.turn = Turn::kIdle;
  } else {
    core->requeue(slot);
  }
}

void Core::deliver_batch(Slot& slot, machine::Stack* me) { deliver_batch_of<false>(slot, me); }

[[gnu::noinline, gnu::cold]] void Core::deliver_isolated(Slot& slot, machine::Stack* me) {
  me->handled = me->dropped = 0;
  enter_compartment(slot);
  deliver_batch_of<true>(slot, me);
  leave_compartment();
}

Exit Core::unwound(Slot& slot) const noexcept {
  slot.set(Slot::kUnwinding);
  return why_unwound(slot);
}

// One who was to be unwound has not waited since.
[[gnu::noinline]] void Core::end_asked(Slot& slot, machine::Stack* me, std::uint32_t handled) {
  const bool says_why = slot.has(Slot::kUnwind) || is_sentenced(slot);
  const std::string_view in_hand =
      says_why ? name_in_hand(slot, *me) : std::string_view();        // else nothing is told of it
  if (std::exchange(me->in_hand_ops, nullptr) != nullptr) ++handled;  // it had received it
  finish(slot, says_why ? me->core->unwound(slot) : Exit::normal(),
         {.handled = handled, .in_hand = in_hand});
}

[[gnu::noinline, gnu::cold]] void Core::end_between_turns(Slot& slot, const Core& core) {
  finish(slot, core.unwound(slot), {});
}

[[gnu::cold]] void Core::end_unwound(Slot& slot, machine::Stack* me, std::uint32_t handled) {
  Core* core = back_inside(me);
  const Exit exit = core->unwound(slot);
  me->exit = &exit;
  const std::string_view in_hand = name_in_hand(slot, *me);
  const std::uint32_t dropped = discard_in_hand(slot, me, DropCause::kGone);
  finish(slot, exit, {handled, dropped, in_hand});
}

[[gnu::cold]] void Core::end_failed(Slot& slot, machine::Stack* me, std::uint32_t handled) {
  std::exception_ptr failure = std::exchange(me->core->failure_, nullptr);
  Exit exit =
      slot.isolated() ? read_out_isolated(std::move(failure)) : read_out(std::move(failure));
  me->exit = &exit;
  const std::string_view in_hand = name_in_hand(slot, *me);
  const std::uint32_t dropped = discard_in_hand(slot, me, DropCause::kHandlerFailed);
  // Nothing of the exception is left here when the actor has ended.
  finish(slot, std::exchange(exit, Exit()), {handled, dropped, in_hand});
}

Exit Core::read_out(std::exception_ptr failure) noexcept {
  const InTheMiddle here;  // what() is the user's
  return Exit::panic(std::move(failure));
}

// What is counted here is counted by finish instead, when the actor is to end.
void Core::before_messages(Slot& slot, machine::Stack* me) {
  if (slot.has(Slot::kStartPending)) {
    if (slot.kind->started != nullptr) {
      me->seat->at.leave();
      slot.kind->started(slot.state);
      static_cast<void>(back_inside(me));
    }
    if (slot.kind->runs_once) slot.set(Slot::kStopAsked);
    if (slot.has(Slot::kStopAsked)) return;
    slot.clear(Slot::kStartPending);
    me->core->counts.handled.raise();  // a start counts as a message, sent by spawn
  }
  if (slot.has(Slot::kTimeoutDue)) {
    // A message that came first stops the timeout.
    if (slot.oldest == nullptr) {
      me->seat->at.leave();
      slot.kind->on_receive_timeout(slot.state);
      static_cast<void>(back_inside(me));
    }
    if (slot.has(Slot::kStopAsked)) return;
    slot.clear(Slot::kTimeoutDue);
    slot.set(Slot::kTimeoutOver);
    me->core->counts.timeouts_ended.raise();
  }
}

// The countdown starts when the actor waits on an empty mailbox: after its start, and after each
// message; not after its own end.
void Core::arm_timeout(Slot& slot, machine::Stack* me, std::uint32_t handled) {
  if (slot.oldest != nullptr || slot.has(Slot::kStopAsked)) return;
  const bool over = slot.has(Slot::kTimeoutOver);
  slot.clear(Slot::kTimeoutOver);
  if (over && handled == 0) return;
  // Counted from now on: while the actor's code is asked, which may do all, nothing is idle.
  struct Counted {
    machine::Stack* me;
    bool armed = false;
    ~Counted() {
      me->asked = false;
      if (!armed) back_inside(me)->counts.timeouts_ended.raise();
    }
  } counted{me};
  me->asked = true;
  me->core->counts.timeouts_armed.raise();
  me->seat->at.leave();
  const std::int64_t delay = slot.kind->receive_timeout(slot.state);
  Core* core = back_inside(me);
  if (delay == machine::kNever || slot.oldest != nullptr) return;
  counted.armed = true;
  slot.timeout.kind = TimerKind::kReceiveTimeout;
  slot.set(Slot::kTimeoutArmed);
  core->start_timer(slot, slot.timeout, delay);
}

void Core::disarm_timeout(Slot& slot) noexcept {
  slot.clear(Slot::kTimeoutArmed);
  cancel_timer(slot, slot.timeout);
  counts.timeouts_ended.raise();
}

// --- blocking ------------------------------------------------------------------------------------

machine::Stack* Core::take_stack(std::uint8_t size_class) {
  machine::Stack* fresh = stacks.take(size_class);
  machine::forget(fresh);
  fresh->core = this;
  fresh->seat = seat;
  fresh->in_hand = nullptr;
  return fresh;
}

// Leaves the stack of the running actor, until it is resumed. If one that is blocked is next, the
// core goes on there at once; else with its loop, on the stack that was reserved. So it does when
// it has one in hand that roams, which the loop lets go.
template <bool kTraced>
[[gnu::always_inline]] inline void Core::block_as(Slot& slot) {
  machine::Stack* me = stack;
  slot.stack = me;
  const auto is_blocked = [](const Slot& next) { return next.stack != nullptr; };
  const bool may = activations_left_ > 0 && roamer_ == nullptr;
  Slot* next = may ? ready.next_if(is_blocked) : nullptr;
  if constexpr (kTraced) trace->leaves(slot, next);
  if (next != nullptr) {
    activations_left_ = activations_left_ - 1;
    running = next;
    next->turn = Turn::kRunning;
    machine::Stack* left = std::exchange(next->stack, nullptr);
    if (next == &slot) return;  // it has given way to nobody
    left->core = this;
    left->seat = seat;
    stack = left;
    machine::change(me, left, exceptions);
    return;
  }
  machine::Stack* fresh = std::exchange(spare_, nullptr);
  fresh->seat = seat;  // it may have been reserved when the core ran in another thread
  stack = fresh;
  running = nullptr;
  machine::leave(me, fresh, entry_, fresh, exceptions);
}

void Core::block(Slot& slot) {
  if (trace != nullptr || slot.isolated()) [[unlikely]] {
    block_slowly(slot);
  } else {
    block_as<false>(slot);
  }
}

[[gnu::noinline, gnu::cold]] void Core::block_slowly(Slot& slot) {
  const bool isolated = slot.isolated();
  const bool traced = trace != nullptr;
  if (isolated) leave_compartment();
  if (traced) {
    block_traced(slot);
  } else {
    block_as<false>(slot);
  }
  if (isolated) enter_compartment(slot);
}

[[gnu::noinline, gnu::cold]] void Core::block_traced(Slot& slot) { block_as<true>(slot); }

// The loop goes on below the frames of a blocked actor; the stack that it was on is free.
void Core::switch_to(Slot& slot) {
  machine::Stack* left = slot.stack;
  machine::Stack* mine = stack;
  slot.stack = nullptr;
  left->core = this;
  left->seat = seat;
  stack = left;
  stacks.give(mine);
  machine::resume(mine, left, exceptions);
}

// The loop goes on, with this actor, on a stack of the size that it asks for.
void Core::change_stack(Slot& slot, machine::Stack* me) {
  const auto size_class = static_cast<std::uint8_t>(slot.stack_class & ~Slot::kIsolated);
  if (size_class == me->size_class) {
    deliver_isolated(slot, me);
    return;
  }
  machine::Stack* fresh = nullptr;
  try {
    fresh = take_stack(size_class);
  } catch (const std::exception&) {
    failure_ = std::current_exception();
  }
  if (fresh == nullptr) {
    finish(slot, read_out(std::exchange(failure_, nullptr)), {});
    return;
  }
  stack = fresh;
  first_ = &slot;
  stacks.give(me);
  machine::restart(me, fresh, entry_, fresh);
}

[[gnu::noinline, gnu::cold]] void refuse_to_block() {
  throw std::logic_error(std::string("bulkhead: ") + base::critical);
}

void Core::reserve_spare() {
  if (spare_ == nullptr) {
    spare_ = take_stack(domain.load(std::memory_order_relaxed)->stack_class);
  }
}

std::uint64_t Core::begin_wait() {
  Core* core = tl_seat.at.mine();
  BULKHEAD_ASSERT(core != nullptr && core->may_wait(), "only a handler can wait");
  if (base::critical != nullptr) [[unlikely]]
    refuse_to_block();
  core->reserve_spare();
  Slot& slot = *core->running;
  BULKHEAD_ASSERT(slot.turn == Turn::kRunning, "an actor has one wait at a time");
  slot.turn = Turn::kOpening;
  return slot.wait.begin();
}

bool Core::retire_wait(std::uint64_t epoch) noexcept {
  Slot& slot = *tl_seat.at.mine()->running;
  if (!slot.wait.claim(epoch)) return false;
  slot.turn = Turn::kRunning;
  return true;
}

Core* Core::park(std::uint64_t epoch, machine::Nanoseconds timeout, WaitsFor what) {
  Core* core = tl_seat.at.mine();
  return core->trace == nullptr ? park_on(core, epoch, timeout) : park_traced(epoch, timeout, what);
}

[[gnu::noinline, gnu::cold]] Core* Core::park_traced(std::uint64_t epoch,
                                                     machine::Nanoseconds timeout, WaitsFor what) {
  Core* core = tl_seat.at.mine();
  core->trace->parks(*core->running, what, timeout);
  return park_on(core, epoch, timeout);
}

[[gnu::always_inline]] inline Core* Core::park_on(Core* core, std::uint64_t epoch,
                                                  machine::Nanoseconds timeout) {
  Slot& slot = *core->running;
  WaitTimer timer;
  if (slot.has(Slot::kResumed | Slot::kUnwind | Slot::kRoams)) [[unlikely]] {
    if (slot.has(Slot::kResumed)) {  // by this actor itself, on the way here
      slot.clear(Slot::kResumed | Slot::kReceiving);
      slot.turn = Turn::kRunning;
      return core;
    }
    // Nobody would wake it any more; but a wake-up that is under way is waited for.
    if (slot.has(Slot::kUnwind) && retire_wait(epoch)) {
      slot.clear(Slot::kReceiving);
      check_unwind();
      return core;
    }
    if (!slot.has(Slot::kUnwind) && timeout != machine::kNever) {
      timer = WaitTimer({.kind = TimerKind::kWait}, &slot, epoch);
      slot.wait_timer = &timer;
      core->start_timer(slot, timer, timeout);
    }
  } else if (timeout != machine::kNever) {
    timer.kind = TimerKind::kWait;
    timer.slot = &slot;
    timer.epoch = epoch;
    core->timers.start(timer, timeout);
    slot.wait_timer = &timer;
  }
  BULKHEAD_CHECK(core->spare_ != nullptr, "nothing waits between begin_wait and park");
  const machine::Stack* me = core->stack;
  slot.turn = slot.has(Slot::kReceiving) ? Turn::kIdle : Turn::kParked;
  core->block(slot);
  if (slot.has(Slot::kUnwind)) [[unlikely]]
    check_unwind();
  return me->core;
}

Core* Core::yield() {
  Core* core = tl_seat.at.mine();
  Slot& slot = *core->running;
  try {
    core->reserve_spare();
  } catch (const std::exception&) {
    return core;
  }
  const machine::Stack* me = core->stack;
  slot.turn = Turn::kReady;  // first: nothing here may make it give way
  core->queue_fair(slot);
  core->block(slot);
  return me->core;
}

}  // namespace bulkhead::core
