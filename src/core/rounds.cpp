// How a core runs its actors in rounds (RunQueue::kRounds), on a thread of its own, or on one that
// is lent to it for a while (drive.hpp).
#include <new>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/drive.hpp"
#include "core/extras.hpp"
#include "machine/cycles.hpp"

namespace bulkhead::core {

namespace {

// About 2 us; on slow counters up to a hundred times as long.
constexpr std::uint64_t kCyclesUnlooked = 5'000;

}  // namespace

// Each that was ready when the round began has one message handled. (No actor that is made ready
// meanwhile goes on in its place, nor when one blocks: activations_left_ is 0.)
void Core::rounds(machine::Stack* me) {
  for (;;) {
    Core* core = me->core;
    if (core->round_left_ == 0) {
      if (!core->begin_round()) leave_loop(me);
      continue;
    }
    --core->round_left_;
    Slot* slot = core->ready.next_in_line();
    if (slot == nullptr) [[unlikely]] {  // others were given some of them
      core->round_left_ = 0;
      continue;
    }
    core->turns_ = core->turns_ + 1;
    activate(*slot, me);
  }
}

// Between two short rounds it does not: to look at the clock alone takes as long as a message.
bool Core::must_look_about() const noexcept {
  return machine::cycles() - looked_at_ > kCyclesUnlooked || poller.watched() != 0 ||
         !arrivals.empty() || domain.load(std::memory_order_relaxed)->bell() != heard_;
}

// False when the loop is to end.
bool Core::begin_round() {
  if (!ready.empty() && !must_look_about()) {
    round_left_ = ready.line_up();
    return true;
  }
  given_up_ = kActivationsPerTurn;  // none was counted
  turn_over();
  activations_left_ = 0;
  looked_at_ = machine::cycles();
  if (poller.watched() != 0 && polled_ != now_) poll(0);
  const Domain& mine = *domain.load(std::memory_order_relaxed);
  if (drive_ != nullptr && mine.is_over(*drive_, now_)) return false;
  round_left_ = ready.line_up();
  if (round_left_ != 0) return true;
  if (mine.may_leave(*this)) return false;
  idle();
  return true;
}

// What is taken is given back at once, and stays.
void Core::reserve(const StageBounds& bounds) {
  const struct Seated {
    explicit Seated(Core& core) noexcept { core.become_current(); }
    ~Seated() { resign(); }
  } seated(*this);
  ready.reserve(bounds.actors);
  pool.reserve(bounds.message_class, bounds.messages);
  // Ticks and responses are a little larger than what they bring.
  const auto next_class = static_cast<std::uint8_t>(bounds.message_class + 1);
  if (next_class < kBlockClasses) pool.reserve(next_class, bounds.timers);
  pool_chunks.store(pool.chunks(), std::memory_order_relaxed);
  free_timers.reserve(bounds.timers);
  Slot* taken = nullptr;
  std::size_t missing = bounds.actors;
  for (; missing > 0; --missing) {
    Slot* slot = take_slot();
    if (slot == nullptr) break;
    slot->next_free = taken;
    taken = slot;
  }
  while (taken != nullptr) {
    Slot* slot = taken;
    taken = slot->next_free;
    give_slot(*slot);
  }
  if (missing > 0) throw std::bad_alloc();
}

// --- a stage -------------------------------------------------------------------------------------

Domain& Domain::take(const Config& config, const StageBounds& bounds) {
  Domain& domain = take(config, 1);
  domain.stage_ = bounds;
  return domain;
}

bool Domain::is_over(Drive& drive, machine::Nanoseconds now) const noexcept {
  if (all_ended()) {
    drive.end = Drive::End::kNobodyLives;
  } else if (drive.end_asked.load(std::memory_order_relaxed)) {
    drive.end = Drive::End::kAsked;
  } else if (drive.begun && now >= drive.deadline) {
    drive.end = Drive::End::kTimeIsUp;
  } else {
    drive.begun = true;
    return false;
  }
  return true;
}

// While it is ending, its loop ends all actors.
void Domain::end_stage() noexcept {
  ring_bell();
  Drive drive;
  while (!all_ended()) lend_thread(drive);
}

}  // namespace bulkhead::core
