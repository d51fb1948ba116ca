// Groups and condition variables (group_state.hpp) under every interleaving, with weak memory.
//
//   let_go     G1, G2: who waits is let go when the count becomes zero, and sees what was done
//   notified   G1, G2: a condition variable with a mutex, as condition_variable.cpp uses them: who
//       waits for something that is done under the mutex sees it, whatever comes in between, also
//       when another waiter is stopped or gives up
//
// Broken copies follow, with one thing wrong.
#include "wait/group_state.hpp"

#include <gtest/gtest.h>

#include "wait/modelled.hpp"
#include "wait/mutex_state.hpp"

namespace bulkhead::wait {
namespace {

template <Flaw flaw>
using AnyGroup = GroupState<ModelSync, ModelActors<flaw>, 0>;
using Right = AnyGroup<Flaw::kNone>;
using ModelMutex = MutexState<ModelSync, ModelActors<>, 0>;

/// Looks at the count, lets the lock go, and then joins the line.
struct LooksTooEarly : Right {
  using Right::Right;
  bool enter(Node& node) {
    lock_.lock();
    const bool waits = count_.read() != 0;
    lock_.unlock();
    if (!waits) return false;
    lock_.lock();
    line_.append(node);
    lock_.unlock();
    return true;
  }
};

/// Tries one, and is content although that one's wait was over.
struct NotifiesTheStale : Right {
  using Right::Right;
  void notify_one() {
    Woken<ModelSync, ModelActors<>> woken;
    lock_.lock();
    if (!line_.empty()) static_cast<void>(woken.grant_first(line_));
    lock_.unlock();
    woken.wake();
  }
};

// --- a wait group ---

template <class Group>
struct Work {
  Group group;
  ModelActor actors[2];
  ModelSync::plain<unsigned> done[2];

