// How a core runs actors that roam, beside those that are its own: see commons.hpp.
#include <utility>

#include "base/check.hpp"
#include "core/commons.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"

namespace bulkhead::core {

namespace {

constexpr int kMostFruitless = 16;

}  // namespace

// The loop of a core that shares a queue with others. An actor that leaves its stack is let go on
// the next one: only then may another core go on with it.
void Core::roam(machine::Stack* me) {
  for (;;) {
    Core* core = me->core;
    Slot* slot = nullptr;
    if (core->roamer_ != nullptr) {
      if (std::exchange(core->goes_on_, false) && core->activations_left_ != 0) {
        slot = core->roamer_;
      } else {
        core->let_go();
      }
    }
    if (slot == nullptr) {
      if (core->activations_left_ == 0) {
        core->turn_over();
        core->fair_next_ = true;
      }
      slot = core->next_of_both();
      if (slot != nullptr) core->pass_on();
    }
    if (slot != nullptr) [[likely]] {
      core->activations_left_ = core->activations_left_ - 1;
      activate(*slot, me);
      continue;
    }
    core->turn_over();
    if (core->has_work()) continue;
    if (core->domain.load(std::memory_order_relaxed)->may_leave(*core)) leave_loop(me);
    core->idle();
  }
}

// M5
void Core::pass_on() noexcept {
  if (std::exchange(passes_on_, false)) commons->pass_on();
}

// By turns, so that neither those of this core starve, nor those of all.
Slot* Core::next_of_both() {
  const bool own_first = activations_left_ % 2 != 0;
  Slot* slot = own_first ? take_local() : take_roamer();
  if (slot != nullptr) return slot;
  return own_first ? take_roamer() : take_local();
}

Slot* Core::take_local() noexcept {
  if (ready.empty()) return nullptr;
  Slot* slot = std::exchange(fair_next_, false) ? ready.next_fairly() : ready.next();
  if (slot != nullptr && slot->has(Slot::kRoams) && slot->inbox.claim_right()) roamer_ = slot;
  return slot;
}

Slot* Core::take_roamer() {
  for (int i = 0; i < kMostFruitless; ++i) {
    Slot* slot = commons->pop(*this);
    if (slot == nullptr) return nullptr;
    take_on(*slot);
    if (slot->turn == Turn::kReady) return slot;
    let_go();  // what came was for a predecessor
  }
  return nullptr;
}

// One that has been taken from the commons, with its right.
void Core::take_on(Slot& slot) {
  BULKHEAD_ASSERT(commons->is_home_of(slot), "home changes only under the right, which came along");
  roamer_ = &slot;
  take_back(slot);
  if (!domain.load(std::memory_order_relaxed)->ending()) [[likely]]
    return;
  // Before anybody runs here who was woken by the end of another, all are marked to be ended.
  if (unwound_) {
    name_and_unwind(slot);
  } else {
    end_all_actors();
  }
}

// With its right: from now on the actor is this core's, and all that has come for it is taken in.
void Core::take_back(Slot& slot) noexcept {
  slot.home.store(index, std::memory_order_release);  // [pair slot.home]
  if (slot.inbox.has_mail()) take_in(slot, slot.inbox.take());
  look_at_timeout(slot);
}

// The roaming actor in hand has had its turn.
void Core::let_go() {
  Slot& slot = *roamer_;
  for (;;) {
    switch (slot.turn) {
      case Turn::kAway: {
        Signal* signals = slot.inbox.settle();
        roamer_ = nullptr;
        take_in(slot, signals);
        return;
      }
      case Turn::kReady:
        roamer_ = nullptr;
        commons->become_home_of(slot);
        commons->push_in_passing(*this, slot);
        passes_on_ = true;
        return;
      default:
        break;
    }
    if (!slot.inbox.has_mail() && commons->settle(slot)) {
      roamer_ = nullptr;
      return;
    }
    take_back(slot);
  }
}

// The roaming actor in hand has ended: its slot, which the core may use again at once, is this
// core's like any other that is vacant.
void Core::put_down(Slot& slot) noexcept {
  roamer_ = nullptr;
  drop_stragglers(slot);
}

// M4: of an actor in hand, or visiting.
void Core::look_at_timeout(Slot& slot) noexcept {
  if (slot.turn != Turn::kIdle || !slot.has(Slot::kTimeoutArmed)) return;
  if (commons->has_fired(slot.timeout)) time_is_up(slot);
}

// With its parent in hand, perhaps; so it does not become what is in hand here.
void Core::launch(Slot& slot) noexcept {
  if (!slot.inbox.claim_right()) {  // M3: news of a straggler is on its way here
    if (slot.has(Slot::kStartPending)) make_ready(slot);
    end_newcomer(slot);
    return;
  }
  if (unwound_ && domain.load(std::memory_order_relaxed)->ending()) {
    slot.set(Slot::kUnwind | Slot::kStopAsked);
    slot.turn = Turn::kReady;
  }
  if (slot.has(Slot::kStartPending)) slot.turn = Turn::kReady;
  commons->become_home_of(slot);
  if (slot.turn == Turn::kIdle && slot.inbox.settle_if_empty()) return;
  commons->push(slot);
}

// M6: at a stop, one of those that wait in the commons. Its mail is left to who takes it next,
// since taking it in may call hooks.
bool Core::end_roamer(Slot& slot) {
  if (commons == nullptr || !commons->is_home_of(slot) || !slot.inbox.claim_right()) return false;
  if (!commons->is_home_of(slot)) {
    notify(slot);
    return false;
  }
  Slot* const in_hand = std::exchange(roamer_, &slot);
  name_and_unwind(slot);
  roamer_ = in_hand;
  commons->push(slot);
  return true;
}

// Who parks comes to the loop next, which passes on that nobody sleeps for its timer.
void Core::start_in_commons(Timer& timer, machine::Nanoseconds delay) noexcept {
  const bool unkept = Commons::Timers(*commons).start(timer, delay);
  if (!unkept) return;
  if (roamer_ != nullptr) {
    passes_on_ = true;
  } else {
    commons->pass_on();  // it visits
  }
}

void Core::cancel_in_commons(Timer& timer) noexcept {
  Commons::Timers theirs(*commons);
  if (timer.linked()) theirs.cancel(timer);
}

}  // namespace bulkhead::core
