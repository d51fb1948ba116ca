// The smallest commons that a model can run: an actor that roams, and two cores, over the templates
// Inbox, Arrivals and MutexQueue of production, as commons.cpp and roaming.cpp use them. Each
// function says which it mirrors. What is left out stands in commons_model.cpp.
//
// A flaw is a mistake that the model must find.
#pragma once

#include <utility>

#include "sync/arrivals.hpp"
#include "sync/inbox.hpp"
#include "sync/modelled.hpp"
#include "sync/run_queue.hpp"

namespace bulkhead::core::roaming {

using namespace sync;

enum class Flaw {
  kNone,
  kHomeAfterTheRight,      // the commons become home when somebody else may hold the right
  kGivesUpThenQueues,      // one that has more to do goes into the queue without its right
  kSettlesAnyway,          // gives the right up though mail has come
  kQueuesBeforeLeaving,    // another core goes on with it while its stack still runs
  kKeepsAwayFromHome,      // one that is away keeps its right, and is told of nothing
  kFiresIntoTheActor,      // a timer touches what it does not own
  kGivesUpWithoutTheLock,  // time is up between a look and the giving up
  kForgetsToLook,          // nobody looks whether time was up meanwhile
  kOneLooksForAll,         // at a stop, one core looks what waits, and others do not
  kMarksOnlyWhomItTakes,   // at a stop, who takes an actor runs it before it looks at the others
  kLaunchesAnyway,         // the commons become home of a newborn whose right somebody else holds
  kNewestFirst,            // letters are not turned around
  kFiresWithoutTheRight,   // a timeout puts the actor into the queue whoever holds the right
  kKeepsTheRight,          // who lets the actor go that waits forgets to give the right up
  kQueuesWhoWaits          // and puts it into the queue
};

enum class Kind { kLetter, kHomecoming, kStraggler };

struct ModelSignal {
  WatchedLink<ModelSignal> next;
  Kind kind = Kind::kLetter;
  unsigned number = 0;
};

enum class ModelTurn { kVacant, kIdle, kReady, kAway, kEnded };

struct ModelSlot {
  Inbox<ModelSync, ModelSignal> inbox;
  ModelSync::atomic<unsigned> home{0};
  ModelSlot* next_arrival = nullptr;
  ModelSync::plain<unsigned> link;       // touched along with it
  ModelSync::atomic<unsigned> lists{0};  // that it is in
  ModelSync::plain<unsigned> stack;      // touched while the actor runs on it

  struct Owned {
    ModelTurn turn = ModelTurn::kIdle;
    ModelSignal* oldest = nullptr;
    unsigned queued = 0;
    unsigned handled = 0;
    unsigned last = 0;
    bool armed = false;
    bool due = false;
    bool unwinds = false;
    bool was_away = false;
    bool dropped = false;  // the straggler
  };
  ModelSync::plain<Owned> owned;
};

struct Setting {
  unsigned letters = 2;
  bool goes_away = false;
  bool has_timeout = false;
  bool stops = false;
  bool is_born = false;
};

inline constexpr unsigned kCores = 2;
inline constexpr unsigned kCommons = kCores;

template <Flaw flaw>
struct Program {
  struct ModelCore {
    Arrivals<ModelSync, ModelSlot, &ModelSlot::next_arrival> arrivals;
    bool has_local = false;  // the actor is in its own ready queue
    bool in_hand = false;
    bool unwound = false;
  };

  Setting setting;
  MutexQueue<ModelSync, ModelSlot, &ModelSlot::next_arrival, 0> queue;
  ModelCore cores[kCores];
  ModelSlot slot;
  ModelSignal letters[2];
  ModelSignal homecoming;
  ModelSignal straggler;
  ModelMutex timers;
  ModelSync::plain<bool> linked{false};  // under the lock
  ModelSync::atomic<bool> armed{false};  // a hint: whether to look; likewise
  ModelSync::atomic<unsigned> away{0};
  ModelSync::atomic<bool> ending{false};
  ModelSync::atomic<bool> done{false};
  ModelSync::atomic<bool> born{false};
  ModelSync::atomic<bool> other_is_marked{false};  // one that the end of the actor wakes

