// C15: who is started again, and when a supervisor gives up. Each test is named after the case of
// OTP's supervisor_SUITE whose behaviour it checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/supervised.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Backoff;
using bulkhead::child;
using bulkhead::ChildError;
using bulkhead::ChildInfo;
using bulkhead::ChildSpec;
using bulkhead::ChildStart;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;
using bulkhead::SupervisorSpec;
using support::End;
using support::EndInOrder;
using support::eventually;
using support::Fail;
using namespace std::chrono_literals;

class SupervisorRestart : public support::Supervised {
 protected:
  /// What becomes of a child of that kind, when it is told so.
  template <class M>
  void expect(Restart restart, M message, bool again) {
    const SupervisorRef supervisor = start({.children = {worker("a", restart)}});
    const Pid a = pid_of(supervisor, "a");
    tell(a, message);
    end_of(a);
    if (again) {
      await_restart(supervisor, "a", a);
    } else if (restart == Restart::kTemporary) {
      EXPECT_TRUE(eventually([&] { return supervisor.count_children()->specs == 0; }));
    } else {
      EXPECT_TRUE(eventually([&] { return supervisor.count_children()->active == 0; }));
      EXPECT_EQ(supervisor.which_children()->front().state, ChildInfo::State::kStopped);
    }
    EXPECT_TRUE(supervisor.stop());
  }
  /// The children of a strategy, of whom "b" has failed once.
  std::string after_b_failed(Strategy strategy) {
    const SupervisorRef supervisor =
        start({.strategy = strategy, .children = {worker("a"), worker("b"), worker("c")}});
    const Pid b = pid_of(supervisor, "b");
    tell(b, Fail{});
    await_restart(supervisor, "b", b);
    return diary.line();
  }
  /// A child that is started by `start` from the second time on.
  ChildSpec later_started_by(const std::string& name, std::function<ChildStart()> start) {
    ChildSpec spec = worker(name);
    spec.start = [first = spec.start, later = std::move(start),
                  times = std::make_shared<std::atomic<int>>(0)]() -> ChildStart {
      return (*times)++ == 0 ? first() : later();
    };
    return spec;
  }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorRestart);

TEST_P(SupervisorRestart, permanent_normal) { expect(Restart::kPermanent, End{}, true); }
TEST_P(SupervisorRestart, permanent_shutdown) { expect(Restart::kPermanent, EndInOrder{}, true); }
TEST_P(SupervisorRestart, permanent_abnormal) { expect(Restart::kPermanent, Fail{}, true); }
TEST_P(SupervisorRestart, transient_normal) { expect(Restart::kTransient, End{}, false); }
TEST_P(SupervisorRestart, transient_shutdown) { expect(Restart::kTransient, EndInOrder{}, false); }
TEST_P(SupervisorRestart, transient_abnormal) { expect(Restart::kTransient, Fail{}, true); }
TEST_P(SupervisorRestart, temporary_normal) { expect(Restart::kTemporary, End{}, false); }
TEST_P(SupervisorRestart, temporary_shutdown) { expect(Restart::kTemporary, EndInOrder{}, false); }
TEST_P(SupervisorRestart, temporary_abnormal) { expect(Restart::kTemporary, Fail{}, false); }

TEST_P(SupervisorRestart, temporary_bystander) {
  for (const Strategy strategy : {Strategy::kOneForAll, Strategy::kRestForOne}) {
    const SupervisorRef supervisor =
        start({.strategy = strategy,
               .intensity = 1,
               .children = {worker("a"), worker("b", Restart::kTemporary), worker("c")}});
    const Pid a = pid_of(supervisor, "a");
    tell(a, Fail{});
    await_restart(supervisor, "a", a);
    EXPECT_FALSE(pid_of(supervisor, "b"));
    EXPECT_EQ(supervisor.count_children()->specs, 2u);
    EXPECT_TRUE(supervisor.stop());
  }
  EXPECT_EQ(diary.count("+b"), 2u);
}

TEST_P(SupervisorRestart, multiple_restarts) {
  const SupervisorRef supervisor =
      start({.intensity = 1, .period = 20ms, .children = {worker("a")}});
  Pid a = pid_of(supervisor, "a");
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(25ms);
    tell(a, Fail{});
    a = await_restart(supervisor, "a", a);
  }
  EXPECT_FALSE(has_ended(supervisor.pid()));
}

