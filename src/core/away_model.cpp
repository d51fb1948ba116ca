// D3: a core that leaves a stuck actor behind, and the actor's homecoming, under every
// interleaving, with weak memory: the templates Seat, Inbox and Arrivals as crew.hpp and away.cpp
// use them.
//
//   handed_over  H1 to H3: an actor makes two calls into the runtime; meanwhile the watch takes its
//       core, and runs it in another thread, if it can; a thread outside sends the actor a letter.
//       The core is run by one thread at a time, and so is the actor, whose stack is left before it
//       is resumed; it comes home once if it was left, and never otherwise; both calls are made;
//       the letter is handled once; and the core does not sleep for good.
//   blamed  The watch has seen a core twice at the same activation, and takes it: it leaves that
//       one behind, and no other that has begun since.
//
// Broken copies follow.
#include <gtest/gtest.h>

#include <memory>

#include "sync/arrivals.hpp"
#include "sync/inbox.hpp"
#include "sync/modelled.hpp"
#include "sync/seat.hpp"

namespace bulkhead::core {
namespace {

using namespace sync;

enum class Flaw {
  kNone,
  kKeepsTheCore,      // goes on with the core that it had
  kPublishesFirst,    // the signal goes out while the thread still runs on the actor's stack
  kPublishesTwice,    // as if two calls came home
  kTellsNobody,       // the core is not told of the signal
  kLooksWhileAsleep,  // the core sleeps without looking at what has arrived
  kBlamesWhoeverRuns  // goes by what it saw before it took the core
};

enum class Kind { kLetter, kHomecoming };

struct ModelSignal {
  WatchedLink<ModelSignal> next;
  Kind kind = Kind::kLetter;
};

struct Fenced : ModelSync {
  static void light_fence() { ModelSync::fence(kSeqCst); }
  static void heavy_fence() { ModelSync::fence(kSeqCst); }
};

constexpr unsigned kCalls = 2;

template <Flaw flaw>
struct Program {
  struct Slot {
    Inbox<ModelSync, ModelSignal> inbox;
    Slot* next_arrival = nullptr;
  };
  struct Core {
    ModelSync::plain<unsigned> work;     // the owner's data
    ModelSync::plain<unsigned> letters;  // handled
    ModelSync::plain<unsigned> homecomings;
    ModelSync::plain<bool> away;
    Arrivals<ModelSync, Slot, &Slot::next_arrival> arrivals;
    ModelEvent event;
  };

  Core core;
  Slot slot;
  Seat<Fenced, Core> seat;
  ModelMutex lock;
  ModelSignal letter;
  ModelSignal homecoming[2];
  ModelSync::plain<unsigned> calls;  // in the actor's frame

  explicit Program(model::Run& run) {
    run.name("seat", seat);
    run.name("inbox", slot.inbox);
    run.name("arrivals", core.arrivals);
    run.name("event", core.event);
    run.name("core's work", core.work);
    run.name("frame", calls);
    for (ModelSignal& signal : homecoming) signal.kind = Kind::kHomecoming;
    seat.sit(&core);
    seat.leave();
  }

  void push(ModelSignal& signal) {
    if (slot.inbox.push_remote(&signal) != Pushed::kMustNotify) return;
    if (flaw == Flaw::kTellsNobody && signal.kind == Kind::kHomecoming) return;
    if (core.arrivals.push_remote(&slot, &slot) == Arrived::kMustWake) core.event.wake();
  }

  // The actor's handler in the thread that it began in; then the rest of the loop.
  void old_thread() {
    while (calls.read() < kCalls) {
      Core* mine = seat.enter();
      if (mine == nullptr && flaw == Flaw::kKeepsTheCore) mine = &core;
      if (mine == nullptr) {
        lock.lock();
        mine = seat.look_again();
        lock.unlock();
      }
      if (mine == nullptr) {
        come_home();
        return;
      }
      ++mine->work.edit();
      ++calls.edit();
      seat.leave();
    }
    // The handler returns into the loop.
    Core* mine = seat.enter();
    if (mine == nullptr) {
      lock.lock();
      mine = seat.look_again();
      lock.unlock();
    }
    if (mine == nullptr) {
      come_home();
      return;
    }
    run_loop();
  }

  void come_home() {
    if (flaw != Flaw::kPublishesFirst) static_cast<void>(calls.edit());  // leaves the stack
    push(homecoming[0]);
    if (flaw == Flaw::kPublishesTwice) push(homecoming[1]);
    if (flaw == Flaw::kPublishesFirst) static_cast<void>(calls.edit());
  }

  void watch() {
    lock.lock();
    const bool taken = seat.take() == Taken::kTaken;
    if (taken) core.away.write(true);
    lock.unlock();
    if (taken) run_loop();
  }

