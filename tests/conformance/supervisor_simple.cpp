// C15: children that are alike, kSimpleOneForOne. Each test is named after the case of OTP's
// supervisor_SUITE whose behaviour it checks.
#include <gtest/gtest.h>

#include <memory>

#include "support/supervised.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AutoShutdown;
using bulkhead::Backoff;
using bulkhead::child;
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

class SupervisorSimple : public support::Supervised {
 protected:
  SupervisorRef start_simple(Restart restart, unsigned intensity = 3,
                             AutoShutdown auto_shutdown = AutoShutdown::kNever) {
    SupervisorSpec spec{.strategy = Strategy::kSimpleOneForOne,
                        .intensity = intensity,
                        .auto_shutdown = auto_shutdown};
    spec.like.restart = restart;
    spec.like.significant = auto_shutdown != AutoShutdown::kNever;
    return start(std::move(spec));
  }
  Pid add(SupervisorRef supervisor, const std::string& name) {
    return supervisor.start_child(worker(name).start).value();
  }
  /// What becomes of a child of that kind, when it is told so.
  template <class M>
  void expect(Restart restart, M message, bool again) {
    const SupervisorRef supervisor = start_simple(restart);
    const Pid a = add(supervisor, "a");
    const Pid bystander = add(supervisor, "b");
    tell(a, message);
    end_of(a);
    const std::size_t wanted = again ? 2 : 1;
    EXPECT_TRUE(eventually([&] {
      const auto all = supervisor.which_children().value();
      const bool gone = std::ranges::none_of(all, [a](const auto& each) { return each.pid == a; });
      return gone && all.size() == wanted && supervisor.count_children()->active == wanted;
    }));
    EXPECT_EQ(diary.count("+a"), wanted);
    EXPECT_FALSE(has_ended(bystander));
    EXPECT_TRUE(supervisor.stop());
  }
  /// A child that is not started again while `works` says no.
  std::function<ChildStart()> perhaps(std::atomic<bool>& works) {
    return [this, &works, first = std::make_shared<std::atomic<bool>>(true)]() -> ChildStart {
      if (!first->exchange(false) && !works) return std::unexpected(Exit::custom("not yet"));
      return worker("a").start();
    };
  }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorSimple);

TEST_P(SupervisorSimple, permanent_normal) { expect(Restart::kPermanent, End{}, true); }
TEST_P(SupervisorSimple, permanent_shutdown) { expect(Restart::kPermanent, EndInOrder{}, true); }
TEST_P(SupervisorSimple, permanent_abnormal) { expect(Restart::kPermanent, Fail{}, true); }
TEST_P(SupervisorSimple, transient_normal) { expect(Restart::kTransient, End{}, false); }
TEST_P(SupervisorSimple, transient_shutdown) { expect(Restart::kTransient, EndInOrder{}, false); }
TEST_P(SupervisorSimple, transient_abnormal) { expect(Restart::kTransient, Fail{}, true); }
TEST_P(SupervisorSimple, temporary_normal) { expect(Restart::kTemporary, End{}, false); }
TEST_P(SupervisorSimple, temporary_shutdown) { expect(Restart::kTemporary, EndInOrder{}, false); }
TEST_P(SupervisorSimple, temporary_abnormal) { expect(Restart::kTemporary, Fail{}, false); }

