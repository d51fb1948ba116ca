#include "core/send_timers.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/requests.hpp"
#include "core/slab.hpp"
#include "core/watches.hpp"

namespace bulkhead::core {

namespace {

void link_to_owner(Extras& extras, SendTimer& timer) noexcept {
  timer.previous_of_owner = nullptr;
  timer.next_of_owner = extras.timers;
  if (extras.timers != nullptr) extras.timers->previous_of_owner = &timer;
  extras.timers = &timer;
  ++extras.timer_count;
}

// What one that has not fired has left. One that is fresh has not begun to run.
machine::Nanoseconds time_left(const Timer& timer) noexcept {
  if (timer.fresh) return timer.due;
  return std::max<machine::Nanoseconds>(timer.due - machine::now(), 0);
}

[[gnu::always_inline]] inline void unlink(SendTimer& timer) noexcept {
  const Pid owner = timer.owner.load(std::memory_order_relaxed);
  Extras& extras = *Slab::at(owner.index()).extras;
  if (timer.next_of_owner != nullptr) {
    timer.next_of_owner->previous_of_owner = timer.previous_of_owner;
  }
  (timer.previous_of_owner != nullptr ? timer.previous_of_owner->next_of_owner : extras.timers) =
      timer.next_of_owner;
  --extras.timer_count;
}

[[gnu::always_inline]] inline void retire(SendTimer& timer) noexcept {
  unlink(timer);
  static_cast<void>(next_generation(timer));
}

[[noreturn, gnu::cold]] void refuse_capacity(const char* function) {
  throw CapacityError(std::string("bulkhead: ") + function +
                      ": all timers of the stage are in use: StageConfig::timers says how many "
                      "there are");
}

[[gnu::always_inline]] inline SendTimer& take(Core& core, const char* function) {
  if (core.free_timers.used_up()) [[unlikely]]
    refuse_capacity(function);
  return core.free_timers.take();
}

[[gnu::always_inline]] inline std::uint32_t start(Core& core, Slot& slot, SendTimer& timer,
                                                  machine::Nanoseconds delay) noexcept {
  timer.owner.store(pid_of(slot), std::memory_order_relaxed);
  std::uint32_t generation = 0;
  bool unkept = false;
  {
    TimersOf timers(slot, core);
    generation = next_generation(timer);
    link_to_owner(*slot.extras, timer);
    unkept = timers.start(timer, delay);
  }
  if (unkept) core.commons->pass_on();  // the caller may go on for long
  return generation;
}

void end_tick(Tick& tick, Core& core) noexcept {
  if (tick.loan.end()) core.release_block(&tick, tick.pool, tick.size_class);
}

// Ends one before it is due, or due again. False: a core has just taken it out to deliver it, and
// discards it when it finds it ended.
[[gnu::always_inline]] inline bool end_timer(TimersOf& timers, SendTimer& timer,
                                             Core& core) noexcept {
  retire(timer);
  if (timer.kind == TimerKind::kTick) end_tick(*timer.tick, core);
  if (!timer.linked()) return false;
  timers.cancel(timer);
  return true;
}

// Of a message that is not delivered any more.
void destroy(Signal* signal, const SignalOps* ops, Core& core) noexcept {
  const InTheMiddle here(&core);
  ops->destroy(signal, DropCause::kGone);
  core.release(signal);
}

[[gnu::always_inline]] inline void discard(SendTimer& timer, Core& core) noexcept {
  Signal* signal = timer.signal;
  const SignalOps* ops = timer.ops;
  give_back(timer, core);
  destroy(signal, ops, core);
}

// In hand of the loop: the user's code copies, in the middle of something.
bool copied(const SendTimer& timer, Signal* to) noexcept {
  const InTheMiddle here;
  try {
    timer.tick->copy(to, timer.signal);
    return true;
  } catch (...) {
    return false;
  }
}

[[gnu::always_inline]] inline void commit_either(Pid to, Signal* signal,
                                                 const SignalOps* ops) noexcept {
  if (ops->priority == Priority::kOrdinary) {
    commit(to, signal, ops);
  } else {
    commit_first(to, signal, ops);
  }
}

[[gnu::always_inline]] inline Delivery admit(const SendTimer& timer, Signal* signal) noexcept {
  return admit_later(timer.owner.load(std::memory_order_relaxed), timer.to, signal);
}

}  // namespace

SendTimer& take_send_timer(Core& core, const char* function) { return take(core, function); }

std::uint32_t start_send_timer(Core& core, Slot& slot, SendTimer& timer,
                               machine::Nanoseconds delay) noexcept {
  return start(core, slot, timer, delay);
}

std::uint32_t keep_send_timer(Core& core, Slot& slot, SendTimer& timer) noexcept {
  timer.owner.store(pid_of(slot), std::memory_order_relaxed);
  const TimersOf timers(slot, core);
  link_to_owner(*slot.extras, timer);
  return next_generation(timer);
}

void unlink_from_owner(SendTimer& timer) noexcept { unlink(timer); }

void retire_send_timer(SendTimer& timer) noexcept { retire(timer); }

void leave_what_others_know(Slot& slot, Core& core) noexcept {
  leave_requests(slot, core);
  end_watches(slot, core);
}

// The destructor of a message may begin new ones of any kind.
void end_timers(Slot& slot, Core& core) noexcept {
  for (;;) {
    SendTimer* timer = nullptr;
    bool is_mine = false;
    bool others_know = false;
    {
      TimersOf timers(slot, core);
      timer = slot.extras->timers;
      if (timer == nullptr) return;
      others_know = timer->kind == TimerKind::kRequest || timer->kind == TimerKind::kWatch;
      if (!others_know) is_mine = end_timer(timers, *timer, core);
    }
    if (others_know) leave_what_others_know(slot, core);
    if (is_mine) discard(*timer, core);
  }
}

// (One that is not in the wheel, since it was due and its answer is on its way, is due again there,
// to no effect.)
void unfile_timers(Slot& slot, Core& from) noexcept {
  if (slot.extras == nullptr) return;
  for (SendTimer* timer = slot.extras->timers; timer != nullptr; timer = timer->next_of_owner) {
    if (!timer->linked()) continue;
    if (timer->fresh) timer->due = machine::later(machine::now(), timer->due);
    from.timers.cancel(*timer);
  }
}

void file_timers(Slot& slot, Core& to) noexcept {
  if (slot.extras == nullptr) return;
  for (SendTimer* timer = slot.extras->timers; timer != nullptr; timer = timer->next_of_owner) {
    if (timer->kind != TimerKind::kWatch) to.timers.start_at(*timer, timer->due);
  }
}

// --- when they are due ---------------------------------------------------------------------------

void deliver_send_timer(Core& core, SendTimer& timer) noexcept {
  Signal* signal = timer.signal;
  const SignalOps* ops = timer.ops;
  const Pid to = timer.to;
  const Delivery delivery = admit(timer, signal);
  give_back(timer, core);
  if (delivery == Delivery::kQueued) {
    commit_either(to, signal, ops);
    return;
  }
  count_refused(to, delivery, ops->name);
  destroy(signal, ops, core);
}

void deliver_tick(SendTimer& timer) noexcept {
  Tick& tick = *timer.tick;
  Signal* signal = tick.signal();
  signal->flags = Signal::kTick;
  Delivery delivery = admit(timer, signal);
  if (delivery == Delivery::kQueued) {
    if (copied(timer, signal)) {
      commit_either(timer.to, signal, timer.ops);
      return;
    }
    if ((signal->flags & Signal::kBounded) != 0)
      give_place_back(Slab::at(timer.to.index()), *signal);
    delivery = Delivery::kNoMemory;
  }
  release_anywhere(signal);
  count_refused(timer.to, delivery, timer.ops->name);
}

machine::Nanoseconds due_again(const SendTimer& timer, machine::Nanoseconds now) noexcept {
  const machine::Nanoseconds period = timer.tick->period;
  return machine::later(timer.due + (now - timer.due) / period * period, period);
}

void discard_send_timer(SendTimer& timer, Core& core) noexcept { discard(timer, core); }

[[gnu::noinline]] void empty_if_over(Signal& signal) noexcept {
  static constexpr SignalOps kEmpty = {[](void*, Signal* empty) { return empty; },
                                       [](Signal*, DropCause) {}, "tick of a timer that has ended"};
  if (!is_over(signal)) return;
  const InTheMiddle here;
  signal.ops->destroy(&signal, DropCause::kGone);
  signal.ops = &kEmpty;
}

void give_tick(Signal* signal, Core* core) noexcept {
  Tick& tick = Tick::of(*signal);
  if (tick.watches) {
    give_watch_back(Watching::of(*signal), core);
  } else if (tick.loan.come_home()) {
    release_anywhere(&tick, tick.pool, tick.size_class, core);
  }
}

TickMemory take_tick_memory(Core& core, std::size_t bytes) {
  const std::uint8_t size_class = block_class(bytes);
  if (size_class == memory::kHeapClass) {
    return {memory::take_from_heap(bytes), kHeapPool, size_class};
  }
  return {core.pool.take(size_class), core.index, size_class};
}

Signal* make_tick_signal(Tick& tick) noexcept {
  Signal* signal = new (tick.signal()) Signal{};
  signal->pool = kTickPool;
  signal->size_class = memory::kHeapClass;
  return signal;
}

// --- the actor that starts and ends them ---------------------------------------------------------

namespace {

[[noreturn, gnu::cold]] void refuse_outside(const char* function) {
  throw std::logic_error(std::string("bulkhead: ") + function + " was called outside any actor");
}

[[gnu::always_inline]] inline Core& core_of_caller(const char* function) {
  Core* core = Core::current();
  if (core == nullptr || core->running == nullptr) refuse_outside(function);
  return *core;
}

[[noreturn, gnu::cold]] void refuse_forever(const char* function) {
  throw std::invalid_argument(std::string("bulkhead: ") + function +
                              " was given kForever: that message would never go");
}

// For the actor that sends again and again.
Tick* make_tick(Core& core, std::size_t bytes) {
  const TickMemory memory = take_tick_memory(core, sizeof(Tick) + bytes);
  auto* tick = new (memory.block) Tick{};
  tick->size_class = memory.size_class;
  tick->pool = memory.pool;
  make_tick_signal(*tick);
  return tick;
}

}  // namespace

TimerRef start_timer(Timeout delay, Pid to, Signal* signal, const SignalOps* ops) {
  const Inside inside;
  Core& core = core_of_caller("send_after");
  if (delay.is_forever()) refuse_forever("send_after");
  Slot& slot = *core.running;
  if (slot.extras == nullptr) static_cast<void>(extras_of(slot, core));
  SendTimer& timer = take(core, "send_after");
  timer.kind = TimerKind::kSend;
  timer.to = to;
  timer.signal = signal;
  timer.ops = ops;
  return TimerRef(timer.index, start(core, slot, timer, delay.nanoseconds()));
}

TimerRef start_ticks(Timeout period, Pid to, Signal* signal, const SignalOps* ops,
                     std::size_t bytes, CopyMessage copy) {
  const Inside inside;
  Core& core = core_of_caller("send_every");
  if (period.is_forever()) refuse_forever("send_every");
  if (period.nanoseconds() == 0) {
    throw std::invalid_argument("bulkhead: send_every was given no time between its messages");
  }
  Slot& slot = *core.running;
  if (slot.extras == nullptr) static_cast<void>(extras_of(slot, core));
  Tick* tick = make_tick(core, bytes);
  tick->copy = copy;
  tick->period = period.nanoseconds();
  SendTimer* timer = nullptr;
  try {
    timer = &take(core, "send_every");
  } catch (...) {
    end_tick(*tick, core);
    throw;
  }
  timer->kind = TimerKind::kTick;
  timer->to = to;
  timer->signal = signal;
  timer->ops = ops;
  timer->tick = tick;
  return TimerRef(timer->index, start(core, slot, *timer, tick->period));
}

}  // namespace bulkhead::core

namespace bulkhead {

bool cancel(TimerRef reference, std::chrono::nanoseconds* left) {
  const core::Inside inside;
  core::Core& core = core::core_of_caller("cancel");
  core::Slot& slot = *core.running;
  if (slot.extras == nullptr) return false;
  core::SendTimer* found = core::RecordSlab<core::SendTimer>::process().find(reference.index());
  if (found == nullptr || reference.generation() % 2 == 0) return false;
  {
    core::TimersOf timers(slot, core);
    if (found->generation.load(std::memory_order_relaxed) != reference.generation() ||
        found->owner.load(std::memory_order_relaxed) != core::pid_of(slot) ||
        found->kind == core::TimerKind::kRequest || found->kind == core::TimerKind::kWatch) {
      return false;
    }
    if (left != nullptr) *left = std::chrono::nanoseconds(core::time_left(*found));
    if (!core::end_timer(timers, *found, core)) return true;
  }
  core::discard(*found, core);
  return true;
}

}  // namespace bulkhead
