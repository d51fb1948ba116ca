// C9: actors that roam, under every interleaving, with weak memory: see commons_modelled.hpp.
//
//   roams   M1 to M4, M6 of commons.hpp, S6 of slot.hpp: two cores run one actor by turns, which
//       gets letters from outside. The letters come once and in order; one core at a time owns the
//       actor; it is in the queue or among arrivals once; and no right is lost. Beside that, in
//       some settings: the actor is born in a slot that a straggler for an earlier one is under way
//       to; it is away in its first activation, and comes home; it starts a receive timeout, which
//       ends once, by time or by a letter; or the domain stops, and the actor is ended, once, and
//       not before all are marked whom its end may wake.
//
// Not here: M5, who sleeps (sleepers_model.cpp, alarm_model.cpp); the timers of waits, whose claim
// is the wait's (slot_model.cpp, wait_word_model.cpp); those of messages, which are all under the
// lock; and that one core fires at a time (alarm_model.cpp). Broken copies follow.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/commons_modelled.hpp"

namespace bulkhead::core {
namespace {

using namespace roaming;

template <Flaw flaw>
model::Result roams(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<Program<flaw>>(run, setting);
    run.thread("core 0", [s, setting] {
      if (setting.is_born) s->launch(0);
      s->run(0);
    });
    run.thread("core 1", [s] { s->run(1); });
    if (setting.is_born) run.thread("straggler", [s] { s->push(s->straggler); });
    run.thread("sender", [s, setting] {
      while (setting.is_born && !s->born.load(kAcquire)) ModelSync::spin_hint();
      for (unsigned i = 0; i < setting.letters; ++i) s->push(s->letters[i]);
    });
    if (setting.goes_away) {
      run.thread("former thread", [s] {
        while (s->away.load(kAcquire) == 0) ModelSync::spin_hint();
        s->push(s->homecoming);
      });
    }
    if (setting.stops) {
      run.thread("stop", [s] { s->ending.store(true, kRelease); });
    }
    run.finally([s, setting] {
      if (setting.stops) return;
      model::check(s->slot.owned.read().last == setting.letters, "each letter comes once");
      bool told = s->queue.pop(0) != nullptr;
      for (auto& core : s->cores) told |= core.arrivals.take_all() != nullptr;
      // A straggler may come after all was done.
      const bool late = setting.is_born && !s->slot.owned.read().dropped;
      model::check(told == late, "who has nothing to do is in no queue");
      model::check(s->slot.inbox.claim_right() == !late, "the right is not lost");
    });
  });
}

constexpr Setting kTwoLetters{};
constexpr Setting kOneLetter{.letters = 1};
constexpr Setting kAway{.letters = 2, .goes_away = true};
constexpr Setting kTimed{.letters = 1, .has_timeout = true};
constexpr Setting kTimedOrTold{.letters = 2, .has_timeout = true};
constexpr Setting kStopped{.letters = 1, .stops = true};
constexpr Setting kBorn{.letters = 1, .is_born = true};

void expect_ok(const Setting& setting, const model::Options& options = few_stale(2)) {
  const model::Result r = roams<Flaw::kNone>(options, setting);
  EXPECT_TRUE(r.ok()) << r.report();
}

template <Flaw flaw>
void expect_found(const Setting& setting, std::string_view what, unsigned preemptions = 2) {
  const model::Result r = roams<flaw>(few_stale(preemptions), setting);
  EXPECT_TRUE(r.found(what)) << r.report();
}

TEST(CommonsModel, letters_come_once_and_in_order_whoever_runs_the_actor) {
  expect_ok(kOneLetter);
  expect_ok(kTwoLetters);
}
TEST(CommonsModel, an_actor_that_is_away_visits_its_core_and_roams_again) {
  expect_ok(kAway, few_stale(1));
}
TEST(CommonsModel, a_newborn_visits_its_core_if_news_is_on_the_way) {
  expect_ok(kBorn, few_stale(1));
}
TEST(CommonsModel, a_receive_timeout_ends_once) {
  expect_ok(kTimed);
  expect_ok(kTimedOrTold);
}
TEST(CommonsModel, an_actor_that_roams_is_ended_at_a_stop) { expect_ok(kStopped); }

TEST(CommonsModel, an_actor_that_two_own_or_nobody_is_found) {
  expect_found<Flaw::kHomeAfterTheRight>(kTwoLetters, "news comes to the home");
  expect_found<Flaw::kGivesUpThenQueues>(kTwoLetters, "endless");  // nobody can give it up again
  expect_found<Flaw::kSettlesAnyway>(kTwoLetters, "livelock");
  expect_found<Flaw::kQueuesBeforeLeaving>(kTwoLetters, "data race: plain memory stack");
  expect_found<Flaw::kKeepsAwayFromHome>(kAway, "livelock");
  expect_found<Flaw::kKeepsTheRight>(kOneLetter, "the right is not lost");
  expect_found<Flaw::kQueuesWhoWaits>(kOneLetter, "is in no queue");
  expect_found<Flaw::kLaunchesAnyway>(kBorn, "news comes to the home", 1);
}

TEST(CommonsModel, letters_in_another_order_are_found) {
  expect_found<Flaw::kNewestFirst>(kTwoLetters, "once and in order");
}

TEST(CommonsModel, a_timeout_that_is_lost_or_not_owned_is_found) {
  expect_found<Flaw::kFiresIntoTheActor>(kTimed, "data race: plain memory actor");
  expect_found<Flaw::kGivesUpWithoutTheLock>(kTimed, "livelock");
  expect_found<Flaw::kForgetsToLook>(kTimed, "endless");
  expect_found<Flaw::kFiresWithoutTheRight>(kTimedOrTold, "in one list, once");
}

TEST(CommonsModel, an_actor_that_nobody_ends_is_found) {
  expect_found<Flaw::kOneLooksForAll>(kStopped, "livelock");
  expect_found<Flaw::kMarksOnlyWhomItTakes>(kStopped, "whom an end wakes");
}

}  // namespace
}  // namespace bulkhead::core