// Calls are answered while it cannot be started again; it can be called off by its last pid, and
// the supervisor be ended in the middle of it. Restarting, it counts, but not as one that runs.
TEST_P(SupervisorSimple, hanging_restart_loop_and_count_restarting_children) {
  std::atomic<bool> works{false};
  const SupervisorRef supervisor = start_simple(Restart::kPermanent, 1'000'000'000);
  const Pid a = supervisor.start_child(perhaps(works)).value();
  const Pid b = add(supervisor, "b");
  const auto restarting = [&] {
    return std::ranges::count(supervisor.which_children().value(), ChildInfo::State::kRestarting,
                              &ChildInfo::state);
  };
  tell(a, Fail{});
  EXPECT_TRUE(eventually([&] { return restarting() == 1; }));
  for (int i = 0; i < 10; ++i) {
    const auto counts = supervisor.count_children().value();
    EXPECT_EQ(counts.specs, 2u);
    EXPECT_EQ(counts.active, 1u);
    EXPECT_EQ(counts.workers, 2u);
  }
  EXPECT_TRUE(supervisor.terminate_child(a).has_value());
  EXPECT_EQ(supervisor.count_children()->specs, 1u);
  const Pid c = supervisor.start_child(perhaps(works)).value();
  tell(c, Fail{});
  EXPECT_TRUE(eventually([&] { return restarting() == 1; }));
  works = true;
  EXPECT_TRUE(eventually([&] { return supervisor.count_children()->active == 2; }));
  EXPECT_EQ(restarting(), 0);
  works = false;
  const auto children = supervisor.which_children();
  for (const auto& each : children.value()) {
    if (each.pid != b) tell(each.pid, Fail{});
  }
  EXPECT_TRUE(eventually([&] { return restarting() == 1; }));
  EXPECT_TRUE(supervisor.stop(Exit::normal(), 60s));
  EXPECT_EQ(end_of(b), Exit::shutdown());
}

// A restart that says to be left out takes it from the children.
TEST_P(SupervisorSimple, sup_start_ignore_dynamic_child_at_a_restart) {
  const SupervisorRef supervisor = start_simple(Restart::kPermanent);
  std::atomic<int> times{0};
  const Pid a = supervisor
                    .start_child([&]() -> ChildStart {
                      if (times++ == 0) return worker("a").start();
                      return Pid();
                    })
                    .value();
  tell(a, Fail{});
  EXPECT_TRUE(eventually([&] { return supervisor.count_children()->specs == 0; }));
  EXPECT_EQ(times, 2);
}

// OTP (25): with any_significant the first end of one that is not started again ends the
// supervisor; with all_significant the last; a child that was terminated by hand never.
TEST_P(SupervisorSimple, significant_simple) {
  for (const Restart restart : {Restart::kTransient, Restart::kTemporary}) {
    const SupervisorRef any = start_simple(restart, 3, AutoShutdown::kAnySignificant);
    const Pid one = add(any, "a");
    const Pid two = add(any, "b");
    EXPECT_TRUE(any.terminate_child(add(any, "c")).has_value());
    EXPECT_EQ(any.count_children()->active, 2u);
    tell(one, End{});
    EXPECT_EQ(end_of(any.pid()), Exit::shutdown());
    EXPECT_EQ(end_of(two), Exit::shutdown());

    const SupervisorRef all = start_simple(restart, 3, AutoShutdown::kAllSignificant);
    const Pid first = add(all, "a");
    const Pid last = add(all, "b");
    tell(first, End{});
    EXPECT_TRUE(eventually([&] { return all.count_children()->specs == 1; }));
    tell(last, End{});
    EXPECT_EQ(end_of(all.pid()), Exit::shutdown());
  }
}

TEST_P(SupervisorSimple, significant_that_is_started_again) {
  const SupervisorRef any = start_simple(Restart::kTransient, 3, AutoShutdown::kAnySignificant);
  tell(add(any, "a"), Fail{});
  EXPECT_TRUE(eventually([&] { return diary.count("+a") == 2; }));
  EXPECT_EQ(any.count_children()->active, 1u);
}

// Memory is constant over any number of them: what a temporary child was started by goes at once,
// and of one that has ended nothing is left.
TEST_P(SupervisorSimple, do_not_save_start_parameters_for_temporary_children) {
  const auto large = std::make_shared<int>(1);
  const SupervisorRef simple = start_simple(Restart::kTemporary);
  const SupervisorRef kept = start_simple(Restart::kTransient);
  const SupervisorRef ordered = start({});
  const auto start_one = [this, large] { return worker("a").start(); };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(simple.start_child(start_one).has_value());
    ASSERT_TRUE(kept.start_child(start_one).has_value());
    ChildSpec spec;
    spec.id = std::to_string(i);
    spec.start = start_one;
    spec.restart = Restart::kTemporary;
    ASSERT_TRUE(ordered.start_child(spec).has_value());
  }
  // Answers are given in the middle of a handler, which holds its message: another one ends it.
  EXPECT_EQ(simple.count_children()->active, 10u);
  EXPECT_EQ(ordered.count_children()->active, 10u);
  EXPECT_EQ(kept.count_children()->active, 10u);
  EXPECT_EQ(large.use_count(), 1 + 1 + 10) << "here, in start_one, and of those that are kept";
  EXPECT_FALSE(ordered.child_spec("3")->start);
  EXPECT_EQ(ordered.child_spec("3")->restart, Restart::kTemporary);
  const auto children = kept.which_children();
  for (const auto& each : children.value()) tell(each.pid, End{});
  EXPECT_TRUE(eventually([&] { return kept.count_children()->specs == 0; }));
  EXPECT_EQ(large.use_count(), 1 + 1);
}