  Program(model::Run& run, const Setting& its_setting) : setting(its_setting) {
    run.name("queue", queue);
    run.name("inbox", slot.inbox);
    run.name("home", slot.home);
    run.name("link", slot.link);
    run.name("stack", slot.stack);
    run.name("actor", slot.owned);
    run.name("timer", linked);
    run.name("lock", timers);
    slot.home.store(setting.is_born ? 0 : kCommons, kRelaxed);
    if (setting.is_born) slot.owned.edit().turn = ModelTurn::kVacant;
    homecoming.kind = Kind::kHomecoming;
    straggler.kind = Kind::kStraggler;
    for (unsigned i = 0; i < 2; ++i) letters[i].number = i + 1;
  }

  // --- any thread ---

  /// core::notify.
  void notify() {
    const unsigned home = slot.home.load(kAcquire);
    if (home == kCommons) {
      put_into_queue(0);
    } else {
      use_link();
      static_cast<void>(cores[home].arrivals.push_remote(&slot, &slot));
    }
  }
  void use_link() {
    model::check(slot.lists.fetch_add(1, kRelaxed) == 0, "an actor is in one list, once");
    ++slot.link.edit();
  }
  void free_link() {
    ++slot.link.edit();
    slot.lists.fetch_sub(1, kRelaxed);
  }
  void put_into_queue(unsigned place) {
    use_link();
    queue.push(&slot, place);
  }
  void push(ModelSignal& signal) {
    if (slot.inbox.push_remote(&signal) == Pushed::kMustNotify) notify();
  }

  // --- a core ---

  /// Core::take_in, make_ready, welcome.
  void take_in(unsigned core, ModelSignal* signals) {
    while (signals != nullptr) {
      ModelSignal* next = signals->next;
      ModelSlot::Owned& mine = slot.owned.edit();
      if (signals->kind == Kind::kHomecoming) {
        model::check(mine.turn == ModelTurn::kAway, "who comes home was away");
        make_ready(core);
      } else if (signals->kind == Kind::kStraggler) {
        mine.dropped = true;
      } else {
        signals->next = nullptr;
        if (mine.oldest == nullptr) {
          mine.oldest = signals;
        } else if (flaw == Flaw::kNewestFirst) {
          signals->next = mine.oldest;
          mine.oldest = signals;
        } else {
          mine.oldest->next = signals;  // there are two at most
        }
        if (mine.turn == ModelTurn::kIdle) {
          if (mine.armed) disarm();
          make_ready(core);
        }
      }
      signals = next;
    }
  }
  void make_ready(unsigned core) {
    slot.owned.edit().turn = ModelTurn::kReady;
    if (!cores[core].in_hand) cores[core].has_local = true;
  }
  /// Core::disarm_timeout.
  void disarm() {
    timers.lock();
    linked.write(false);
    armed.store(false, kRelaxed);
    timers.unlock();
    slot.owned.edit().armed = false;
  }
  /// Core::look_at_timeout.
  void look_at_timeout(unsigned core) {
    if constexpr (flaw == Flaw::kForgetsToLook) return;
    const ModelSlot::Owned& seen = slot.owned.read();
    if (seen.turn != ModelTurn::kIdle || !seen.armed) return;
    timers.lock();
    const bool fired = !linked.read();
    timers.unlock();
    if (!fired) return;
    slot.owned.edit().armed = false;
    slot.owned.edit().due = true;
    make_ready(core);
  }

  /// Core::take_arrivals, of one that visits.
  bool take_arrivals(unsigned core) {
    if (cores[core].arrivals.empty()) return false;
    model::check(cores[core].arrivals.take_all() == &slot, "the actor arrives");
    free_link();
    model::check(slot.home.load(kAcquire) == core, "news comes to the home that it is for");
    take_in(core, slot.inbox.settle());
    look_at_timeout(core);
    return true;
  }

