#include "core/commons.hpp"

#include <cstddef>

#include "core/domain.hpp"
#include "core/extras.hpp"

namespace bulkhead::core {

Commons::Commons(Domain& domain, Core& home, RunQueue kind, std::size_t cores)
    : domain_(domain), home_(home), queue_(SharedQueue::make(kind, cores)) {}

void Commons::push(Slot& slot) noexcept {
  const Core* core = tl_seat.at.mine();
  queue_->push(&slot, core != nullptr ? core->place : 0);
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

bool Commons::fall_asleep(const Core& core) noexcept {
  sleepers_.announce(core.place);
  return queue_->empty();
}

// --- timers --------------------------------------------------------------------------------------

bool Commons::has_fired(const Timer& timer) noexcept {
  const Timers timers(*this);
  return !timer.linked();
}

machine::Nanoseconds Commons::next_due() noexcept {
  if (timers_.load(std::memory_order_relaxed) == 0) return machine::kNever;
  const Timers timers(*this);
  return timers.wheel().has_fresh() ? 0 : timers.wheel().next_due();
}

// What is taken out under the lock is delivered without it: by then it is nobody else's, and may
// have its links used.
void Commons::advance(Core& core) {
  if (timers_.load(std::memory_order_relaxed) == 0) return;
  if (firing_.exchange(true, std::memory_order_acquire)) return;  // [pair commons.firing]
  Timer* first = nullptr;
  Timer** end = &first;
  {
    const Timers timers(*this);
    // A look at the clock behind the lock: those that were started just now count from then on.
    timers.wheel().advance(machine::now(), [&](Timer& timer) {
      if (!take_out(timer)) return;
      *end = &timer;
      end = &timer.previous;
    });
  }
  while (first != nullptr) {
    Timer* next = first->previous;
    first->previous = nullptr;
    deliver(core, *first);
    first = next;
  }
  firing_.store(false, std::memory_order_release);  // [pair commons.firing]
}

namespace {

Slot& slot_of(Timer& timeout) noexcept {
  return *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(&timeout) - offsetof(Slot, timeout));
}

}  // namespace

// Under the lock: is it the caller's to deliver?
bool Commons::take_out(Timer& timer) noexcept {
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
  }
}

}  // namespace bulkhead::core
