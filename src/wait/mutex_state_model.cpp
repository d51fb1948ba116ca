// The mutex of mutex_state.hpp, and the line of line.hpp, under every interleaving, with weak
// memory.
//
//   one_at_a_time    M1, N2 to N4: some lock, give up when time is up, or are stopped; what each
//       has done under the lock is seen by the next, and in the end nobody holds it
//   nobody_overtakes M2: who lets go while somebody waits does not get it again before that one
//
// Broken copies follow: with one memory order weaker, with one thing wrong in the mutex, and with
// one thing wrong in those who wait or grant.
#include "wait/mutex_state.hpp"

#include <gtest/gtest.h>

#include "wait/modelled.hpp"

namespace bulkhead::wait {
namespace {

template <class Sync, Flaw flaw>
using AnyMutex = MutexState<Sync, ModelActors<flaw>, 0>;

// --- one memory order weaker ---

enum class Step { kTake, kRelease, kHandOver };

// The word is wider than that of the lock within.
template <Step step>
struct Relaxes {
  static constexpr bool applies(const sync::Written& as) {
    if (as.bytes != sizeof(std::uint64_t)) return false;
    if (as.op == sync::Written::kStore) return step == Step::kHandOver;
    if (as.op != sync::Written::kSwap) return false;
    return step == (as.order == kRelease ? Step::kRelease : Step::kTake);
  }
  static constexpr std::memory_order order(const sync::Written& as) {
    return applies(as) ? kRelaxed : as.order;
  }
};
template <Step step>
using Relaxed = sync::Weakened<Relaxes<step>>;

// --- one thing wrong in the mutex ---

/// Marks the word before it takes the lock to join the line.
struct MarksTooEarly : AnyMutex<ModelSync, Flaw::kNone> {
  Entered enter(Holder me, Node& node) {
    const Entered entered = take_or_mark(me);
    if (entered != Entered::kWaits) return entered;
    lock_.lock();
    node.what = me;
    line_.append(node);
    lock_.unlock();
    return entered;
  }
};

/// Lets go of it, and then wakes the first in the line to try again.
struct FreesFirst : AnyMutex<ModelSync, Flaw::kNone> {
  void release(Holder me) {
    std::uint64_t seen = me;
    if (word_.compare_exchange_strong(seen, 0, kRelease, kRelaxed)) return;
    word_.store(0, kRelease);
    Woken<ModelSync, ModelActors<>> woken;
    lock_.lock();
    if (!line_.empty()) static_cast<void>(woken.grant_first(line_));
    lock_.unlock();
    woken.wake();
  }
};

/// Hands it over without a look whether others wait behind.
struct ForgetsTheLine : AnyMutex<ModelSync, Flaw::kNone> {
  void release(Holder me) {
    std::uint64_t seen = me;
    if (word_.compare_exchange_strong(seen, 0, kRelease, kRelaxed)) return;
    Woken<ModelSync, ModelActors<>> woken;
    lock_.lock();
    bool granted = false;
    while (!granted && !line_.empty()) granted = woken.grant_first(line_);
    word_.store(granted ? woken.first()->what : 0, kRelease);
    lock_.unlock();
    woken.wake();
  }
};

// --- the theorems ---

constexpr Holder holder_of(unsigned thread) { return 4 * (thread + 1); }

template <class Mutex>
struct State {
  Mutex mutex;
  ModelActor actors[3];
  ModelSync::plain<unsigned> turns{0};
  ModelSync::atomic<unsigned> locked{0};