  /// Core::launch, with nothing to do at the start.
  void launch(unsigned core) {
    slot.owned.edit().turn = ModelTurn::kIdle;
    if (!slot.inbox.claim_right()) {
      if constexpr (flaw == Flaw::kLaunchesAnyway) slot.home.store(kCommons, kRelease);
    } else {
      slot.home.store(kCommons, kRelease);
      if (!slot.inbox.settle_if_empty()) put_into_queue(core);
    }
    born.store(true, kRelease);
  }

  /// Core::take_local, take_roamer, take_on.
  bool run_next(unsigned core) {
    ModelCore& me = cores[core];
    if (me.has_local) {
      me.has_local = false;
      me.in_hand = slot.inbox.claim_right();
      activate(core);
      return true;
    }
    if (queue.pop(core) == nullptr) return false;
    free_link();
    me.in_hand = true;
    take_back(core);
    if (ending.load(kAcquire)) {
      if (me.unwound || flaw == Flaw::kMarksOnlyWhomItTakes) {
        unwind(core);
      } else {
        end_all(core);
      }
    }
    if (slot.owned.read().turn == ModelTurn::kReady) {
      activate(core);
    } else {
      let_go(core);
    }
    return true;
  }

  void take_back(unsigned core) {
    slot.home.store(core, kRelease);
    if (slot.inbox.has_mail()) take_in(core, slot.inbox.take());
    look_at_timeout(core);
  }

  void activate(unsigned core) {
    ModelSlot::Owned& mine = slot.owned.edit();
    model::check(mine.turn == ModelTurn::kReady, "who runs was ready");
    ++slot.stack.edit();
    if (mine.unwinds) {
      mine.turn = ModelTurn::kEnded;
      end(core);
      return;
    }
    if (mine.due && mine.oldest == nullptr) {
      mine.due = false;
      mine.turn = ModelTurn::kIdle;
    } else if (setting.goes_away && !mine.was_away) {
      mine.was_away = true;
      mine.turn = ModelTurn::kAway;
    } else {
      handle_one();
    }
    leave_stack(core);
  }

  void handle_one() {
    ModelSlot::Owned& mine = slot.owned.edit();
    mine.due = false;
    ModelSignal* letter = mine.oldest;
    model::check(letter != nullptr && letter->number == mine.last + 1,
                 "the letters come once and in order");
    mine.oldest = letter->next;
    mine.last = letter->number;
    mine.turn = mine.oldest != nullptr ? ModelTurn::kReady : ModelTurn::kIdle;
    if (setting.has_timeout && ++mine.handled == 1 && mine.oldest == nullptr) {  // arm_timeout
      mine.armed = true;
      timers.lock();
      linked.write(true);
      armed.store(true, kRelaxed);
      timers.unlock();
    }
  }

  /// Core::block, and the loop on the next stack.
  void leave_stack(unsigned core) {
    const ModelSlot::Owned& mine = slot.owned.read();
    const bool is_done = mine.turn == ModelTurn::kIdle && mine.last == setting.letters &&
                         !mine.armed && !setting.stops;
    const bool is_away = mine.turn == ModelTurn::kAway;
    if constexpr (flaw == Flaw::kQueuesBeforeLeaving) {
      if (cores[core].in_hand) let_go(core);
      ++slot.stack.edit();
    } else {
      ++slot.stack.edit();
      if (cores[core].in_hand) {
        let_go(core);
      } else if (mine.turn == ModelTurn::kReady) {
        cores[core].has_local = true;
      }
    }
    if (is_away) away.store(1, kRelease);
    if (is_done) done.store(true, kRelease);
  }

