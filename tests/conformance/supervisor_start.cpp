// C15: how supervisors and their children are started, and by whom they are found. Each test is
// named after the case of OTP's supervisor_SUITE whose behaviour it checks.
#include <gtest/gtest.h>

#include <limits>

#include "support/supervised.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::child;
using bulkhead::ChildError;
using bulkhead::ChildInfo;
using bulkhead::ChildSpec;
using bulkhead::ChildStart;
using bulkhead::ChildType;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Shutdown;
using bulkhead::SpecFault;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;
using bulkhead::SupervisorSpec;
using namespace std::chrono_literals;

class SupervisorStart : public support::Supervised {
 protected:
  static ChildSpec started_by(std::string id, std::function<ChildStart()> start,
                              Restart restart = Restart::kPermanent) {
    ChildSpec spec;
    spec.id = std::move(id);
    spec.start = std::move(start);
    spec.restart = restart;
    return spec;
  }
  static ChildStart left_out() { return Pid(); }
  static ChildStart fails() { return std::unexpected(Exit::custom("no licence")); }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorStart);

TEST_P(SupervisorStart, sup_start_normal) {
  const SupervisorRef supervisor = start({.children = {worker("a"), worker("b")}});
  EXPECT_EQ(diary.line(), "+a +b");
  EXPECT_TRUE(supervisor.stop(Exit::custom("enough")));
  EXPECT_EQ(diary.line(), "+a +b -b -a");
  EXPECT_EQ(to_string(end_of(supervisor.pid())), "enough");
}

// A specification is a value here, so it is whoever starts a supervisor that leaves it out.
TEST_P(SupervisorStart, sup_start_ignore_init) {
  const SupervisorRef supervisor = start({.children = {started_by("inner", left_out)}});
  EXPECT_FALSE(pid_of(supervisor, "inner"));
  EXPECT_EQ(supervisor.count_children()->active, 0u);
}

TEST_P(SupervisorStart, sup_start_ignore_child) {
  const SupervisorRef supervisor = start({.children = {worker("a"), started_by("b", left_out)}});
  const auto started = supervisor.start_child(started_by("c", left_out));
  ASSERT_TRUE(started.has_value());
  EXPECT_FALSE(*started);
  const auto counts = supervisor.count_children().value();
  EXPECT_EQ(counts.specs, 3u);
  EXPECT_EQ(counts.active, 1u);
  EXPECT_EQ(supervisor.which_children().value()[1].state, ChildInfo::State::kStopped);
}

TEST_P(SupervisorStart, sup_start_ignore_temporary_child) {
  const SupervisorRef supervisor =
      start({.children = {started_by("a", left_out, Restart::kTemporary), worker("b")}});
  ASSERT_TRUE(supervisor.start_child(started_by("c", left_out, Restart::kTemporary)).has_value());
  EXPECT_EQ(supervisor.count_children()->specs, 1u);
}

TEST_P(SupervisorStart, sup_start_ignore_dynamic_child) {
  const SupervisorRef supervisor = start({.strategy = Strategy::kSimpleOneForOne});
  const auto started = supervisor.start_child(left_out);
  ASSERT_TRUE(started.has_value());
  EXPECT_FALSE(*started);
  EXPECT_EQ(supervisor.count_children()->specs, 0u);
}

TEST_P(SupervisorStart, sup_start_error_return) {
  auto started = bulkhead::start_supervisor(
      runtime, {.children = {worker("a"), worker("b"), started_by("c", fails), worker("d")}});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().kind, ChildError::Kind::kFailed);
  EXPECT_EQ(started.error().id, "c");
  EXPECT_EQ(started.error().exit, Exit::custom("no licence"));
  EXPECT_EQ(to_string(started.error()), "child c: it did not start: no licence");
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(diary.line(), "+a +b -b -a");  // and nothing remains
}

TEST_P(SupervisorStart, sup_start_fail) {
  struct Unmakable {
    Unmakable() { throw std::runtime_error("no memory card"); }
    void receive(int /*message*/) {}
  };
  auto started =
      bulkhead::start_supervisor(runtime, {.children = {worker("a"), child<Unmakable>("b")}});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().exit.message(), "no memory card");
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(diary.line(), "+a -a");
}

// Who starts one in an actor is told by the answer, and not ended by the link.
TEST_P(SupervisorStart, sup_start_link_fails) {
  run([&] {
    const auto started = bulkhead::start_supervisor({.children = {started_by("a", fails)}});
    EXPECT_FALSE(started.has_value());
    this_actor::sleep_for(5ms);
    EXPECT_TRUE(this_actor::links().empty());
    diary.add("goes on");
  });
  EXPECT_EQ(diary.line(), "goes on");
}