TEST_P(SupervisorRestart, one_for_one) {
  EXPECT_EQ(after_b_failed(Strategy::kOneForOne), "+a +b +c -b +b");
}
TEST_P(SupervisorRestart, one_for_all) {
  EXPECT_EQ(after_b_failed(Strategy::kOneForAll), "+a +b +c -b -c -a +a +b +c");
}
TEST_P(SupervisorRestart, rest_for_one) {
  EXPECT_EQ(after_b_failed(Strategy::kRestForOne), "+a +b +c -b -c +b +c");
}

TEST_P(SupervisorRestart, simple_one_for_one) {
  const SupervisorRef supervisor = start({.strategy = Strategy::kSimpleOneForOne});
  const ChildSpec like = worker("a");
  const Pid a = supervisor.start_child(like.start).value();
  const Pid b = supervisor.start_child(like.start).value();
  tell(a, Fail{});
  EXPECT_TRUE(eventually([&] {
    const auto all = supervisor.which_children().value();
    return all.size() == 2 && all[0].pid && all[1].pid && all[0].pid != a && all[1].pid != a;
  }));
  EXPECT_FALSE(has_ended(b));
}

// One restart more than the intensity ends the supervisor, in whatever strategy.
TEST_P(SupervisorRestart, one_for_one_escalation) {
  for (const Strategy strategy :
       {Strategy::kOneForOne, Strategy::kOneForAll, Strategy::kRestForOne}) {
    const SupervisorRef supervisor =
        start({.strategy = strategy, .intensity = 2, .children = {worker("a"), worker("b")}});
    const Pid b = pid_of(supervisor, "b");
    Pid a = pid_of(supervisor, "a");
    for (int i = 0; i < 2; ++i) {
      tell(a, Fail{});
      a = await_restart(supervisor, "a", a);
    }
    tell(a, Fail{});
    EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown("too many restarts"));
    EXPECT_TRUE(has_ended(b));
    EXPECT_EQ(diary.count("+a"), diary.count("-a"));
    EXPECT_EQ(diary.count("+b"), diary.count("-b"));
  }
}

// Restarts that fail count as well.
TEST_P(SupervisorRestart, one_for_one_escalation_of_failing_starts) {
  for (const Strategy strategy :
       {Strategy::kOneForOne, Strategy::kOneForAll, Strategy::kRestForOne}) {
    const auto fails = [] { return ChildStart(std::unexpected(Exit::custom("not again"))); };
    const SupervisorRef supervisor =
        start({.strategy = strategy, .children = {worker("a"), later_started_by("b", fails)}});
    tell(pid_of(supervisor, "b"), Fail{});
    EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown("too many restarts"));
    EXPECT_EQ(diary.count("+a"), diary.count("-a"));
  }
}

TEST_P(SupervisorRestart, simple_one_for_one_escalation) {
  const SupervisorRef supervisor = start({.strategy = Strategy::kSimpleOneForOne, .intensity = 1});
  const ChildSpec like = worker("a");
  const Pid a = supervisor.start_child(like.start).value();
  const Pid b = supervisor.start_child(like.start).value();
  tell(a, Fail{});
  tell(b, Fail{});
  EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown("too many restarts"));
  EXPECT_TRUE(eventually([&] { return diary.count("+a") == diary.count("-a"); }));
}

// "b" cannot be started in the first attempt of the group's restart: "a", which was started again
// already, is ended, and the group is tried again.
TEST_P(SupervisorRestart, one_for_all_other_child_fails_restart) {
  std::atomic<int> attempts{0};
  const auto at_second = [&]() -> ChildStart {
    if (attempts++ == 0) return std::unexpected(Exit::custom("not yet"));
    return worker("b").start();
  };
  const SupervisorRef supervisor =
      start({.strategy = Strategy::kOneForAll,
             .children = {worker("a"), later_started_by("b", at_second), worker("c")}});
  tell(pid_of(supervisor, "a"), Fail{});
  EXPECT_TRUE(eventually([&] { return diary.count("+c") == 2; }));
  EXPECT_EQ(diary.line(), "+a +b +c -a -c -b +a -a +a +b +c");
}