  explicit Work(std::uint64_t count) : group(count) {}
};

template <class Group, Flaw flaw = Flaw::kNone>
model::Result let_go(const model::Options& options, unsigned workers, unsigned waiters) {
  return model::explore(options, [=](model::Run& run) {
    auto s = std::make_shared<Work<Group>>(workers);
    run.name("group", s->group);
    run.name("done", s->done);
    for (unsigned i = 0; i < workers; ++i) {
      run.thread("worker", [s, i] {
        s->done[i].edit() = 1;
        model::check(s->group.subtract(1), "each is done once");
      });
    }
    for (unsigned i = 0; i < waiters; ++i) {
      run.thread("waiter", [s, i, workers] {
        const Waited waited = wait_in_line<flaw>(
            s->group, s->actors[i], model::make<typename Group::Node>(), Limit::kForever,
            [&](auto& node) { return s->group.enter(node); }, [] {});
        model::check(waited == Waited::kLetGo, "there is no limit");
        for (unsigned k = 0; k < workers; ++k) {
          model::check(s->done[k].read() == 1, "who is let go sees what was done");
        }
      });
    }
    run.finally([s] {
      for (const ModelActor& actor : s->actors) actor.check_wakes();
      model::check(s->group.count() == 0, "all is done");
    });
  });
}

// --- a condition variable ---

enum class Order : std::uint8_t { kJoinsThenLetsGo, kLetsGoThenJoins };
enum class Other : std::uint8_t { kNone, kGivesUp, kIsStopped };

constexpr Holder holder_of(unsigned thread) { return 4 * (thread + 1); }

template <class Group>
struct Queue {
  Group condition{1};
  ModelMutex mutex;
  ModelActor actors[3];
  ModelSync::plain<unsigned> tokens{0};
};

/// Mutex::take, for ever; also of one that is to end, whose shield is up.
template <class Group>
void lock(Queue<Group>& s, unsigned thread) {
  const Holder me = holder_of(thread);
  while (!s.mutex.try_take(me)) ModelSync::spin_hint();
}

/// ConditionVariable::wait_once. False when time is up, or the waiter is to end.
template <Flaw flaw, Order order, class Group>
bool wait_once(Queue<Group>& s, unsigned thread, Limit limit) {
  const Holder me = holder_of(thread);
  const Waited waited = wait_in_line<flaw>(
      s.condition, s.actors[thread], model::make<typename Group::Node>(), limit,
      [&](auto& node) {
        if (order == Order::kLetsGoThenJoins) s.mutex.release(me);
        const bool waits = s.condition.enter(node);
        if (order == Order::kJoinsThenLetsGo) s.mutex.release(me);
        return waits;
      },
      [&] { s.condition.notify_one(); });
  lock(s, thread);
  return waited == Waited::kLetGo;
}

/// One puts a token there and notifies one; one waits for it for ever. Another one waits too, and
/// leaves without a token.
template <class Group, Order order = Order::kJoinsThenLetsGo, Flaw flaw = Flaw::kNone>
model::Result notified(const model::Options& options, Other other) {
  return model::explore(options, [=](model::Run& run) {
    auto s = std::make_shared<Queue<Group>>();
    run.name("condition", s->condition);
    run.name("mutex", s->mutex);
    run.name("tokens", s->tokens);
    run.thread("putter", [s] {
      lock(*s, 2);
      ++s->tokens.edit();
      s->condition.notify_one();
      s->mutex.release(holder_of(2));
    });
    run.thread("taker", [s] {
      lock(*s, 0);
      while (s->tokens.read() == 0) {
        static_cast<void>(wait_once<flaw, order>(*s, 0, Limit::kForever));
      }
      --s->tokens.edit();
      s->mutex.release(holder_of(0));
    });
    if (other != Other::kNone) {
      run.thread("other", [s, other] {
        const Limit limit = other == Other::kGivesUp ? Limit::kSome : Limit::kForever;
        lock(*s, 1);
        // It was let go: it would act on it, so it notifies the next one itself.
        if (wait_once<flaw, order>(*s, 1, limit)) s->condition.notify_one();
        s->mutex.release(holder_of(1));
      });
      if (other == Other::kIsStopped) run.thread("stop", [s] { s->actors[1].stop(); });
    }
    run.finally([s] {
      for (const ModelActor& actor : s->actors) actor.check_wakes();
      model::check(s->tokens.read() == 0, "the token was taken");
      model::check(s->mutex.holder() == 0, "nobody holds the mutex");
    });
  });
}

constexpr model::Options kTwoPreemptions{.preemption_bound = 2};

TEST(GroupModel, who_waits_is_let_go_and_sees_what_was_done) {
  expect_ok(let_go<Right>(sync::full(), 1, 1));
  expect_ok(let_go<Right>(sync::within(2), 2, 1));
  expect_ok(let_go<Right>(sync::within(2), 1, 2));
}

TEST(GroupModel, a_notification_is_never_lost) {
  expect_ok(notified<Right>(sync::within(3), Other::kNone));
  // All is done under locks, which let_go has with weak memory; with it, these take hours.
  expect_ok(notified<Right>(kTwoPreemptions, Other::kGivesUp));
  expect_ok(notified<Right>(kTwoPreemptions, Other::kIsStopped));
}

TEST(GroupModel, what_is_wrong_in_the_group_is_found) {
  expect_found(let_go<LooksTooEarly>(kSequential, 1, 1), kStuck);
  expect_found(notified<NotifiesTheStale>(kSequential, Other::kGivesUp), kStuck);
}

TEST(GroupModel, a_mutex_that_is_let_go_too_early_is_found) {
  expect_found((notified<Right, Order::kLetsGoThenJoins>(kSequential, Other::kNone)), kStuck);
}

TEST(GroupModel, what_is_wrong_in_a_grant_is_found) {
  expect_found((let_go<AnyGroup<Flaw::kDoesNotWake>, Flaw::kDoesNotWake>(kSequential, 1, 1)),
               kStuck);
  expect_found(
      (notified<AnyGroup<Flaw::kKeepsTheGrant>, Order::kJoinsThenLetsGo, Flaw::kKeepsTheGrant>(
          kSequential, Other::kIsStopped)),
      kStuck);
}

}  // namespace
}  // namespace bulkhead::wait