TEST_P(SupervisorStart, sup_start_child_returns_error) {
  const SupervisorRef supervisor = start({.children = {worker("a")}});
  const auto failed = supervisor.start_child(started_by("b", fails));
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ChildError::Kind::kFailed);
  EXPECT_EQ(supervisor.count_children()->specs, 1u);
  // One that is stopped stays so when it cannot be started by hand.
  std::atomic<bool> works{true};
  ASSERT_TRUE(
      supervisor
          .start_child(started_by(
              "c",
              [&]() -> ChildStart {
                if (!works) return fails();
                return bulkhead::spawn_with<support::Worker>({.linked = true}, &diary, "c").pid();
              }))
          .has_value());
  ASSERT_TRUE(supervisor.terminate_child("c").has_value());
  works = false;
  EXPECT_EQ(supervisor.restart_child("c").error().kind, ChildError::Kind::kFailed);
  EXPECT_EQ(supervisor.which_children().value()[1].state, ChildInfo::State::kStopped);
  works = true;
  EXPECT_TRUE(supervisor.restart_child("c").has_value());
}

TEST_P(SupervisorStart, sup_start_map) {
  const SupervisorRef supervisor = start({.children = {worker("a")}});
  const auto spec = supervisor.child_spec("a").value();
  EXPECT_EQ(spec.id, "a");
  EXPECT_EQ(spec.restart, Restart::kPermanent);
  EXPECT_EQ(spec.how_to_shut_down(), Shutdown(5s));
  EXPECT_EQ(spec.type, ChildType::kWorker);
  EXPECT_FALSE(spec.significant);
  ChildSpec inner = bulkhead::child_supervisor("inner", {.children = {worker("b")}});
  EXPECT_EQ(inner.how_to_shut_down(), Shutdown::whenever());
  EXPECT_EQ(inner.type, ChildType::kSupervisor);
  EXPECT_EQ(supervisor.child_spec("b").error().kind, ChildError::Kind::kNotFound);
}

TEST_P(SupervisorStart, sup_flags_and_faulty_specs) {
  const auto fault_of = [this](SupervisorSpec spec) {
    auto started = bulkhead::start_supervisor(runtime, std::move(spec));
    EXPECT_FALSE(started.has_value());
    EXPECT_EQ(started.error().kind, ChildError::Kind::kSpec);
    EXPECT_FALSE(to_string(started.error()).empty());
    return started.error().fault;
  };
  EXPECT_EQ(fault_of({.period = 0s}), SpecFault::kNoPeriod);
  EXPECT_EQ(fault_of({.period = -1s}), SpecFault::kNoPeriod);
  EXPECT_EQ(fault_of({.backoff = bulkhead::Backoff{.least = 2s, .most = 1s}}), SpecFault::kBackoff);
  EXPECT_EQ(fault_of({.backoff = bulkhead::Backoff{.least = -1s, .most = 1s}}),
            SpecFault::kBackoff);
  const std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
  for (const bulkhead::Backoff& backoff :
       {bulkhead::Backoff{.jitter = 1.5}, bulkhead::Backoff{.jitter = -0.1},
        bulkhead::Backoff{.jitter = std::numeric_limits<double>::quiet_NaN()},
        bulkhead::Backoff{.most = longest}, bulkhead::Backoff{.reset_after = -1ns}}) {
    EXPECT_EQ(fault_of({.backoff = backoff}), SpecFault::kBackoff);
  }
  // {invalid_strategy, ...} and so on: a number that is none of an enum's values.
  EXPECT_EQ(fault_of({.strategy = static_cast<Strategy>(4)}), SpecFault::kStrategy);
  EXPECT_EQ(fault_of({.auto_shutdown = static_cast<bulkhead::AutoShutdown>(3)}),
            SpecFault::kAutoShutdown);
  EXPECT_EQ(fault_of({.children = {worker("a", static_cast<Restart>(3))}}), SpecFault::kRestart);
  ChildSpec clown = worker("a");
  clown.type = static_cast<ChildType>(2);
  EXPECT_EQ(fault_of({.children = {clown}}), SpecFault::kType);
  EXPECT_EQ(fault_of({.strategy = Strategy::kSimpleOneForOne, .like = clown}), SpecFault::kType);
  EXPECT_EQ(fault_of({.children = {worker("")}}), SpecFault::kNoId);
  EXPECT_EQ(fault_of({.children = {started_by("a", nullptr)}}), SpecFault::kNoStart);
  EXPECT_EQ(fault_of({.children = {worker("a"), worker("b"), worker("a")}}), SpecFault::kIdTaken);
  ChildSpec significant = worker("a", Restart::kTransient);
  significant.significant = true;
  EXPECT_EQ(fault_of({.children = {significant}}), SpecFault::kSignificant);
  significant.restart = Restart::kPermanent;
  EXPECT_EQ(fault_of({.auto_shutdown = bulkhead::AutoShutdown::kAnySignificant,
                      .children = {significant}}),
            SpecFault::kSignificant);
  EXPECT_EQ(fault_of({.strategy = Strategy::kSimpleOneForOne, .children = {worker("a")}}),
            SpecFault::kTemplateOnly);
  // The same of children that are added.
  const SupervisorRef supervisor = start({});
  EXPECT_EQ(supervisor.start_child(worker("")).error().fault, SpecFault::kNoId);
  EXPECT_EQ(supervisor.start_child(started_by("a", nullptr)).error().fault, SpecFault::kNoStart);
  EXPECT_EQ(supervisor.start_child(significant).error().fault, SpecFault::kSignificant);
  EXPECT_EQ(supervisor.start_child(clown).error().fault, SpecFault::kType);
  EXPECT_EQ(supervisor.start_child(std::function<ChildStart()>(left_out)).error().fault,
            SpecFault::kNoId);
  EXPECT_EQ(supervisor.count_children()->specs, 0u);
  // As large as it can be is no fault.
  ChildSpec large = worker(std::string(1'000'000, 'i'));
  large.shutdown = std::chrono::hours(24 * 365 * 290);
  const SupervisorRef patient = start({.intensity = std::numeric_limits<unsigned>::max(),
                                       .period = longest,
                                       .children = {large, worker(std::string("a\0b", 3))}});
  const Pid first = pid_of(patient, large.id);
  tell(first, support::Fail{});
  await_restart(patient, large.id, first);
  EXPECT_EQ(patient.child_spec("a").error().kind, ChildError::Kind::kNotFound);
  EXPECT_TRUE(patient.stop());
  EXPECT_THROW(worker("a").shutdown = Shutdown(-1s), std::invalid_argument);
}

