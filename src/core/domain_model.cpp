// How a domain is waited for and stopped, under every interleaving, with weak memory. The cores
// here have the loop of core.cpp (turn_over, idle, sleep) over the production's arrivals, and the
// counts; what travels is put among the arrivals as it is: slots and inboxes are in
// handover_model.cpp.
//
//   idle_is_waited_for   D3, D4: wait_for_idle returns when all that was sent has been handled,
//       also what was sent by handlers on other cores, and not before; it sees what the handlers
//       did; and the last core that goes to sleep does not forget to tell it
//   stopped              each core ends its actors, and leaves its loop: none sleeps for ever,
//       whatever it was about to do when the stop began: to sleep, after a look at its descriptors
//       that swallows the wake-up; to hand an actor over; to finish a spawn whose constructor let
//       others run. What was sent by threads inside the gate is taken by a core
//
// Broken copies follow.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "sync/arrivals.hpp"
#include "sync/gate.hpp"
#include "sync/modelled.hpp"

namespace bulkhead::core {
namespace {

using sync::kSequential;

using model::ModelSync;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;
using sync::kSeqCst;

enum class Flaw {
  kNone,
  // Of waiting for idleness.
  kSumsSentFirst,
  kCountsHandledFirst,  // before what the handler sends
  kRaisesRelaxed,
  kReadsRelaxed,
  kNoFenceInCore,
  kNoFenceInWaiter,
  kLooksBeforeFence,  // is it idle? asked before the fence
  kAnnouncesLate,     // looks first
  kNotifiesUnlocked,  // between the look of who waits and its sleep
  // Of stopping.
  kIgnoresBell,
  kRingsBeforePhase,
  kForgetsNewcomers,
  kForgetsChildren,
  kLeavesAtOnce,  // whatever has arrived
  kClosesNoGate
};

// A count that its owner raises, as core::Count.
template <Flaw flaw>
class ModelCount {
 public:
  void raise() {
    value_.store(value_.load(kRelaxed) + 1, flaw == Flaw::kRaisesRelaxed ? kRelaxed : kRelease);
  }
  [[nodiscard]] std::uint64_t read() const {
    return value_.load(flaw == Flaw::kReadsRelaxed ? kRelaxed : kAcquire);
  }

 private:
  ModelSync::atomic<std::uint64_t> value_{0};
};

class ModelCondition {
 public:
  template <class Done>
  void wait(sync::ModelMutex& lock, Done done) {
    while (!done()) {
      const std::uint32_t seen = word_.load(kRelaxed);
      lock.unlock();
      ModelSync::futex_wait(word_, seen);
      lock.lock();
    }
  }
  void notify_all() {
    word_.fetch_add(1, kRelaxed);
    ModelSync::futex_wake(word_, 7);
  }

 private:
  ModelSync::atomic<std::uint32_t> word_{0};
};

enum class News : std::uint8_t { kAsk, kTell, kActor };

struct Parcel {
  Parcel* next_arrival = nullptr;
  News what = News::kTell;
};

enum class Phase : std::uint8_t { kRunning, kEnding, kLeaving };

constexpr unsigned kMostCores = 2;

template <Flaw flaw>
struct Domain {
  struct Core {
    sync::Arrivals<ModelSync, Parcel, &Parcel::next_arrival> arrivals;
    sync::ModelEvent event;
    ModelCount<flaw> sent, handled, started, ended;
    ModelSync::plain<unsigned> effect{0};  // of handlers
    // The loop's own.
    std::uint32_t heard = 0;
    unsigned actors = 0;
    bool unwound = false;
    bool watches = false;  // descriptors
  };

  std::array<Core, kMostCores> all_cores;
  std::span<Core> cores;  // those in use
  sync::Gate<ModelSync> gate;
  ModelSync::atomic<Phase> phase{Phase::kRunning};
  ModelSync::atomic<std::uint32_t> bell{0};
  ModelSync::atomic<std::uint32_t> watchers{0};
  ModelSync::atomic<std::uint64_t> sent_outside{0};
  sync::ModelMutex mutex;
  ModelCondition changed;
  Parcel parcels[3];

  Domain(model::Run& run, unsigned core_count) : cores(all_cores.data(), core_count) {
    name(run, all_cores[0], "arrivals 0", "event 0", "sent 0", "handled 0", "ended 0", "effect 0");
    name(run, all_cores[1], "arrivals 1", "event 1", "sent 1", "handled 1", "ended 1", "effect 1");
    run.name("gate", gate);
    run.name("phase", phase);
    run.name("bell", bell);
    run.name("watchers", watchers);
    run.name("sent outside", sent_outside);
    run.name("mutex", mutex);
    run.name("changed", changed);
    run.name("parcels", parcels);
    gate.open();
  }

