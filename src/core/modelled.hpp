// The smallest cores and slots that models can run: the functions of core.cpp, intake.cpp,
// send.cpp, balance.cpp and domain_slots.cpp that touch what several threads touch, over the
// production templates, in the order in which those call them. Each says which function it
// mirrors; what those do besides is left out: memory, timers, stacks, hints.
//
// A flaw is a mistake that the models must find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "sync/arrivals.hpp"
#include "sync/inbox.hpp"
#include "sync/modelled.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::core {

using model::ModelSync;
using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;
using sync::kSeqCst;

inline constexpr std::uint16_t kNowhere = 0xffff;  // kNoCore

enum class Flaw : std::uint8_t {
  kNone,
  // Order, and one owner (handover_model.cpp).
  kAppendsWithoutLook,  // a send on the own core does not empty the inbox first
  kMovesWithoutRight,
  kHomeFirst,            // stores home before the slot is ready to be owned
  kHomeRelaxed,          // stores it without release
  kHomeReadRelaxed,      // reads it without acquire
  kReadyWhileMoving,     // makes an actor ready that has not arrived
  kSettlesBeforeMoving,  // gives the right up, and then uses the link
  kSettlesThenNext,      // reads the link after it has given the right up
  kAdoptsThenSettles,    // runs what it has taken over before it has emptied the inbox
  kNotifiesOldHome,      // looks at home before the push: no fault, since the news follows ...
  kNewsGetsLost,         // ... but then it must
  // Slots that are used again, and wake-ups (slot_model.cpp).
  kIgnoresGeneration,     // delivers to the next actor what was sent to the last
  kTouchesAfterSettling,  // drops stragglers as if the slot were still its own
  kDropsWithoutSettling,  // keeps the right for ever
  kTakesWithoutRight,     // takes a vacant slot while news of it is under way
  kTakesMailOfTheDead,    // a send on the old home empties the inbox before it looks who lives
  kScansWithoutLock,      // looks at a slot while another core takes it
  kResumesWithoutClaim,   // a timer does not ask whether it is the first
  kResumesFromElsewhere   // a waker on another core does the owner's part
};

enum class ModelTurn : std::uint8_t { kVacant, kIdle, kReady, kRunning, kParked };

/// What a signal says.
struct Letter {
  std::uint32_t generation = 0;
  std::uint8_t sender = 0;
  std::uint8_t number = 0;
};

struct ModelSignal {
  sync::WatchedLink<ModelSignal> next;
  ModelSync::plain<Letter> letter;
};

/// When a slot goes to another core; once.
enum class Move : std::uint8_t { kNever, kShared, kGathered, kAfterBatch };

struct ModelSlot {
  // --- any thread ---
  sync::Inbox<ModelSync, ModelSignal> inbox;
  sync::WaitWord<ModelSync> wait;
  ModelSync::atomic<std::uint32_t> generation{1};
  ModelSync::atomic<std::uint16_t> home{kNowhere};
  ModelSlot* next_arrival = nullptr;
  ModelSync::plain<unsigned> watched_link{0};  // touched along with it
  ModelSignal resume;

  // --- owner ---
  struct Owned {
    ModelTurn turn = ModelTurn::kIdle;
    bool moving = false;
    bool queued = false;    // in a ready queue: for a check
    bool on_stack = false;  // is, or was last, blocked in mid-handler
    Move move = Move::kNever;
    std::uint16_t to = kNowhere;
    ModelSignal* oldest = nullptr;
    ModelSignal* newest = nullptr;
    // The actor's state.
    std::uint8_t sent = 0;
    std::uint8_t handled = 0;
    std::uint8_t waits = 0;
    std::uint8_t last[4] = {};  // number of the last letter of each sender
  };
  ModelSync::plain<Owned> owned;

  [[nodiscard]] const Owned& see() const { return owned.read(); }
  [[nodiscard]] Owned& own() { return owned.edit(); }
  void use_link() { ++watched_link.edit(); }

  void name(model::Run& run, std::string_view inbox_name, std::string_view home_name,
            std::string_view link_name, std::string_view own_name) {
    run.name(inbox_name, inbox);
    run.name(home_name, home);
    run.name(link_name, watched_link);
    run.name(own_name, owned);
  }