  void name(model::Run& run) {
    run.name("mutex", mutex);
    run.name("actors", actors);
    run.name("turns", turns);
  }
};

/// Mutex::take_slowly.
template <Flaw flaw, class Mutex>
Waited take(State<Mutex>& s, unsigned thread, Limit limit) {
  const Holder me = holder_of(thread);
  if (s.mutex.try_take(me)) return Waited::kLetGo;
  return wait_in_line<flaw>(
      s.mutex, s.actors[thread], model::make<typename Mutex::Node>(), limit,
      [&](auto& node) { return s.mutex.enter(me, node) == Entered::kWaits; },
      [&] { s.mutex.release(me); });
}

enum class Stop : std::uint8_t { kNobody, kTheFirst };

/// The first `hasty` of the threads give up when time is up.
template <class Mutex, Flaw flaw = Flaw::kNone>
model::Result one_at_a_time(const model::Options& options, unsigned threads, unsigned hasty,
                            Stop stop = Stop::kNobody) {
  return model::explore(options, [=](model::Run& run) {
    auto s = std::make_shared<State<Mutex>>();
    s->name(run);
    for (unsigned i = 0; i < threads; ++i) {
      run.thread("actor", [s, i, hasty] {
        const Limit limit = i < hasty ? Limit::kSome : Limit::kForever;
        if (take<flaw>(*s, i, limit) != Waited::kLetGo) return;
        ++s->turns.edit();
        static_cast<void>(s->locked.fetch_add(1, kRelaxed));
        s->mutex.release(holder_of(i));
      });
    }
    if (stop == Stop::kTheFirst) run.thread("stop", [s] { s->actors[0].stop(); });
    run.finally([s, threads, hasty, stop] {
      for (const ModelActor& actor : s->actors) actor.check_wakes();
      model::check(s->mutex.holder() == 0, "in the end nobody holds it");
      model::check(s->turns.read() == s->locked.load(kRelaxed), "nobody's turn is lost");
      const unsigned may_leave = hasty + (stop == Stop::kTheFirst && hasty == 0 ? 1 : 0);
      model::check(s->turns.read() + may_leave >= threads, "who waits for ever gets it");
    });
  });
}

template <class Mutex>
model::Result nobody_overtakes(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct Order : State<Mutex> {
      ModelSync::atomic<bool> in_line{false};
      ModelSync::atomic<bool> served{false};
    };
    auto s = std::make_shared<Order>();
    s->name(run);
    run.thread("holder", [s] {
      const Holder me = holder_of(0);
      if (!s->mutex.try_take(me)) return;
      const bool somebody_waits = s->in_line.load(kAcquire);
      s->mutex.release(me);
      if (!s->mutex.try_take(me)) return;
      if (somebody_waits) model::check(s->served.load(kAcquire), "nobody overtakes");
      s->mutex.release(me);
    });
    run.thread("waiter", [s] {
      const Holder me = holder_of(1);
      const Waited waited = wait_in_line<Flaw::kNone>(
          s->mutex, s->actors[1], model::make<typename Mutex::Node>(), Limit::kForever,
          [&](auto& node) {
            const bool waits = s->mutex.enter(me, node) == Entered::kWaits;
            if (waits) s->in_line.store(true, kRelease);
            return waits;
          },
          [] {});
      model::check(waited == Waited::kLetGo, "there is no limit");
      s->served.store(true, kRelease);
      s->mutex.release(me);
    });
    run.finally([s] { model::check(s->mutex.holder() == 0, "in the end nobody holds it"); });
  });
}

using Right = AnyMutex<ModelSync, Flaw::kNone>;

TEST(MutexModel, one_at_a_time_holds_it_and_whoever_waits_for_ever_gets_it) {
  expect_ok(one_at_a_time<Right>(sync::full(), 2, 0));
  expect_ok(one_at_a_time<Right>(sync::within(2), 3, 0));
}

TEST(MutexModel, a_grant_and_a_timeout_have_one_outcome) {
  expect_ok(one_at_a_time<Right>(sync::within(3), 2, 2));
  expect_ok(one_at_a_time<Right>(sync::within(2), 3, 1));
}

TEST(MutexModel, a_grant_and_a_stop_have_one_outcome) {
  expect_ok(one_at_a_time<Right>(sync::within(3), 2, 0, Stop::kTheFirst));
  expect_ok(one_at_a_time<Right>(sync::within(2), 2, 1, Stop::kTheFirst));
  expect_ok(one_at_a_time<Right>(kSequential, 3, 0, Stop::kTheFirst));
}

TEST(MutexModel, nobody_overtakes_who_waits) { expect_ok(nobody_overtakes<Right>(sync::full())); }

TEST(MutexModel, an_order_that_is_too_weak_is_found) {
  const auto options = sync::within(2);
  expect_found(one_at_a_time<AnyMutex<Relaxed<Step::kTake>, Flaw::kNone>>(options, 2, 0), kRace);
  expect_found(one_at_a_time<AnyMutex<Relaxed<Step::kRelease>, Flaw::kNone>>(options, 2, 0), kRace);
  // A hand-over that comes to nobody frees it: then the store is what the next one sees.
  expect_found(one_at_a_time<AnyMutex<Relaxed<Step::kHandOver>, Flaw::kNone>>(options, 3, 1),
               kRace);
}

TEST(MutexModel, what_is_wrong_in_the_mutex_is_found) {
  expect_found(one_at_a_time<MarksTooEarly>(kSequential, 2, 0), kStuck);
  expect_found(one_at_a_time<ForgetsTheLine>(kSequential, 3, 0), kStuck);
  expect_found(nobody_overtakes<FreesFirst>(kSequential), "nobody overtakes");
}

template <Flaw flaw>
model::Result with(unsigned hasty, Stop stop) {
  return one_at_a_time<AnyMutex<ModelSync, flaw>, flaw>(kSequential, 2, hasty, stop);
}

TEST(MutexModel, what_is_wrong_in_a_grant_is_found) {
  expect_found(with<Flaw::kGrantsWithoutClaim>(2, Stop::kNobody), kRace);
  expect_found(with<Flaw::kDoesNotWake>(0, Stop::kNobody), kStuck);
  expect_found(with<Flaw::kStaysInLine>(1, Stop::kNobody), "use after free");
  expect_found(with<Flaw::kKeepsTheGrant>(0, Stop::kTheFirst), "in the end nobody holds it");
}

}  // namespace
}  // namespace bulkhead::wait