  static void name(model::Run& run, Core& core, std::string_view arrivals, std::string_view event,
                   std::string_view sent, std::string_view handled, std::string_view ended,
                   std::string_view effect) {
    run.name(arrivals, core.arrivals);
    run.name(event, core.event);
    run.name(sent, core.sent);
    run.name(handled, core.handled);
    run.name(ended, core.ended);
    run.name(effect, core.effect);
  }

  // --- any thread ---

  void push(Core& to, Parcel& parcel, News what) {
    parcel.what = what;
    if (to.arrivals.push_remote(&parcel, &parcel) == sync::Arrived::kMustWake) to.event.wake();
  }

  // commit_from_outside.
  void send_from_outside(Core& to, Parcel& parcel, News what) {
    if (flaw != Flaw::kClosesNoGate && !gate.enter()) return;
    sent_outside.fetch_add(1, kRelease);
    push(to, parcel, what);
    if (flaw != Flaw::kClosesNoGate) gate.leave();
  }

  // Domain::quiescent.
  bool quiescent() {
    std::uint64_t settled = 0;
    std::uint64_t sent = 0;
    if constexpr (flaw == Flaw::kSumsSentFirst) sent = all_sent();
    for (Core& core : cores) settled += core.handled.read();
    if constexpr (flaw != Flaw::kSumsSentFirst) sent = all_sent();
    return settled == sent;
  }
  std::uint64_t all_sent() {
    std::uint64_t sent = sent_outside.load(kAcquire);
    for (Core& core : cores) sent += core.sent.read();
    return sent;
  }

  // Domain::all_ended.
  bool all_ended() {
    std::uint64_t ended = 0;
    for (Core& core : cores) ended += core.ended.read();
    std::uint64_t started = 0;
    for (Core& core : cores) started += core.started.read();
    return ended == started;
  }

  void wait_for_idle() {
    if (flaw == Flaw::kAnnouncesLate && quiescent()) return;
    if (flaw != Flaw::kAnnouncesLate) watchers.fetch_add(1, kRelaxed);
    if (flaw != Flaw::kNoFenceInWaiter) ModelSync::fence(kSeqCst);
    mutex.lock();
    bool announced = flaw != Flaw::kAnnouncesLate;
    changed.wait(mutex, [&] {
      const bool idle = quiescent();
      if (!announced) {
        watchers.fetch_add(1, kRelaxed);
        announced = true;
      }
      return idle;
    });
    mutex.unlock();
    watchers.fetch_sub(1, kRelaxed);
  }

  void wake_all() {
    bell.fetch_add(1, kSeqCst);
    for (Core& core : cores) core.event.wake();
  }

  // Domain::stop, up to the threads' end.
  void stop() {
    if (flaw != Flaw::kClosesNoGate) gate.close();
    enter(Phase::kEnding);
    watchers.fetch_add(1, kSeqCst);
    mutex.lock();
    ModelSync::fence(kSeqCst);
    changed.wait(mutex, [this] { return all_ended(); });
    mutex.unlock();
    watchers.fetch_sub(1, kRelaxed);
    enter(Phase::kLeaving);
  }
  void enter(Phase next) {
    if constexpr (flaw == Flaw::kRingsBeforePhase) wake_all();
    phase.store(next, kSeqCst);
    if constexpr (flaw != Flaw::kRingsBeforePhase) wake_all();
  }

  // --- the cores ---

  bool ending() { return phase.load(kAcquire) >= Phase::kEnding; }

  // Core::loop.
  void run(Core& core) {
    for (;;) {
      turn_over(core);
      if (phase.load(kAcquire) == Phase::kLeaving) {  // Domain::may_leave
        if (flaw == Flaw::kLeavesAtOnce || core.arrivals.empty()) return;
        continue;
      }
      if (core.watches) static_cast<void>(core.event.look());
      if (!core.arrivals.empty()) continue;
      sleep(core);
    }
  }

  void turn_over(Core& core) {
    core.heard = bell.load(kSeqCst);
    Parcel* parcel = core.arrivals.take_all();
    while (parcel != nullptr) {
      Parcel* next = parcel->next_arrival;
      handle(core, *parcel);
      parcel = next;
    }
    if (ending() && !core.unwound) end_all_actors(core);
  }