  void append(ModelSignal* signal) {
    signal->next = nullptr;
    Owned& mine = own();
    if (mine.oldest == nullptr) {
      mine.oldest = signal;
    } else {
      mine.newest->next = signal;
    }
    mine.newest = signal;
  }
  ModelSignal* pop() {
    Owned& mine = own();
    ModelSignal* signal = mine.oldest;
    mine.oldest = signal->next;
    return signal;
  }
};

template <Flaw flaw>
class ModelCore {
 public:
  using Handler = std::function<void(ModelCore& core, ModelSlot& slot, const Letter& letter)>;
  using Resumed = std::function<void(ModelCore& core, ModelSlot& slot)>;

  /// What the cores of a program share.
  struct World {
    std::vector<ModelCore*> cores;
    Handler handler;  // of each letter
    Resumed resumed;  // a parked actor goes on
    std::function<void(const Letter& letter)> dropped;
  };

  ModelCore(World& world, std::uint16_t index) : world_(world), index_(index) {}

  [[nodiscard]] std::uint16_t index() const { return index_; }

  /// Ends the program: no core has anything to do any more. Any thread.
  static void end(World& world) {
    for (ModelCore* core : world.cores) {
      static_cast<void>(core->arrivals_.push_remote(&core->end_, &core->end_));
    }
  }
  /// The loop of the core, until the end.
  void run() {
    while (!ended_) {
      if (!arrivals_.empty()) take_arrivals();
      share();
      if (!run_next() && !ended_) ModelSync::spin_hint();
    }
  }

  // --- any thread ---

  /// Core::notify_remote.
  void notify_remote(ModelSlot& slot) {
    slot.use_link();
    static_cast<void>(arrivals_.push_remote(&slot, &slot));
  }

  /// core::notify.
  static void notify(World& world, ModelSlot& slot) {
    const std::uint16_t home = slot.home.load(kAcquire);
    model::check(home != kNowhere, "who holds the right reads a home");
    world.cores[home]->notify_remote(slot);
  }

  /// The end of core::commit, and commit_from_outside inside the gate.
  static void push(World& world, ModelSlot& slot, ModelSignal& signal) {
    if constexpr (flaw == Flaw::kNotifiesOldHome || flaw == Flaw::kNewsGetsLost) {
      const std::uint16_t before = slot.home.load(kAcquire);
      if (slot.inbox.push_remote(&signal) == sync::Pushed::kMustNotify) {
        world.cores[before]->notify_remote(slot);
      }
    } else {
      if (slot.inbox.push_remote(&signal) == sync::Pushed::kMustNotify) notify(world, slot);
    }
  }

  // --- owner ---

  /// core::commit, on a core.
  void commit(ModelSlot& slot, ModelSignal& signal) {
    const std::uint16_t home = slot.home.load(flaw == Flaw::kHomeReadRelaxed ? kRelaxed : kAcquire);
    if (home == index_) {
      if (flaw == Flaw::kTakesMailOfTheDead && slot.inbox.has_mail()) {
        take_in(slot, slot.inbox.take());
      }
      if (slot.generation.load(kRelaxed) != signal.letter.read().generation) {
        world_.dropped(signal.letter.read());
        return;
      }
      if (flaw != Flaw::kAppendsWithoutLook && slot.inbox.has_mail()) {
        take_in(slot, slot.inbox.take());
      }
      slot.append(&signal);
      if (slot.see().turn == ModelTurn::kIdle) make_ready(slot);
    } else if (home == kNowhere ||
               slot.generation.load(kRelaxed) != signal.letter.read().generation) {
      world_.dropped(signal.letter.read());
    } else {
      push(world_, slot, signal);
    }
  }

  /// Core::take_arrivals.
  void take_arrivals() {
    ModelSlot* slot = arrivals_.take_all();
    while (slot != nullptr) {
      ModelSlot* next = slot->next_arrival;
      slot->use_link();
      if (slot == &end_) {
        ended_ = true;
      } else if (flaw != Flaw::kNewsGetsLost && slot->home.load(kAcquire) != index_) {
        model::check(flaw == Flaw::kNotifiesOldHome, "news comes to the home that it is for");
        world_.cores[slot->home.load(kRelaxed)]->notify_remote(*slot);
      } else if (slot->see().turn == ModelTurn::kVacant && !slot->see().moving) {
        drop_stragglers(*slot);
      } else if (!gathers(*slot)) {
        const bool moved_in = slot->see().moving;
        ModelSignal* signals = slot->inbox.settle();
        if (moved_in) adopt(*slot);
        take_in(*slot, signals);
        if (flaw == Flaw::kSettlesThenNext) slot->use_link();
      }
      slot = next;
    }
  }