  // Until the letter is handled, and the actor is at home with all its calls made.
  void run_loop() {
    for (;;) {
      ++core.work.edit();
      take_arrivals();
      if (core.letters.read() == 1 && !core.away.read() && calls.read() == kCalls) return;
      if constexpr (flaw == Flaw::kLooksWhileAsleep) {
        static_cast<void>(core.arrivals.fall_asleep());
        core.event.wait();
        core.arrivals.wake_up();
        continue;
      }
      if (!core.arrivals.fall_asleep()) continue;
      core.event.wait();
      core.arrivals.wake_up();
    }
  }

  void take_arrivals() {
    Slot* arrived = core.arrivals.take_all();
    while (arrived != nullptr) {
      Slot* next = arrived->next_arrival;
      ModelSignal* signal = arrived->inbox.settle();
      while (signal != nullptr) {
        ModelSignal* following = signal->next;
        take_in(*signal);
        signal = following;
      }
      arrived = next;
    }
  }

  void take_in(const ModelSignal& signal) {
    if (signal.kind == Kind::kLetter) {
      ++core.letters.edit();
      return;
    }
    model::check(core.away.read(), "who comes home was away");
    core.away.write(false);
    ++core.homecomings.edit();
    calls.write(kCalls);  // it goes on here
  }
};

template <Flaw flaw>
model::Result handed_over(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Program<flaw>>(run);
    run.thread("old", [s] { s->old_thread(); });
    run.thread("watch", [s] { s->watch(); });
    run.thread("outside", [s] { s->push(s->letter); });
    run.finally([s] {
      model::check(s->core.letters.read() == 1, "the letter is handled once");
      model::check(s->calls.read() == kCalls, "the actor has made all its calls");
      const bool gone = s->seat.look_again() == nullptr;
      model::check(s->core.homecomings.read() == (gone ? 1 : 0), "who was left comes home once");
      model::check(s->slot.inbox.claim_right(), "the right is not lost");
    });
  });
}

// A core whose actors each have one activation, and a watch.
template <Flaw flaw>
struct Blame {
  struct Core {
    ModelSync::atomic<unsigned> progress;
    ModelSync::plain<unsigned> running;
  };

  Core core;
  Seat<Fenced, Core> seat;
  ModelMutex lock;

  explicit Blame(model::Run& run) {
    run.name("seat", seat);
    run.name("progress", core.progress);
    run.name("running", core.running);
    seat.sit(&core);
  }

  void run_actors() {
    for (unsigned actor = 1; actor <= 2; ++actor) {
      core.progress.store(actor, kRelaxed);
      core.running.write(actor);
      seat.leave();  // its handler runs
      if (seat.enter() != nullptr) continue;
      lock.lock();
      const bool left_behind = seat.look_again() == nullptr;
      lock.unlock();
      if (left_behind) return;
    }
  }

  void watch() {
    const unsigned seen = core.progress.load(kRelaxed);
    lock.lock();
    if (seat.take() == Taken::kTaken) {
      if (flaw != Flaw::kBlamesWhoeverRuns && core.progress.load(kRelaxed) != seen) {
        seat.put_back(&core);
      } else {
        model::check(core.running.read() == seen, "who is left behind was seen");
      }
    }
    lock.unlock();
  }
};

template <Flaw flaw>
model::Result blamed(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Blame<flaw>>(run);
    run.thread("core", [s] { s->run_actors(); });
    run.thread("watch", [s] { s->watch(); });
  });
}

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

TEST(AwayModel, a_core_is_run_by_one_thread_and_who_was_left_comes_home_once) {
  const model::Result r = handed_over<Flaw::kNone>(within(3));
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(AwayModel, who_is_left_behind_was_seen_to_be_stuck) {
  const model::Result r = blamed<Flaw::kNone>(within(4));
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(AwayModel, another_who_is_left_behind_is_found) {
  expect_found(blamed<Flaw::kBlamesWhoeverRuns>(within(3)), "who is left behind was seen");
}

TEST(AwayModel, a_core_that_two_threads_run_is_found) {
  expect_found(handed_over<Flaw::kKeepsTheCore>(within(2)), "data race: plain memory");
}

TEST(AwayModel, an_actor_that_is_resumed_on_a_stack_in_use_is_found) {
  expect_found(handed_over<Flaw::kPublishesFirst>(within(2)), "data race: plain memory");
}

TEST(AwayModel, an_actor_that_is_resumed_twice_is_found) {
  expect_found(handed_over<Flaw::kPublishesTwice>(within(2)), "who comes home was away");
}

TEST(AwayModel, a_wake_up_that_is_lost_is_found) {
  expect_found(handed_over<Flaw::kTellsNobody>(within(2)), "deadlock");
  expect_found(handed_over<Flaw::kLooksWhileAsleep>(within(2)), "deadlock");
}

}  // namespace
}  // namespace bulkhead::core