  void handle(Core& core, Parcel& parcel) {
    if (parcel.what == News::kActor) {  // Core::adopt
      ++core.actors;
      if (flaw != Flaw::kForgetsNewcomers && ending()) core.unwound = false;
      return;
    }
    ++core.effect.edit();
    if (flaw == Flaw::kCountsHandledFirst) core.handled.raise();
    if (parcel.what == News::kAsk) {
      core.sent.raise();
      push(cores[1], parcels[1], News::kTell);
    }
    if (flaw != Flaw::kCountsHandledFirst) core.handled.raise();
  }

  void end_all_actors(Core& core) {
    core.unwound = true;
    for (; core.actors > 0; --core.actors) core.ended.raise();
  }

  void sleep(Core& core) {
    if (!core.arrivals.fall_asleep()) return;
    if (flaw != Flaw::kIgnoresBell && bell.load(kSeqCst) != core.heard) {
      core.arrivals.wake_up();
      return;
    }
    tell_watchers();
    core.event.wait();
    core.arrivals.wake_up();
  }

  // Domain::tell_watchers, as called by Domain::core_sleeps.
  void tell_watchers() {
    bool worth_it = flaw == Flaw::kLooksBeforeFence && (quiescent() || all_ended());
    if (flaw != Flaw::kNoFenceInCore) ModelSync::fence(kSeqCst);
    if (watchers.load(kRelaxed) == 0) return;
    if (flaw != Flaw::kLooksBeforeFence) worth_it = quiescent() || all_ended();
    if (!worth_it) return;
    if (flaw != Flaw::kNotifiesUnlocked) mutex.lock();
    changed.notify_all();
    if (flaw != Flaw::kNotifiesUnlocked) mutex.unlock();
  }

  // What the core's actors do when a program begins.

  void have_actor(Core& core) {
    ++core.actors;
    core.started.raise();
  }

  // give_work: the only actor of a core goes to the other core, if nothing has ended it before.
  void hand_over(Core& core, Core& to, Parcel& parcel) {
    turn_over(core);
    if (core.actors == 0 || ending()) return;
    --core.actors;
    push(to, parcel, News::kActor);
  }

