// Moving actors between cores. Two movements, both made by the owner and through hand_over:
//   gather  an actor that is idle when a message from another core reaches it goes to the sender's
//           core, before it handles the message, so that those who talk end up together; so does
//           one that is busy with such messages, after a batch, if its handlers are quick: what
//           those cost is mostly the way between the cores;
//   share   a core that has run dry asks the busiest one, which hands over some of its ready
//           actors; a core that has long had more than one ready actor wakes one that sleeps.
// Neither waits for anybody. An actor stays for a while where it came to, so that the two wishes do
// not throw it to and fro: longer where it was gathered, since it talks there.
#include <algorithm>

#include "base/check.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"

namespace bulkhead::core {

namespace {

// In coarse time.
constexpr std::uint32_t kStayShared = 1;
constexpr std::uint32_t kStayGathered = 100;
constexpr std::uint32_t kMostGiven = 256;
constexpr std::uint32_t kMostTimersMoved = 16;
constexpr std::size_t kManyReady = 16;
constexpr std::uint32_t kSlowTurns = 3;
constexpr std::uint32_t kLoadApart = 4;
constexpr machine::Nanoseconds kBusyBeforeWaking = 100'000;

bool may_move(const Slot& slot) noexcept {
  if (slot.has(Slot::kPinned | Slot::kSolo | Slot::kMoving | Slot::kEnding | Slot::kReceiving |
               Slot::kRoams)) {
    return false;
  }
  return slot.extras == nullptr || slot.extras->timer_count <= kMostTimersMoved;
}

bool stays(const Slot& slot, machine::Nanoseconds now) noexcept {
  return static_cast<std::int32_t>(slot.stays_until - coarse(now)) > 0;
}

}  // namespace

// For an actor that has just been taken from the arrivals, its right of notification being held:
// does it go on to the core that sent to it?
bool Core::wants_over(Slot& slot) noexcept {
  const std::uint16_t wanted = slot.wanted_by.load(std::memory_order_relaxed);
  if (wanted == kNoCore) return false;
  slot.wanted_by.store(kNoCore, std::memory_order_relaxed);
  if (wanted == index || slot.turn != Turn::kIdle || !may_move(slot) || stays(slot, now_)) {
    return false;
  }
  Domain& mine = *domain.load(std::memory_order_relaxed);
  Core* to = core_at(wanted);
  if (!mine.config().gather || mine.ending() || to->solo || solo) return false;
  if (to->domain.load(std::memory_order_relaxed) != &mine) return false;
  if (to->load.load(std::memory_order_relaxed) > ready.size() + kLoadApart) return false;
  if (slot.inbox.has_mail()) {
    // Older mail first: it becomes part of the queue, which moves along.
    Signal* signals = slot.inbox.take();
    slot.turn = Turn::kReady;  // so that take_in does not queue it here
    take_in(slot, signals);
    slot.turn = Turn::kIdle;
  }
  slot.stays_until = coarse(now_) + kStayGathered;
  hand_over(slot, *to);
  return true;
}

// For an actor that has used its batch up and has more to do, its handlers being quick: true when
// it goes on to the core that sends to it, or will when its arrival, which is under way, is taken.
bool Core::moves_to_sender(Slot& slot) noexcept {
  const std::uint16_t wanted = slot.wanted_by.load(std::memory_order_relaxed);
  if (wanted == kNoCore || wanted == index || !may_move(slot) || stays(slot, now_)) return false;
  slot.turn = Turn::kIdle;
  if (!slot.inbox.claim_right()) return true;
  if (wants_over(slot)) return true;
  take_in(slot, slot.inbox.settle());
  return slot.turn == Turn::kReady;
}

void Core::hand_over(Slot& slot, Core& to) noexcept {
  if (slot.has(Slot::kTimeoutArmed)) {
    // Filed ones know when they are due; a fresh one starts its time here.
    if (slot.timeout.fresh) slot.timeout.due = machine::later(machine::now(), slot.timeout.due);
    timers.cancel(slot.timeout);
  }
  unfile_timers(slot, *this);
  slot.set(Slot::kMoving);
  counts.moved.raise();
  slot.home.store(to.index, std::memory_order_release);  // [pair slot.home]
  to.notify_remote(slot);
}

// Few actors with quick handlers are better left together: what they send each other would have to
// cross over.
bool Core::worth_sharing() const noexcept {
  return ready.size() >= kManyReady || slow_turns_ >= kSlowTurns;
}

void Core::share_work() noexcept {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  if (mine.single() || solo || !worth_sharing()) return;
  if (work_wanted_by.load(std::memory_order_relaxed) != kNoCore) {
    const std::uint16_t asker = work_wanted_by.exchange(kNoCore, std::memory_order_relaxed);
    if (asker != kNoCore && asker != index) give_work(*core_at(asker));
    return;
  }
  if (!mine.some_sleep() || now_ - busy_since_ < kBusyBeforeWaking) return;
  busy_since_ = now_;
  for (std::size_t i = 0; i < mine.core_count(); ++i) {
    Core& core = mine.core(i);
    if (&core != this && core.arrivals.asleep()) {
      give_work(core);
      return;
    }
  }
}

void Core::give_work(Core& to) noexcept {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  if (!mine.config().share_work || mine.ending()) return;
  if (to.domain.load(std::memory_order_relaxed) != &mine) return;
  const auto share =
      static_cast<std::uint32_t>(std::min<std::size_t>(ready.size() / 2, kMostGiven));
  std::uint32_t tried = 0;
  std::uint32_t given = 0;
  while (given < share && tried < 2 * share) {
    ++tried;
    Slot* slot = ready.take_to_give();
    if (slot == nullptr) return;
    if (may_move(*slot) && !stays(*slot, now_) && slot->inbox.claim_right()) {
      slot->stays_until = coarse(now_) + kStayShared;
      hand_over(*slot, to);
      ++given;
    } else {
      ready.put_back(slot);
    }
  }
}

void Core::ask_for_work() noexcept {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  if (mine.single() || solo || mine.ending() || !mine.config().share_work) return;
  Core* busiest = nullptr;
  std::uint32_t most = 1;
  for (std::size_t i = 0; i < mine.core_count(); ++i) {
    Core& core = mine.core(i);
    const std::uint32_t waiting = core.load.load(std::memory_order_relaxed);
    if (&core != this && waiting > most) {
      most = waiting;
      busiest = &core;
    }
  }
  if (busiest == nullptr) return;
  std::uint16_t nobody = kNoCore;
  // Whether or not the busiest hears it: we do not wait, its answer wakes us.
  static_cast<void>(busiest->work_wanted_by.compare_exchange_strong(
      nobody, index, std::memory_order_relaxed, std::memory_order_relaxed));
}

}  // namespace bulkhead::core