// The wait before a restart is each child's own.
TEST_P(SupervisorSimple, backoff) {
  SupervisorSpec spec{.strategy = Strategy::kSimpleOneForOne,
                      .intensity = 100,
                      .backoff = Backoff{.least = 20ms, .most = 1h, .jitter = 0}};
  const SupervisorRef supervisor = start(std::move(spec));
  for (int i = 0; i < 10; ++i) {  // the tenth of one child would be due in ten seconds
    const auto begun = support::Clock::now();
    const Pid a = add(supervisor, "a");
    tell(a, Fail{});
    EXPECT_TRUE(eventually([&] { return diary.count("+a") == 2u * static_cast<unsigned>(i) + 2; }));
    EXPECT_GE(support::Clock::now() - begun, 20ms);
    EXPECT_LT(support::Clock::now() - begun, 5s);
  }
  EXPECT_EQ(supervisor.count_children()->active, 10u);
}

// Starting, ending by hand and stopping.
TEST_P(SupervisorSimple, scale_start_stop_many_children) {
  support::expect_linear([this](int many) {
    const auto begun = support::cpu_time();
    run([many] {
      struct Idle {};
      const auto supervisor =
          bulkhead::start_supervisor({.strategy = Strategy::kSimpleOneForOne, .like = {}});
      const auto start_one = child<Idle>("").start;
      std::vector<Pid> all;
      for (int i = 0; i < many; ++i) all.push_back(supervisor->start_child(start_one).value());
      for (int i = 0; i < many / 2; ++i) {
        EXPECT_TRUE(supervisor->terminate_child(all[static_cast<std::size_t>(i)]).has_value());
      }
      EXPECT_EQ(supervisor->count_children()->active, static_cast<std::size_t>(many - many / 2));
      EXPECT_TRUE(supervisor->stop());
    });
    return support::cpu_time() - begun;
  });
}

// All children end at once, on all cores, and with the first of them the supervisor does.
TEST_P(SupervisorSimple, scale_ends_of_many_children) {
  support::expect_linear([this](int many) {
    const SupervisorRef supervisor = start_simple(Restart::kPermanent, 0);
    struct Idle {};
    for (int i = 0; i < many; ++i) {
      auto options = begun_on(static_cast<std::size_t>(i));
      options.linked = true;
      const auto spawn = [options] {
        return ChildStart(bulkhead::spawn_with<Idle>(options).pid());
      };
      EXPECT_TRUE(supervisor.start_child(spawn).has_value());
    }
    const auto children = supervisor.which_children().value();
    const auto begun = support::cpu_time();
    for (const auto& each : children) bulkhead::kill(each.pid);
    EXPECT_TRUE(eventually([&] { return !bulkhead::actor_info(supervisor.pid()); }));
    return support::cpu_time() - begun;
  });
}

}  // namespace
