// The smallest cores and slots that models can run: the functions of core.cpp, send.cpp,
// balance.cpp and domain_slots.cpp that touch what several threads touch, over the production
// templates, in the order in which those call them. Each says which function it mirrors; what those
// do besides is left out: memory, timers, stacks, hints.
//
// A flaw is a mistake that the models must find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  // Slots that are used again (slot_model.cpp).
  kIgnoresGeneration,
  kTouchesAfterSettling,
  kTakesWithoutRight,
  kTakesMailOfTheDead,
  kScansWithoutLock,
  kDropsWithoutSettling,
  kResumesWithoutClaim,
  kResumesOnOldHome
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
    bool queued = false;  // in a ready queue: for a check
    Move move = Move::kNever;
    std::uint16_t to = kNowhere;
    ModelSignal* oldest = nullptr;
    ModelSignal* newest = nullptr;
    // The actor's state.
    std::uint8_t sent = 0;
    std::uint8_t handled = 0;
    std::uint8_t last[4] = {};  // number of the last letter of each sender
  };
  ModelSync::plain<Owned> owned;

  [[nodiscard]] const Owned& see() const { return owned.read(); }
  [[nodiscard]] Owned& own() { return owned.edit(); }
  void use_link() { ++watched_link.edit(); }

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
    std::function<void(ModelCore&)> dropped;
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
        world_.dropped(*this);
        return;
      }
      if (flaw != Flaw::kAppendsWithoutLook && slot.inbox.has_mail()) {
        take_in(slot, slot.inbox.take());
      }
      slot.append(&signal);
      if (slot.see().turn == ModelTurn::kIdle) make_ready(slot);
    } else if (home == kNowhere) {
      world_.dropped(*this);
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
        if (flaw == Flaw::kAdoptsThenSettles && moved_in) adopt(*slot);
        ModelSignal* signals = slot->inbox.settle();
        if (flaw != Flaw::kAdoptsThenSettles && moved_in) adopt(*slot);
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
    if (slot.see().oldest == nullptr) {
      world_.resumed(*this, slot);
      return true;
    }
    deliver(slot);
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
        world_.dropped(*this);
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
      static_cast<void>(signals->letter.read());
      world_.dropped(*this);
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

}  // namespace bulkhead::core