  /// Core::make_ready.
  void make_ready(ModelSlot& slot) {
    if (flaw != Flaw::kReadyWhileMoving && slot.see().moving) return;
    slot.own().turn = ModelTurn::kReady;
    enqueue(slot);
  }

  /// Core::give_work, for one slot, when it holds one that is to be shared.
  void share() {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      ModelSlot& slot = *ready_[i];
      if (slot.see().move != Move::kShared) continue;
      slot.own().move = Move::kNever;
      if (flaw != Flaw::kMovesWithoutRight && !slot.inbox.claim_right()) continue;
      slot.own().queued = false;
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
      hand_over(slot);
      return;
    }
  }

  /// Runs the next actor that is ready, as Core::activate. False when there is none.
  bool run_next() {
    if (ready_.empty()) return false;
    ModelSlot& slot = *ready_.front();
    ready_.erase(ready_.begin());
    model::check(slot.see().turn == ModelTurn::kReady, "what is in the ready queue is ready");
    slot.own().queued = false;
    slot.own().turn = ModelTurn::kRunning;
    if (slot.see().on_stack) {
      slot.own().on_stack = false;
      world_.resumed(*this, slot);
    } else {
      deliver(slot);
    }
    return true;
  }

  /// Core::hand_over. The right of notification is held.
  void hand_over(ModelSlot& slot) {
    ModelCore& to = *world_.cores[slot.see().to];
    if constexpr (flaw == Flaw::kSettlesBeforeMoving) take_in(slot, slot.inbox.settle());
    if (flaw != Flaw::kHomeFirst) slot.own().moving = true;
    slot.home.store(to.index_, flaw == Flaw::kHomeRelaxed ? kRelaxed : kRelease);
    if (flaw == Flaw::kHomeFirst) slot.own().moving = true;
    to.notify_remote(slot);
  }

  /// core::wake, on a core: for who has claimed the wait of an actor.
  void wake(ModelSlot& slot) {
    if (flaw == Flaw::kResumesFromElsewhere || slot.home.load(kAcquire) == index_) {
      resume_later(slot);
    } else {
      wake_from_outside(world_, slot);
    }
  }
  /// core::wake, elsewhere.
  static void wake_from_outside(World& world, ModelSlot& slot) {
    if (slot.inbox.push_remote(&slot.resume) == sync::Pushed::kMustNotify) notify(world, slot);
  }
  /// Core::fire, of the timer of a wait.
  void time_out(ModelSlot& slot, std::uint64_t epoch) {
    if (slot.wait.claim(epoch) || flaw == Flaw::kResumesWithoutClaim) resume_later(slot);
  }
  /// Core::begin_wait and Core::park, of the actor that runs.
  [[nodiscard]] static std::uint64_t park(ModelSlot& slot) {
    slot.own().turn = ModelTurn::kParked;
    slot.own().on_stack = true;
    return slot.wait.begin();
  }
  /// The end of Core::deliver_batch, for an actor that has been resumed and returns.
  void return_from_handler(ModelSlot& slot) {
    slot.own().turn = ModelTurn::kIdle;
    if (slot.see().oldest != nullptr) make_ready(slot);
  }

  /// Core::finish, up to give_slot, for an actor that is idle.
  void finish(ModelSlot& slot) {
    slot.own().turn = ModelTurn::kRunning;
    slot.generation.store(slot.generation.load(kRelaxed) + 1, kRelease);
    while (slot.see().oldest != nullptr) world_.dropped(slot.pop()->letter.read());
    slot.own().turn = ModelTurn::kVacant;
  }
  /// Core::take_slot, for one that Domain::take_slots has just taken.
  void take_over(ModelSlot& slot) {
    slot.home.store(index_, kRelease);
    take_in(slot, slot.inbox.settle());
  }
  /// Core::end_all_actors, for one slot.
  void look_at(ModelSlot& slot) {
    if (slot.home.load(kAcquire) != index_) return;
    if (slot.see().moving) return;
    if (slot.see().turn == ModelTurn::kIdle) make_ready(slot);
  }

  /// Core::resume_later, for an actor whose wait the caller has claimed.
  void resume_later(ModelSlot& slot) {
    model::check(slot.see().turn == ModelTurn::kParked, "a parked actor is resumed, once");
    slot.own().turn = ModelTurn::kReady;
    enqueue(slot);
  }

  /// Core::take_in.
  void take_in(ModelSlot& slot, ModelSignal* signals) {
    const std::uint32_t generation = slot.generation.load(kRelaxed);
    while (signals != nullptr) {
      ModelSignal* next = signals->next;
      if (signals == &slot.resume) {
        resume_later(slot);
      } else if (flaw != Flaw::kIgnoresGeneration &&
                 (signals->letter.read().generation != generation ||
                  slot.see().turn == ModelTurn::kVacant)) {
        world_.dropped(signals->letter.read());
      } else {
        slot.append(signals);
      }
      signals = next;
    }
    if (slot.see().turn == ModelTurn::kIdle && slot.see().oldest != nullptr) make_ready(slot);
  }

  void enqueue(ModelSlot& slot) {
    model::check(!slot.see().queued, "an actor is in one ready queue, once");
    slot.own().queued = true;
    ready_.push_back(&slot);
  }

 private:
  /// Core::drop_stragglers, or what it was made to avoid.
  void drop_stragglers(ModelSlot& slot) {
    if constexpr (flaw == Flaw::kTouchesAfterSettling) {
      take_in(slot, slot.inbox.settle());
      return;
    }
    ModelSignal* signals =
        flaw == Flaw::kDropsWithoutSettling ? slot.inbox.take() : slot.inbox.settle();
    while (signals != nullptr) {
      ModelSignal* next = signals->next;
      world_.dropped(signals->letter.read());
      signals = next;
    }
  }

  /// Core::wants_over.
  bool gathers(ModelSlot& slot) {
    if (slot.see().move != Move::kGathered || slot.see().moving) return false;
    if (slot.see().turn != ModelTurn::kIdle) return false;
    slot.own().move = Move::kNever;
    if (slot.inbox.has_mail()) {
      ModelSignal* signals = slot.inbox.take();
      slot.own().turn = ModelTurn::kReady;
      take_in(slot, signals);
      slot.own().turn = ModelTurn::kIdle;
    }
    hand_over(slot);
    return true;
  }

  /// Core::moves_to_sender.
  bool moves_to_sender(ModelSlot& slot) {
    if (slot.see().move != Move::kAfterBatch) return false;
    slot.own().turn = ModelTurn::kIdle;
    if (flaw != Flaw::kMovesWithoutRight && !slot.inbox.claim_right()) {
      slot.own().move = Move::kGathered;  // when its arrival is taken
      return true;
    }
    slot.own().move = Move::kNever;
    hand_over(slot);
    return true;
  }

  /// Core::adopt.
  void adopt(ModelSlot& slot) {
    slot.own().moving = false;
    if (slot.see().turn == ModelTurn::kReady) {
      enqueue(slot);
    } else if (slot.see().turn == ModelTurn::kIdle && slot.see().oldest != nullptr) {
      make_ready(slot);
    }
  }

  /// Core::deliver_batch, with batches of one letter.
  void deliver(ModelSlot& slot) {
    ModelSignal* signal = slot.pop();
    world_.handler(*this, slot, signal->letter.read());
    if (slot.see().oldest == nullptr) {
      slot.own().turn = ModelTurn::kIdle;
    } else if (!moves_to_sender(slot)) {
      slot.own().turn = ModelTurn::kReady;
      enqueue(slot);
    }
  }

  World& world_;
  std::uint16_t index_;
  sync::Arrivals<ModelSync, ModelSlot, &ModelSlot::next_arrival> arrivals_;
  std::vector<ModelSlot*> ready_;
  ModelSlot end_;
  bool ended_ = false;
};

/// Domain::give_slots and Domain::take_slots.
template <Flaw flaw>
class VacantSlots {
 public:
  void give(ModelSlot& slot) {
    lock();
    slots_.edit().push_back(&slot);
    unlock();
  }
  /// A slot whose right of notification is now the caller's, or none.
  ModelSlot* take() {
    ModelSlot* taken = nullptr;
    lock();
    std::vector<ModelSlot*>& slots = slots_.edit();
    if (!slots.empty() && (slots.back()->inbox.claim_right() || flaw == Flaw::kTakesWithoutRight)) {
      taken = slots.back();
      taken->home.store(kNowhere, kRelease);
      slots.pop_back();
    }
    unlock();
    return taken;
  }
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  sync::ModelMutex lock_;
  ModelSync::plain<std::vector<ModelSlot*>> slots_;
};

}  // namespace bulkhead::core
