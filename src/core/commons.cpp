#include "core/commons.hpp"

#include <algorithm>
#include <cstddef>

#include "core/domain.hpp"
#include "core/requests.hpp"
#include "core/send_timers.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

Commons::Commons(Domain& domain, Core& home, RunQueue kind, std::size_t cores)
    : domain_(domain), home_(home), queue_(SharedQueue::make(kind, cores)) {}

// What threads outside push is spread over the stripes.
void Commons::push(Slot& slot) noexcept {
  const Core* core = tl_seat.at.mine();
  queue_->push(&slot, core != nullptr ? std::uint32_t{core->place} : Slab::index_of(slot));
  wake_one();
}

void Commons::wake_one() noexcept {
  const std::size_t sleeper = sleepers_.pick();
  if (sleeper != sleepers_.kNobody) [[unlikely]]
    domain_.core(sleeper).poller.wake();
}

bool Commons::settle(Slot& slot) noexcept {
  if (!slot.has(Slot::kTimeoutArmed)) [[likely]] {
    become_home_of(slot);
    return slot.inbox.settle_if_empty();
  }
  const Timers timers(*this);
  if (!slot.timeout.linked()) return false;
  become_home_of(slot);
  return slot.inbox.settle_if_empty();
}

bool Commons::fall_asleep(const Core& core, machine::Nanoseconds& due) noexcept {
  sleepers_.announce(core.place);
  if (!queue_->empty()) return false;
  if (alarm_.is_unkept()) {
    const Timers timers(*this);
    due = std::min(due, alarm_.keep(core.place));
  }
  return true;
}

bool Commons::wake_up(const Core& core) noexcept {
  const bool picked = sleepers_.wake_up(core.place);
  if (!alarm_.keeps(core.place)) return picked;
  const Timers timers(*this);
  return alarm_.give_up(core.place) || picked;
}

// --- timers --------------------------------------------------------------------------------------

// Filed at once, by a look at the clock: it may be due before the core that starts it looks again.
bool Commons::Timers::start(Timer& timer, machine::Nanoseconds delay) noexcept {
  TimerWheel& wheel = commons_.home_.timers;
  const machine::Nanoseconds now = machine::now();
  if (wheel.size() == 0) wheel.restart(now);
  wheel.start_at(timer, machine::later(now, delay));
  return commons_.note_due();
}

void Commons::Timers::cancel(Timer& timer) noexcept {
  commons_.home_.timers.cancel(timer);
  commons_.note_due();
}

bool Commons::note_due() noexcept { return alarm_.set_due(home_.timers.next_due()); }

bool Commons::has_fired(const Timer& timer) noexcept {
  const Timers timers(*this);
  return !timer.linked();
}

// What is taken out under the lock is delivered without it: by then it is nobody else's, and may
// have its links used.
bool Commons::advance(Core& core) {
  if (alarm_.due() > core.clock() || !alarm_.begin_firing()) return false;
  Timer* first = nullptr;
  Timer** end = &first;
  {
    const Timers timers(*this);
    home_.timers.advance(core.clock(), [&](Timer& timer) {
      if (!take_out(timer, core.clock())) return;
      *end = &timer;
      end = &timer.previous;
    });
    note_due();
  }
  while (first != nullptr) {
    Timer* next = first->previous;
    first->previous = nullptr;
    deliver(core, *first);
    first = next;
  }
  const Timers timers(*this);
  alarm_.end_firing();
  return true;
}

// Under the lock: is it the caller's to deliver?
bool Commons::take_out(Timer& timer, machine::Nanoseconds now) noexcept {
  switch (timer.kind) {
    case TimerKind::kWait: {
      auto& wait = static_cast<WaitTimer&>(timer);
      return wait.slot->wait.claim(wait.epoch);
    }
    case TimerKind::kReceiveTimeout: {
      Slot& slot = slot_of(timer);
      if (!slot.inbox.claim_right()) return false;  // M4
      if (is_home_of(slot)) return true;
      notify(slot);
      return false;
    }
    case TimerKind::kSend:
      retire_send_timer(static_cast<SendTimer&>(timer));
      return true;
    case TimerKind::kTick: {
      auto& ticking = static_cast<SendTimer&>(timer);
      if (ticking.tick->loan.lend()) return true;
      home_.timers.start_at(ticking, due_again(ticking, now));
      return false;
    }
    case TimerKind::kRequest:
      return is_time_up(static_cast<SendTimer&>(timer));
    case TimerKind::kWatch:
      break;
  }
  return false;
}

void Commons::deliver(Core& core, Timer& timer) {
  switch (timer.kind) {
    case TimerKind::kWait:
      wake(*static_cast<WaitTimer&>(timer).slot);
      break;
    case TimerKind::kReceiveTimeout:
      push(slot_of(timer));  // whoever takes it finds its time up
      break;
    case TimerKind::kSend:
      deliver_send_timer(core, static_cast<SendTimer&>(timer));
      break;
    case TimerKind::kTick:
      deliver_tick(static_cast<SendTimer&>(timer));
      start_again(core, static_cast<SendTimer&>(timer));
      break;
    case TimerKind::kRequest:
      answer_too_late(static_cast<SendTimer&>(timer));
      break;
    case TimerKind::kWatch:
      break;
  }
}

// Its owner may have ended it meanwhile.
void Commons::start_again(Core& core, SendTimer& ticking) noexcept {
  {
    const Timers timers(*this);
    if (!has_ended(ticking)) {
      home_.timers.start_at(ticking, due_again(ticking, core.clock()));
      note_due();
      return;
    }
  }
  discard_send_timer(ticking, core);
}

}  // namespace bulkhead::core