// There only from the failing one on.
TEST_P(SupervisorRestart, rest_for_one_other_child_fails_restart) {
  std::atomic<int> attempts{0};
  const auto at_second = [&]() -> ChildStart {
    if (attempts++ == 0) return std::unexpected(Exit::custom("not yet"));
    return worker("b").start();
  };
  const SupervisorRef supervisor =
      start({.strategy = Strategy::kRestForOne,
             .children = {worker("a"), later_started_by("b", at_second), worker("c")}});
  tell(pid_of(supervisor, "a"), Fail{});
  EXPECT_TRUE(eventually([&] { return diary.count("+c") == 2; }));
  EXPECT_EQ(diary.line(), "+a +b +c -a -c -b +a +b +c");
}

TEST_P(SupervisorRestart, tree) {
  const SupervisorRef outer =
      start({.children = {worker("a"), bulkhead::child_supervisor(
                                           "inner", {.intensity = 0, .children = {worker("b")}})}});
  const Pid inner = pid_of(outer, "inner");
  ASSERT_TRUE(SupervisorRef(inner).start_child(worker("dynamic")).has_value());
  tell(pid_of(SupervisorRef(inner), "b"), Fail{});
  const Pid again = await_restart(outer, "inner", inner);
  EXPECT_TRUE(pid_of(SupervisorRef(again), "b"));
  EXPECT_FALSE(pid_of(SupervisorRef(again), "dynamic"));
  EXPECT_EQ(diary.line(), "+a +b +dynamic -b -dynamic +b");
}