  // begin_spawn, a constructor that lets the core run, and finish_spawn. If the maker is to end, it
  // does so afterwards.
  void spawn(Core& core) {
    if (ending()) return;
    --core.actors;
    turn_over(core);
    const bool maker_ends = core.unwound;
    core.started.raise();
    ++core.actors;
    if (flaw != Flaw::kForgetsChildren && ending()) core.unwound = false;
    if (maker_ends) {
      core.ended.raise();
    } else {
      ++core.actors;
    }
  }
};

// --- the theorems ---

constexpr const char* kCoreNames[kMostCores] = {"core 0", "core 1"};

template <Flaw flaw>
model::Result idle_is_waited_for(const model::Options& options, unsigned core_count) {
  return model::explore(options, [core_count](model::Run& run) {
    auto s = std::make_shared<Domain<flaw>>(run, core_count);
    s->have_actor(s->cores[0]);
    for (unsigned i = 0; i < core_count; ++i) {
      run.thread(kCoreNames[i], [s, i] { s->run(s->cores[i]); });
    }
    run.thread("user", [s, core_count] {
      s->send_from_outside(s->cores[0], s->parcels[0], core_count == 1 ? News::kTell : News::kAsk);
      s->wait_for_idle();
      for (auto& core : s->cores) {
        model::check(core.effect.read() == 1, "nothing is under way when the domain is idle");
      }
      s->enter(Phase::kLeaving);
    });
  });
}

enum class Doing { kNothing, kHandsOver, kSpawns };
enum class Watches { kNothing, kDescriptors };
enum class Outside { kSilent, kSends };

struct Setting {
  unsigned cores = 2;
  Doing doing = Doing::kNothing;
  Watches watches = Watches::kNothing;
  Outside outside = Outside::kSilent;
};

template <Flaw flaw>
model::Result stopped(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<Domain<flaw>>(run, setting.cores);
    for (auto& core : s->cores) core.watches = setting.watches == Watches::kDescriptors;
    s->have_actor(s->cores[0]);
    run.thread("core 0", [s, setting] {
      if (setting.doing == Doing::kHandsOver) {
        s->hand_over(s->cores[0], s->cores[1], s->parcels[0]);
      } else if (setting.doing == Doing::kSpawns) {
        s->spawn(s->cores[0]);
      }
      s->run(s->cores[0]);
    });
    if (setting.cores > 1) run.thread("core 1", [s] { s->run(s->cores[1]); });
    run.thread("stopper", [s] { s->stop(); });
    if (setting.outside == Outside::kSends) {
      run.thread("outside",
                 [s] { s->send_from_outside(s->cores.back(), s->parcels[2], News::kTell); });
    }
    run.finally([s] {
      for (auto& core : s->cores) {
        model::check(core.arrivals.empty(), "what was sent inside the gate is taken");
      }
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

// What is wrong without weak memory is looked for without.
// Programs of three threads: with few stale reads, unless deep.
model::Options larger() {
  model::Options options = sync::within(1);
  if (!sync::deep()) options.stale_bound = 2;
  return options;
}

TEST(DomainModel, idle_is_waited_for_on_one_core) {
  expect_ok(idle_is_waited_for<Flaw::kNone>(sync::within(3), 1));
}

TEST(DomainModel, idle_is_waited_for_on_two_cores) {
  expect_ok(idle_is_waited_for<Flaw::kNone>(kSequential, 2));
  expect_ok(idle_is_waited_for<Flaw::kNone>(larger(), 2));
  expect_ok(idle_is_waited_for<Flaw::kNone>(sync::few_stale(2), 2));
}

TEST(DomainModel, a_wait_for_idle_that_ends_too_early_is_found) {
  constexpr std::string_view kRace = "data race: plain memory effect";
  expect_found(idle_is_waited_for<Flaw::kSumsSentFirst>(kSequential, 2), kRace);
  expect_found(idle_is_waited_for<Flaw::kCountsHandledFirst>(kSequential, 2), "under way");
  expect_found(idle_is_waited_for<Flaw::kRaisesRelaxed>(kSequential, 1), kRace);
  expect_found(idle_is_waited_for<Flaw::kReadsRelaxed>(kSequential, 1), kRace);
}

TEST(DomainModel, a_wait_for_idle_that_never_ends_is_found) {
  const auto lost = [](const model::Result& r) { expect_found(r, "user sleeps on changed"); };
  lost(idle_is_waited_for<Flaw::kNoFenceInCore>(larger(), 1));
  lost(idle_is_waited_for<Flaw::kNoFenceInWaiter>(larger(), 1));
  lost(idle_is_waited_for<Flaw::kLooksBeforeFence>(larger(), 2));
  lost(idle_is_waited_for<Flaw::kAnnouncesLate>(kSequential, 1));
  lost(idle_is_waited_for<Flaw::kNotifiesUnlocked>(kSequential, 1));
}

TEST(DomainModel, a_core_is_stopped_whatever_it_does) {
  for (const Doing doing : {Doing::kNothing, Doing::kSpawns}) {
    for (const Watches watches : {Watches::kNothing, Watches::kDescriptors}) {
      expect_ok(
          stopped<Flaw::kNone>(sync::within(2), {.cores = 1, .doing = doing, .watches = watches}));
    }
  }
}

TEST(DomainModel, what_comes_from_inside_the_gate_is_taken) {
  expect_ok(stopped<Flaw::kNone>(sync::within(2), {.cores = 1, .outside = Outside::kSends}));
  model::Options options = larger();
  if (!sync::deep()) options.stale_bound = 0;
  expect_ok(stopped<Flaw::kNone>(options, {.outside = Outside::kSends}));
}

TEST(DomainModel, an_actor_that_moves_is_ended) {
  expect_ok(stopped<Flaw::kNone>(kSequential, {.doing = Doing::kHandsOver}));
  expect_ok(stopped<Flaw::kNone>(larger(), {.doing = Doing::kHandsOver}));
}

TEST(DomainModel, a_core_that_sleeps_for_ever_is_found) {
  constexpr std::string_view kAsleep =
      "lost wake-up: no thread can go on: core 0 sleeps on event 0";
  expect_found(
      stopped<Flaw::kIgnoresBell>(kSequential, {.cores = 1, .watches = Watches::kDescriptors}),
      kAsleep);
  expect_found(stopped<Flaw::kRingsBeforePhase>(kSequential, {.cores = 1}), kAsleep);
}

TEST(DomainModel, an_actor_that_is_not_ended_is_found) {
  constexpr std::string_view kAlive = "stopper sleeps on changed";
  expect_found(stopped<Flaw::kForgetsNewcomers>(kSequential, {.doing = Doing::kHandsOver}), kAlive);
  expect_found(stopped<Flaw::kForgetsChildren>(kSequential, {.cores = 1, .doing = Doing::kSpawns}),
               kAlive);
}

TEST(DomainModel, what_is_not_taken_is_found) {
  constexpr std::string_view kLeft = "what was sent inside the gate is taken";
  expect_found(stopped<Flaw::kLeavesAtOnce>({.preemption_bound = 1}, {.outside = Outside::kSends}),
               kLeft);
  expect_found(stopped<Flaw::kClosesNoGate>(kSequential, {.cores = 1, .outside = Outside::kSends}),
               kLeft);
}

}  // namespace
}  // namespace bulkhead::core
