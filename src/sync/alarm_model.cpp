// C9: the keeper of alarm.hpp, among the sleepers of sleepers.hpp, under every interleaving,
// with weak memory.
//
//   timer_for_the_free   L1 to L3: somebody starts a timer, and is busy ever after; perhaps an
//       earlier one, after one that is far away. In some settings core 0 is given work of its own,
//       which keeps it busy ever after; or somebody else has been firing, and is then busy. Core 1
//       has nothing else to do, so it, if not core 0, must find the timer due.
//
// A core that sleeps for what is far away, or for nothing, sleeps until it is woken. Broken copies
// follow.
#include "sync/alarm.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"
#include "sync/sleepers.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw {
  kNone,
  kStartsInSilence,  // who starts a timer wakes nobody
  kLooksFirst,       // and then announces its sleep
  kWeakFence,        // of who announces, and of who picks
  kKeepsForItself,   // who gives up to keep, and is busy then, tells nobody
  kNeverGivesUp,     // who wakes up for something else is still taken for the keeper
  kFiresAndForgets,  // who has fired does not look
  kEndsFiringWithoutTheLock
};

enum class Setting { kOneTimer, kAnEarlierOne, kOwnWork, kFiring };

constexpr std::int64_t kSoon = 10;
constexpr std::int64_t kFar = 20;
constexpr unsigned kCores = 2;

template <Flaw flaw>
struct Weak : ModelSync {
  static void fence(std::memory_order order) {
    ModelSync::fence(flaw == Flaw::kWeakFence ? kAcqRel : order);
  }
};

template <Flaw flaw>
struct State {
  ModelMutex lock;
  Alarm<ModelSync> alarm;
  Sleepers<Weak<flaw>, kCores> sleepers;
  ModelEvent events[kCores];
  bool passes_on[kCores] = {};                        // each core's own
  ModelSync::plain<std::int64_t> earliest{kFar + 1};  // under the lock: the timers
  ModelSync::atomic<unsigned> own{0};                 // work of core 0
  ModelSync::atomic<bool> time_is_up{false};
  ModelSync::atomic<bool> fired{false};

  explicit State(model::Run& run) {
    run.name("lock", lock);
    run.name("alarm", alarm);
    run.name("sleepers", sleepers);
    run.name("events", events);
    run.name("earliest", earliest);
    run.name("own", own);
    run.name("time is up", time_is_up);
    run.name("fired", fired);
  }

  void wake_one() {
    const std::size_t who = sleepers.pick();
    if (who != sleepers.kNobody) events[who].wake();
  }

  // Whoever starts a timer, and does not come back soon.
  void start(std::int64_t due) {
    lock.lock();
    if (due < earliest.read()) earliest.write(due);
    const bool unkept = alarm.set_due(earliest.read());
    lock.unlock();
    if (unkept && flaw != Flaw::kStartsInSilence) wake_one();
  }

  // Somebody who fires what was due before, and is then busy.
  void end_firing() {
    if constexpr (flaw == Flaw::kEndsFiringWithoutTheLock) {
      alarm.end_firing();
    } else {
      lock.lock();
      alarm.end_firing();
      lock.unlock();
    }
    if (flaw != Flaw::kFiresAndForgets && alarm.is_unkept()) wake_one();
  }

  bool fire() {
    if (alarm.due() != kSoon || !time_is_up.load(kRelaxed) || !alarm.begin_firing()) return false;
    lock.lock();
    static_cast<void>(alarm.set_due(alarm.kNever));
    alarm.end_firing();
    lock.unlock();
    fired.store(true, kRelease);
    for (ModelEvent& event : events) event.wake();  // the end
    return true;
  }

  void sleep(unsigned core) {
    bool unkept = flaw == Flaw::kLooksFirst && alarm.is_unkept();
    sleepers.announce(core);
    if (flaw != Flaw::kLooksFirst) unkept = alarm.is_unkept();
    std::int64_t due = alarm.kNever;
    if (unkept) {
      lock.lock();
      due = alarm.keep(core);
      lock.unlock();
    }
    if (due != kSoon) {
      events[core].wait();
    } else if (!events[core].wait_for_some_time()) {
      time_is_up.store(true, kRelaxed);
    }
    passes_on[core] = sleepers.wake_up(core);
    if (flaw != Flaw::kNeverGivesUp && alarm.keeps(core)) {
      lock.lock();
      passes_on[core] |= alarm.give_up(core);
      lock.unlock();
    }
  }

  void run(unsigned core) {
    while (!fired.load(kAcquire)) {
      if (core == 0 && own.load(kAcquire) == 1) {
        if (flaw != Flaw::kKeepsForItself && passes_on[core] && alarm.is_unkept()) wake_one();
        return;
      }
      if (!fire()) sleep(core);
    }
  }
};

template <Flaw flaw>
model::Result timer_for_the_free(const model::Options& options, Setting setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<State<flaw>>(run);
    if (setting == Setting::kFiring) static_cast<void>(s->alarm.begin_firing());
    run.thread("core 0", [s] { s->run(0); });
    if (setting == Setting::kOwnWork) {
      run.thread("core 1", [s] { s->run(1); });
      run.thread("bringer", [s] {
        s->own.store(1, kRelease);
        s->events[0].wake();
      });
    }
    if (setting == Setting::kFiring) run.thread("firing", [s] { s->end_firing(); });
    run.thread("starter", [s, setting] {
      if (setting == Setting::kAnEarlierOne) s->start(kFar);
      s->start(kSoon);
    });
    run.finally([s] { model::check(s->fired.load(), "the timer is found due"); });
  });
}

void expect_ok(Setting setting, const model::Options& options = few_stale(2)) {
  const model::Result r = timer_for_the_free<Flaw::kNone>(options, setting);
  EXPECT_TRUE(r.ok()) << r.report();
}

template <Flaw flaw>
void expect_found(Setting setting) {
  const model::Result r = timer_for_the_free<flaw>(few_stale(2), setting);
  EXPECT_TRUE(r.found("lost wake-up")) << r.report();
}

TEST(AlarmModel, a_timer_is_kept_while_somebody_sleeps) {
  expect_ok(Setting::kOneTimer);
  expect_ok(Setting::kAnEarlierOne);
  expect_ok(Setting::kOwnWork, few_stale(1));
  expect_ok(Setting::kFiring);
}

TEST(AlarmModel, a_timer_that_nobody_is_told_of_is_found) {
  expect_found<Flaw::kStartsInSilence>(Setting::kOneTimer);
  expect_found<Flaw::kStartsInSilence>(Setting::kAnEarlierOne);
  expect_found<Flaw::kLooksFirst>(Setting::kOneTimer);
  expect_found<Flaw::kWeakFence>(Setting::kOneTimer);
}

TEST(AlarmModel, a_keeper_that_is_busy_is_found) {
  expect_found<Flaw::kKeepsForItself>(Setting::kOwnWork);
  expect_found<Flaw::kNeverGivesUp>(Setting::kOwnWork);
}

TEST(AlarmModel, a_timer_that_waits_for_who_has_fired_is_found) {
  expect_found<Flaw::kFiresAndForgets>(Setting::kFiring);
  expect_found<Flaw::kEndsFiringWithoutTheLock>(Setting::kFiring);
}

}  // namespace
}  // namespace bulkhead::sync