// Restarting, it counts as a child, but not as one that runs; and calls are answered meanwhile.
TEST_P(SupervisorRestart, count_restarting_children_and_hanging_restart_loop) {
  std::atomic<bool> works{false};
  const auto perhaps = [&]() -> ChildStart {
    if (!works) return std::unexpected(Exit::custom("not yet"));
    return worker("a").start();
  };
  const SupervisorRef supervisor = start(
      {.intensity = 1'000'000'000, .children = {later_started_by("a", perhaps), worker("b")}});
  tell(pid_of(supervisor, "a"), Fail{});
  EXPECT_TRUE(eventually(
      [&] { return supervisor.which_children()->front().state == ChildInfo::State::kRestarting; }));
  for (int i = 0; i < 10; ++i) {
    const auto counts = supervisor.count_children().value();
    EXPECT_EQ(counts.specs, 2u);
    EXPECT_EQ(counts.active, 1u);
  }
  EXPECT_EQ(supervisor.restart_child("a").error().kind, ChildError::Kind::kRestarting);
  EXPECT_EQ(supervisor.delete_child("a").error().kind, ChildError::Kind::kRestarting);
  EXPECT_EQ(supervisor.start_child(worker("a")).error().kind, ChildError::Kind::kRestarting);
  ASSERT_TRUE(supervisor.start_child(worker("c")).has_value());
  // It can be called off, and begun by hand.
  ASSERT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_EQ(supervisor.which_children()->front().state, ChildInfo::State::kStopped);
  works = true;
  ASSERT_TRUE(supervisor.restart_child("a").has_value());
  // And the supervisor can be ended in the middle of it.
  works = false;
  tell(pid_of(supervisor, "a"), Fail{});
  EXPECT_TRUE(eventually(
      [&] { return supervisor.which_children()->front().state == ChildInfo::State::kRestarting; }));
  EXPECT_TRUE(supervisor.stop(Exit::normal(), 60s));
}

// The same in groups, where each attempt ends those that were started, and begins anew.
TEST_P(SupervisorRestart, hanging_restart_loop_of_groups) {
  for (const Strategy strategy : {Strategy::kOneForAll, Strategy::kRestForOne}) {
    std::atomic<bool> works{false};
    const auto perhaps = [&]() -> ChildStart {
      if (!works) return std::unexpected(Exit::custom("not yet"));
      return worker("b").start();
    };
    const SupervisorRef supervisor =
        start({.strategy = strategy,
               .intensity = 1'000'000'000,
               .children = {worker("a"), later_started_by("b", perhaps), worker("c")}});
    const auto hangs = [&] {
      return supervisor.which_children().value()[1].state == ChildInfo::State::kRestarting;
    };
    const Pid c = pid_of(supervisor, "c");
    tell(pid_of(supervisor, "a"), Fail{});
    EXPECT_TRUE(eventually(hangs));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(supervisor.count_children()->specs, 3u);
    EXPECT_TRUE(has_ended(c));
    EXPECT_EQ(supervisor.restart_child("b").error().kind, ChildError::Kind::kRestarting);
    works = true;
    await_restart(supervisor, "c", c);
    EXPECT_EQ(supervisor.count_children()->active, 3u);
    works = false;
    tell(pid_of(supervisor, "b"), Fail{});
    EXPECT_TRUE(eventually(hangs));
    EXPECT_TRUE(supervisor.terminate_child("b").has_value());
    EXPECT_EQ(supervisor.which_children().value()[1].state, ChildInfo::State::kStopped);
    EXPECT_TRUE(supervisor.stop(Exit::normal(), 60s));
    EXPECT_EQ(diary.count("+a"), diary.count("-a"));
    EXPECT_EQ(diary.count("+c"), diary.count("-c"));
  }
}

// A restart that says to be left out: the child stands there, without a pid, and can be started by
// hand. The others of its group are started.
TEST_P(SupervisorRestart, ignored_at_a_restart) {
  for (const Strategy strategy : {Strategy::kOneForOne, Strategy::kOneForAll}) {
    std::atomic<bool> works{false};
    const auto perhaps = [&]() -> ChildStart {
      if (!works) return Pid();
      return worker("a").start();
    };
    const SupervisorRef supervisor =
        start({.strategy = strategy, .children = {later_started_by("a", perhaps), worker("b")}});
    tell(pid_of(supervisor, "a"), Fail{});
    EXPECT_TRUE(eventually([&] {
      const auto all = supervisor.which_children().value();
      return all[0].state == ChildInfo::State::kStopped &&
             all[1].state == ChildInfo::State::kRunning;
    }));
    EXPECT_EQ(supervisor.count_children()->specs, 2u);
    works = true;
    EXPECT_TRUE(supervisor.restart_child("a").has_value());
    EXPECT_TRUE(supervisor.stop());
  }
}

// By hand: start order, and the reverse; a child that was added later, or started again by hand,
// keeps its place.
TEST_P(SupervisorRestart, order_of_children_after_changes) {
  const SupervisorRef supervisor =
      start({.strategy = Strategy::kOneForAll, .children = {worker("a"), worker("b")}});
  ASSERT_TRUE(supervisor.start_child(worker("c")).has_value());
  ASSERT_TRUE(supervisor.terminate_child("a").has_value());
  ASSERT_TRUE(supervisor.restart_child("a").has_value());
  const Pid c = pid_of(supervisor, "c");
  tell(pid_of(supervisor, "b"), Fail{});
  await_restart(supervisor, "c", c);
  EXPECT_TRUE(supervisor.stop());
  EXPECT_EQ(diary.line(), "+a +b +c -a +a -b -c -a +a +b +c -c -b -a");
}

// Ticks that an earlier incarnation has started end with it, and those that others send to it are
// discarded: the next one hears of neither.
struct Tick {
  int incarnation;
};
class Ticking {
 public:
  Ticking(support::Log<std::pair<int, int>>* seen, std::atomic<int>* incarnations)
      : seen_(seen), number_(++*incarnations) {}
  void started() {
    for (int i = 0; i < 20; ++i) {
      bulkhead::send_after(1ms + i * 100us, this_actor::address(this), Tick{number_});
    }
  }
  void receive(Fail /*message*/) { throw std::runtime_error("fails"); }
  void receive(Tick tick) { seen_->add({number_, tick.incarnation}); }

 private:
  support::Log<std::pair<int, int>>* seen_;
  int number_;
};

TEST_P(SupervisorRestart, timers_of_an_earlier_incarnation) {
  support::Log<std::pair<int, int>> seen;
  std::atomic<int> incarnations{0};
  const SupervisorRef supervisor =
      start({.intensity = 1000, .children = {child<Ticking>("t", &seen, &incarnations)}});
  Pid pid = pid_of(supervisor, "t");
  for (int i = 1; i <= 20; ++i) {
    const bulkhead::Address<Ticking> old(pid);
    run([old] {
      bulkhead::send_after(3ms, old, Tick{-1});  // a timer of another
      old.send(Fail{});
      this_actor::sleep_for(5ms);
    });
    pid = await_restart(supervisor, "t", pid);
  }
  EXPECT_TRUE(
      eventually([&] { return std::ranges::count(seen.entries(), std::pair(21, 21)) == 20; }));
  for (const auto& [one, tick] : seen.entries()) EXPECT_EQ(one, tick);
}

TEST_P(SupervisorRestart, backoff) {
  std::atomic<int> attempts{0};
  support::Log<support::Clock::time_point> times;
  const auto at_fifth = [&]() -> ChildStart {
    times.add(support::Clock::now());
    if (++attempts < 5) return std::unexpected(Exit::custom("not yet"));
    return worker("a").start();
  };
  const SupervisorRef supervisor =
      start({.intensity = 1000,
             .backoff = Backoff{.least = 5ms, .most = 20ms, .jitter = 0.1, .reset_after = 10s},
             .children = {later_started_by("a", at_fifth)}});
  const Pid a = pid_of(supervisor, "a");
  const auto begun = support::Clock::now();
  tell(a, Fail{});
  await_restart(supervisor, "a", a);
  const auto at = times.entries();
  ASSERT_EQ(at.size(), 5u);
  EXPECT_GE(at[0] - begun, 5ms);
  EXPECT_GE(at[1] - at[0], 10ms);
  EXPECT_GE(at[2] - at[1], 20ms);
  EXPECT_GE(at[3] - at[2], 20ms);
  EXPECT_GE(at[4] - at[3], 20ms);
}

// While it waits it can be called off.
TEST_P(SupervisorRestart, backoff_is_called_off) {
  for (const auto wait : {std::chrono::nanoseconds(1h), std::chrono::nanoseconds(5ms)}) {
    const SupervisorRef supervisor =
        start({.backoff = Backoff{.least = wait, .most = wait}, .children = {worker("a")}});
    tell(pid_of(supervisor, "a"), Fail{});
    if (wait == 1h) {
      EXPECT_TRUE(eventually([&] {
        return supervisor.which_children()->front().state == ChildInfo::State::kRestarting;
      }));
    }
    EXPECT_TRUE(supervisor.terminate_child("a").has_value());
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(supervisor.which_children()->front().state, ChildInfo::State::kStopped);
    EXPECT_TRUE(supervisor.restart_child("a").has_value());
  }
}

// All children fail at once, and each waits before it is started again.
TEST_P(SupervisorRestart, scale_restarts_of_many_children) {
  struct Idle {};
  support::expect_linear([this](int many) {
    const SupervisorRef supervisor =
        start({.intensity = 1'000'000'000, .backoff = Backoff{.least = 1ms, .most = 1ms}});
    std::vector<Pid> all;
    for (int i = 0; i < many; ++i) {
      all.push_back(supervisor.start_child(child<Idle>(std::to_string(i))).value());
    }
    const auto begun = support::cpu_time();
    for (const Pid pid : all) bulkhead::kill(pid);
    EXPECT_TRUE(eventually([&] {
      return std::ranges::none_of(all,
                                  [](Pid pid) { return bulkhead::actor_info(pid).has_value(); }) &&
             supervisor.count_children()->active == static_cast<std::size_t>(many);
    }));
    const auto took = support::cpu_time() - begun;
    EXPECT_TRUE(supervisor.stop());
    return took;
  });
}

// With a strategy of groups, the others are ended at once, and come back with it.
TEST_P(SupervisorRestart, backoff_of_a_group) {
  const SupervisorRef supervisor = start({.strategy = Strategy::kOneForAll,
                                          .backoff = Backoff{.least = 5ms, .most = 5ms},
                                          .children = {worker("a"), worker("b")}});
  const Pid b = pid_of(supervisor, "b");
  tell(pid_of(supervisor, "a"), Fail{});
  await_restart(supervisor, "b", b);
  EXPECT_EQ(diary.line(), "+a +b -a -b +a +b");
}

TEST_P(SupervisorRestart, backoff_begins_anew_after_a_while) {
  const SupervisorRef supervisor =
      start({.intensity = 1000,
             .backoff = Backoff{.least = 1ms, .most = 1h, .jitter = 0, .reset_after = 1ms},
             .children = {worker("a")}});
  Pid a = pid_of(supervisor, "a");
  for (int i = 0; i < 25; ++i) {  // the last delays would be of hours
    std::this_thread::sleep_for(2ms);
    tell(a, Fail{});
    a = await_restart(supervisor, "a", a);
  }
}

}  // namespace