TEST_P(SupervisorStart, child_adm) {
  const SupervisorRef supervisor = start({});
  const Pid a = supervisor.start_child(worker("a")).value();
  auto again = supervisor.start_child(worker("a"));
  EXPECT_EQ(again.error().kind, ChildError::Kind::kAlreadyStarted);
  EXPECT_EQ(again.error().pid, a);
  EXPECT_EQ(supervisor.restart_child("a").error().kind, ChildError::Kind::kRunning);
  EXPECT_EQ(supervisor.delete_child("a").error().kind, ChildError::Kind::kRunning);
  EXPECT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_TRUE(supervisor.terminate_child("a").has_value());  // it does not mind
  EXPECT_EQ(diary.line(), "+a -a");
  EXPECT_EQ(supervisor.start_child(worker("a")).error().kind, ChildError::Kind::kAlreadyPresent);
  EXPECT_TRUE(supervisor.restart_child("a").has_value());
  EXPECT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_TRUE(supervisor.delete_child("a").has_value());
  EXPECT_EQ(supervisor.delete_child("a").error().kind, ChildError::Kind::kNotFound);
  EXPECT_EQ(supervisor.restart_child("a").error().kind, ChildError::Kind::kNotFound);
  EXPECT_EQ(supervisor.terminate_child("a").error().kind, ChildError::Kind::kNotFound);
  EXPECT_EQ(supervisor.terminate_child(a).error().kind, ChildError::Kind::kNotFound);
  EXPECT_TRUE(supervisor.stop());
  EXPECT_EQ(supervisor.start_child(worker("a")).error().kind, ChildError::Kind::kNoSupervisor);
  // noproc, of each of them.
  const auto gone = [](const ChildError& error) {
    return error.kind == ChildError::Kind::kNoSupervisor && error.call == bulkhead::AskError::kGone;
  };
  EXPECT_TRUE(gone(supervisor.count_children().error()));
  EXPECT_TRUE(gone(supervisor.which_children().error()));
  EXPECT_TRUE(gone(supervisor.terminate_child("a").error()));
  EXPECT_TRUE(gone(supervisor.terminate_child(a).error()));
  EXPECT_TRUE(gone(supervisor.restart_child("a").error()));
  EXPECT_TRUE(gone(supervisor.delete_child("a").error()));
  EXPECT_TRUE(gone(supervisor.child_spec("a").error()));
  EXPECT_TRUE(gone(SupervisorRef().count_children().error()));
}

