#include "core/extras.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/critical.hpp"
#include "bulkhead/timer.hpp"
#include "core/commons.hpp"
#include "core/compartment.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

// Of a message that is not delivered any more.
void destroy(Signal* signal, const SignalOps* ops, Core& core) noexcept {
  const InTheMiddle here(&core);
  ops->destroy(signal, DropCause::kGone);
  core.release(signal);
}

void link_to_owner(Extras& extras, SendTimer& timer) noexcept {
  timer.previous_of_owner = nullptr;
  timer.next_of_owner = extras.timers;
  if (extras.timers != nullptr) extras.timers->previous_of_owner = &timer;
  extras.timers = &timer;
  ++extras.timer_count;
}

void unlink_from_owner(Extras& extras, SendTimer& timer) noexcept {
  if (timer.next_of_owner != nullptr) {
    timer.next_of_owner->previous_of_owner = timer.previous_of_owner;
  }
  (timer.previous_of_owner != nullptr ? timer.previous_of_owner->next_of_owner : extras.timers) =
      timer.next_of_owner;
  --extras.timer_count;
}

// The wheel with the timers of an actor; locked while it lives, if that is the commons'.
class TimersOf {
 public:
  TimersOf(const Slot& slot, Core& core) noexcept : core_(core) {
    if (slot.has(Slot::kRoams)) [[unlikely]]
      shared_.emplace(*core.commons);
  }
  /// True when nobody sleeps for it: then somebody is to be told.
  [[nodiscard]] bool start(Timer& timer, machine::Nanoseconds delay) noexcept {
    if (shared_) return shared_->start(timer, delay);
    core_.timers.start(timer, delay);
    return false;
  }
  void cancel(Timer& timer) noexcept {
    if (shared_) {
      shared_->cancel(timer);
    } else {
      core_.timers.cancel(timer);
    }
  }

 private:
  Core& core_;
  std::optional<Commons::Timers> shared_;
};

// What one that has not fired has left. One that is fresh has not begun to run.
machine::Nanoseconds time_left(const Timer& timer) noexcept {
  if (timer.fresh) return timer.due;
  return std::max<machine::Nanoseconds>(timer.due - machine::now(), 0);
}

// Ends one before it fires.
void end_timer(TimersOf& timers, SendTimer& timer) noexcept {
  timers.cancel(timer);
  retire_send_timer(timer);
}

// What is left of one that has ended, without a lock: its message is destroyed.
void discard(SendTimer& timer, Core& core) noexcept {
  Signal* signal = timer.signal;
  const SignalOps* ops = timer.ops;
  core.free_timers.give(timer);
  destroy(signal, ops, core);
}

}  // namespace

void retire_send_timer(SendTimer& timer) noexcept {
  const Pid owner = timer.owner.load(std::memory_order_relaxed);
  unlink_from_owner(*Slab::at(owner.index()).extras, timer);
  static_cast<void>(next_generation(timer));
}

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
  delete rare->label;
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

void tell_stop(Slot& slot) noexcept {
  if (slot.extras == nullptr || slot.extras->rare == nullptr) return;
  sync::StopSource* stop = slot.extras->rare->stop;
  if (stop == nullptr) return;
  const InTheMiddle here;  // callbacks are the user's
  stop->request_stop();
}

void end_timers(Slot& slot, Core& core) noexcept {
  for (;;) {
    SendTimer* timer = nullptr;
    {
      TimersOf timers(slot, core);
      timer = slot.extras->timers;
      if (timer == nullptr) break;
      end_timer(timers, *timer);
    }
    discard(*timer, core);
  }
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

void deliver_send_timer(Core& core, SendTimer& timer) noexcept {
  Signal* signal = timer.signal;
  const SignalOps* ops = timer.ops;
  const Pid to = timer.to;
  core.free_timers.give(timer);
  const Delivery delivery = admit_later(to, signal);
  if (delivery == Delivery::kQueued) {
    if (ops->priority == Priority::kOrdinary) {
      commit(to, signal, ops);
    } else {
      commit_first(to, signal, ops);
    }
    return;
  }
  count_refused(to, delivery, ops->name);
  destroy(signal, ops, core);
}

void unfile_timers(Slot& slot, Core& from) noexcept {
  if (slot.extras == nullptr) return;
  for (SendTimer* timer = slot.extras->timers; timer != nullptr; timer = timer->next_of_owner) {
    if (timer->fresh) timer->due = machine::later(machine::now(), timer->due);
    from.timers.cancel(*timer);
  }
}

void file_timers(Slot& slot, Core& to) noexcept {
  if (slot.extras == nullptr) return;
  for (SendTimer* timer = slot.extras->timers; timer != nullptr; timer = timer->next_of_owner) {
    to.timers.start_at(*timer, timer->due);
  }
}

TimerRef start_timer(Timeout delay, Pid to, Signal* signal, const SignalOps* ops) {
  const Inside inside;
  Core* core = Core::current();
  if (core == nullptr || core->running == nullptr) {
    throw std::logic_error("bulkhead: send_after was called outside any actor");
  }
  if (delay.is_forever()) {
    throw std::invalid_argument(
        "bulkhead: send_after was given kForever: that message would never go");
  }
  Slot& slot = *core->running;
  Extras& extras = extras_of(slot, *core);
  if (core->free_timers.used_up()) [[unlikely]] {
    throw CapacityError(
        "bulkhead: send_after: all timers of the stage are in use: StageConfig::timers says how "
        "many there are");
  }
  SendTimer& timer = core->free_timers.take();
  timer.kind = TimerKind::kSend;
  timer.to = to;
  timer.owner.store(pid_of(slot), std::memory_order_relaxed);
  std::uint32_t generation = 0;
  bool unkept = false;
  {
    TimersOf timers(slot, *core);
    generation = next_generation(timer);
    timer.signal = signal;
    timer.ops = ops;
    link_to_owner(extras, timer);
    unkept = timers.start(timer, delay.nanoseconds());
  }
  if (unkept) core->commons->pass_on();  // the caller may go on for long
  return TimerRef(timer.index, generation);
}

}  // namespace bulkhead::core

namespace bulkhead {

bool cancel(TimerRef reference, std::chrono::nanoseconds* left) {
  const core::Inside inside;
  core::Core* core = core::Core::current();
  if (core == nullptr || core->running == nullptr) {
    throw std::logic_error("bulkhead: cancel was called outside any actor");
  }
  core::Slot& slot = *core->running;
  if (slot.extras == nullptr) return false;
  core::SendTimer* found = core::RecordSlab<core::SendTimer>::process().find(reference.index());
  if (found == nullptr || reference.generation() % 2 == 0) return false;
  {
    core::TimersOf timers(slot, *core);
    if (found->generation.load(std::memory_order_relaxed) != reference.generation() ||
        found->owner.load(std::memory_order_relaxed) != core::pid_of(slot)) {
      return false;
    }
    if (left != nullptr) *left = std::chrono::nanoseconds(core::time_left(*found));
    core::end_timer(timers, *found);
  }
  core::discard(*found, *core);
  return true;
}

}  // namespace bulkhead