  /// Core::let_go.
  void let_go(unsigned core) {
    ModelCore& me = cores[core];
    for (;;) {
      const ModelTurn turn = slot.owned.read().turn;
      if (turn == ModelTurn::kAway) {
        me.in_hand = false;
        if (flaw != Flaw::kKeepsAwayFromHome) take_in(core, slot.inbox.settle());
        return;
      }
      if (turn == ModelTurn::kReady) {
        me.in_hand = false;
        if constexpr (flaw == Flaw::kGivesUpThenQueues) take_in(core, slot.inbox.settle());
        slot.home.store(kCommons, kRelease);
        put_into_queue(core);
        return;
      }
      if ((flaw == Flaw::kSettlesAnyway || !slot.inbox.has_mail()) && settle()) {
        me.in_hand = false;
        return;
      }
      take_back(core);
    }
  }
  /// Commons::settle.
  bool settle() {
    if constexpr (flaw == Flaw::kHomeAfterTheRight) {
      if (!slot.inbox.settle_if_empty()) return false;
      slot.home.store(kCommons, kRelease);
      return true;
    }
    if constexpr (flaw == Flaw::kSettlesAnyway) {
      slot.home.store(kCommons, kRelease);
      static_cast<void>(slot.inbox.settle());
      return true;
    }
    if constexpr (flaw == Flaw::kKeepsTheRight || flaw == Flaw::kQueuesWhoWaits) {
      slot.home.store(kCommons, kRelease);
      if constexpr (flaw == Flaw::kQueuesWhoWaits) put_into_queue(0);
      return true;
    }
    if (!slot.owned.read().armed) {
      slot.home.store(kCommons, kRelease);
      return slot.inbox.settle_if_empty();
    }
    timers.lock();
    const bool runs = linked.read();
    if constexpr (flaw == Flaw::kGivesUpWithoutTheLock) timers.unlock();
    bool settled = false;
    if (runs) {
      slot.home.store(kCommons, kRelease);
      settled = slot.inbox.settle_if_empty();
    }
    if constexpr (flaw != Flaw::kGivesUpWithoutTheLock) timers.unlock();
    return settled;
  }

  /// Commons::advance.
  bool fire() {
    if (!armed.load(kRelaxed)) return false;
    bool owned = false;
    bool fired = false;
    timers.lock();
    armed.store(false, kRelaxed);
    if (linked.read()) {
      fired = true;
      linked.write(false);
      if constexpr (flaw == Flaw::kFiresIntoTheActor) static_cast<void>(slot.owned.edit());
      if (slot.inbox.claim_right() || flaw == Flaw::kFiresWithoutTheRight) {
        owned = slot.home.load(kAcquire) == kCommons;
        if (!owned) notify();
      }
    }
    timers.unlock();
    if (owned) notify();
    return fired;
  }

  /// Core::unwind.
  void unwind(unsigned core) {
    ModelSlot::Owned& mine = slot.owned.edit();
    mine.unwinds = true;
    if (mine.turn == ModelTurn::kIdle) make_ready(core);
  }
  /// Core::end_all_actors.
  bool end_all(unsigned core) {
    if (cores[core].unwound || !ending.load(kAcquire)) return false;
    cores[core].unwound = true;
    if (!end_roamer(core) && slot.home.load(kAcquire) == core) unwind(core);
    other_is_marked.store(true, kRelaxed);
    return true;
  }
  bool end_roamer(unsigned core) {
    if (slot.home.load(kAcquire) != kCommons || !slot.inbox.claim_right()) return false;
    if (slot.home.load(kAcquire) != kCommons) {
      notify();
      return false;
    }
    const bool had = std::exchange(cores[core].in_hand, true);
    unwind(core);
    cores[core].in_hand = had;
    put_into_queue(core);
    return true;
  }
  void end(unsigned core) {
    model::check(other_is_marked.load(kRelaxed), "whom an end wakes is marked before");
    cores[core].in_hand = false;
    slot.home.store(core, kRelease);
    static_cast<void>(slot.inbox.settle());  // stragglers
    done.store(true, kRelease);
  }

  void run(unsigned core) {
    while (!done.load(kAcquire)) {
      bool busy = take_arrivals(core);
      if (setting.has_timeout) busy |= fire();
      if (setting.stops && (core == 0 || flaw != Flaw::kOneLooksForAll)) busy |= end_all(core);
      busy |= run_next(core);
      if (!busy) ModelSync::spin_hint();
    }
  }
};

}  // namespace bulkhead::core::roaming