// OTP (25): calling_self, and so the start fails.
TEST_P(SupervisorStart, start_function_that_calls_its_supervisor) {
  const auto calls = []() -> ChildStart {
    const auto children = SupervisorRef(this_actor::pid()).which_children();
    EXPECT_EQ(children.error().call, bulkhead::AskError::kSelf);
    return std::unexpected(Exit::custom(to_string(children.error())));
  };
  auto started = bulkhead::start_supervisor(runtime, {.children = {started_by("a", calls)}});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().kind, ChildError::Kind::kFailed);
}

// What a start function should not return. OTP (25) takes a pid for granted, too: one that it is
// not linked to is not heard of, and stands among the children until it is terminated.
TEST_P(SupervisorStart, start_function_that_returns_somebody_else) {
  const Pid dead = runtime.spawn([] {});
  const Pid stranger = runtime.spawn_with<support::Worker>(on_core(1), &diary, "stranger").pid();
  ASSERT_TRUE(support::eventually([&] { return has_ended(dead); }));
  const SupervisorRef supervisor =
      start({.children = {started_by("dead", [dead]() -> ChildStart { return dead; }),
                          started_by("stranger", [stranger]() -> ChildStart { return stranger; }),
                          started_by("again", [stranger]() -> ChildStart { return stranger; })}});
  EXPECT_EQ(supervisor.count_children()->specs, 3u);
  EXPECT_TRUE(supervisor.terminate_child("dead").has_value());
  EXPECT_TRUE(supervisor.terminate_child("again").has_value());
  EXPECT_EQ(end_of(stranger), Exit::shutdown());
  EXPECT_TRUE(supervisor.terminate_child("stranger").has_value());
  EXPECT_EQ(supervisor.count_children()->active, 0u);
  // Itself, which it cannot end without ending.
  EXPECT_TRUE(
      supervisor.start_child(started_by("self", [] { return ChildStart(this_actor::pid()); }))
          .has_value());
  EXPECT_EQ(supervisor.count_children()->active, 1u);
  EXPECT_EQ(bulkhead::kill(supervisor.pid()), bulkhead::Delivery::kQueued);
  EXPECT_EQ(end_of(supervisor.pid()), Exit::killed());
}

TEST_P(SupervisorStart, child_adm_simple) {
  const SupervisorRef supervisor = start({.strategy = Strategy::kSimpleOneForOne});
  const ChildSpec like = worker("a");
  const Pid a = supervisor.start_child(like.start).value();
  const Pid b = supervisor.start_child(like.start).value();
  const Pid foreign = runtime.spawn_with<support::Worker>(on_core(1), &diary, "foreign").pid();
  EXPECT_EQ(supervisor.start_child(like).error().kind, ChildError::Kind::kSimple);
  EXPECT_EQ(supervisor.terminate_child("a").error().kind, ChildError::Kind::kSimple);
  EXPECT_EQ(supervisor.restart_child("a").error().kind, ChildError::Kind::kSimple);
  EXPECT_EQ(supervisor.delete_child("a").error().kind, ChildError::Kind::kSimple);
  EXPECT_EQ(supervisor.child_spec("a").error().kind, ChildError::Kind::kSimple);
  EXPECT_EQ(supervisor.terminate_child(foreign).error().kind, ChildError::Kind::kNotFound);
  EXPECT_TRUE(supervisor.terminate_child(a).has_value());
  EXPECT_EQ(supervisor.terminate_child(a).error().kind, ChildError::Kind::kNotFound);
  EXPECT_EQ(supervisor.which_children()->size(), 1u);
  EXPECT_EQ(supervisor.which_children()->front().pid, b);
  EXPECT_FALSE(has_ended(foreign));
  EXPECT_EQ(supervisor.start_child(std::function<ChildStart()>()).error().fault,
            SpecFault::kNoStart);
}

TEST_P(SupervisorStart, count_children) {
  const SupervisorRef supervisor =
      start({.children = {worker("a"), worker("b"),
                          bulkhead::child_supervisor("c", {.children = {worker("d")}})}});
  auto counts = supervisor.count_children().value();
  EXPECT_EQ(counts.specs, 3u);
  EXPECT_EQ(counts.active, 3u);
  EXPECT_EQ(counts.supervisors, 1u);
  EXPECT_EQ(counts.workers, 2u);
  ASSERT_TRUE(supervisor.terminate_child("c").has_value());
  counts = supervisor.count_children().value();
  EXPECT_EQ(counts.specs, 3u);
  EXPECT_EQ(counts.active, 2u);
}

}  // namespace
