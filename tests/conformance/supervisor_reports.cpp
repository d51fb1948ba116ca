// C15, C17: what the log is told of children that crash, and of supervisors that give up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/supervised.hpp"

namespace {

using bulkhead::ChildStart;
using bulkhead::CrashReport;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Strategy;
using support::eventually;
using support::Fail;
using namespace std::chrono_literals;

class SupervisorReports : public support::Supervised {
 protected:
  /// Has a child fail, and waits until it runs again. Returns its next pid.
  Pid fail(bulkhead::SupervisorRef supervisor, const std::string& id) {
    const Pid before = pid_of(supervisor, id);
    tell(before, Fail{});
    return await_restart(supervisor, id, before);
  }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorReports);

TEST_P(SupervisorReports, say_how_often_a_child_was_started_again) {
  const auto supervisor =
      start({.intensity = 100, .children = {worker("a"), worker("b"), worker("c")}});
  std::vector<Pid> pids{pid_of(supervisor, "b")};
  for (int i = 0; i < 3; ++i) pids.push_back(fail(supervisor, "b"));
  ASSERT_TRUE(crashes->wait_for(3));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const CrashReport report = crashes->reports()[i];
    EXPECT_EQ(report.actor, pids[i]);
    EXPECT_EQ(report.restarts, i);
    ASSERT_EQ(report.ancestors.size(), 1u);
    EXPECT_EQ(report.ancestors[0].pid, supervisor.pid());
    EXPECT_EQ(report.links, std::vector<Pid>{supervisor.pid()});
  }
  const auto children = supervisor.which_children().value();
  for (const auto& child : children) EXPECT_EQ(child.restarts, child.id == "b" ? 3u : 0u);
}

TEST_P(SupervisorReports, count_restarts_with_the_others) {
  const auto supervisor = start(
      {.strategy = Strategy::kOneForAll, .intensity = 100, .children = {worker("a"), worker("b")}});
  fail(supervisor, "a");
  fail(supervisor, "b");
  ASSERT_TRUE(crashes->wait_for(2));
  EXPECT_EQ(crashes->reports()[1].restarts, 1u);
  const auto children = supervisor.which_children().value();
  for (const auto& child : children) EXPECT_EQ(child.restarts, 2u);
  runtime.shutdown();
  EXPECT_EQ(crashes->size(), 2u);  // those that were ended in order have not crashed
}

TEST_P(SupervisorReports, count_restarts_of_children_that_are_alike) {
  const auto supervisor = start({.strategy = Strategy::kSimpleOneForOne, .intensity = 100});
  const auto started = supervisor.start_child(
      [this] { return bulkhead::child<support::Worker>("x", &diary, "x").start(); });
  Pid pid = started.value();
  for (std::uint32_t i = 0; i < 3; ++i) {
    tell(pid, Fail{});
    ASSERT_TRUE(crashes->wait_for(i + 1));
    EXPECT_EQ(crashes->reports()[i].restarts, i);
    EXPECT_TRUE(eventually([&] {
      const auto children = supervisor.which_children().value();
      return children.size() == 1 && children[0].pid && children[0].restarts == i + 1;
    }));
    pid = supervisor.which_children()->front().pid;
  }
}

// A grandchild was not started again: its parent was.
TEST_P(SupervisorReports, do_not_count_restarts_of_others) {
  struct Parent {
    void started() {
      bulkhead::spawn_with({.linked = true}, [] { throw 1; });
    }
  };
  const auto supervisor = start({.intensity = 2, .children = {bulkhead::child<Parent>("parent")}});
  EXPECT_TRUE(end_of(supervisor.pid()).kind() == Exit::Kind::kShutdown);
  runtime.shutdown();
  std::size_t own = 0;
  for (const CrashReport& report : crashes->reports()) {
    if (report.type.find("Parent") == std::string::npos || !report.by_signal) {
      EXPECT_EQ(report.restarts, 0u);
    } else {
      EXPECT_EQ(report.restarts, own++);
    }
  }
  EXPECT_EQ(own, 3u);
}

TEST_P(SupervisorReports, say_that_one_gives_up) {
  auto flaky = worker("a");
  const auto supervisor =
      start({.strategy = Strategy::kOneForOne, .intensity = 0, .children = {flaky}});
  tell(pid_of(supervisor, "a"), Fail{});
  EXPECT_TRUE(crashes->wait_for_line(
      "gives up: more than 0 restarts in 5000 ms, the last of child \"a\" (panic: a fails"));
  EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown("too many restarts"));
  runtime.shutdown();
  EXPECT_EQ(crashes->size(), 1u);
}

TEST_P(SupervisorReports, say_that_a_child_does_not_start_again) {
  auto flaky = worker("a");
  flaky.start = [start = flaky.start, runs = std::make_shared<int>(0)]() -> ChildStart {
    if (++*runs == 2) return std::unexpected(Exit::custom("not yet"));
    return start();
  };
  const auto supervisor = start({.children = {flaky}});
  fail(supervisor, "a");
  EXPECT_TRUE(crashes->wait_for_line("could not start child \"a\" again: not yet"));
}

// One that has to be killed, since it does not end, is told of.
TEST_P(SupervisorReports, say_who_was_killed) {
  auto stubborn = bulkhead::child<support::Stubborn>("s", &diary, "s");
  stubborn.shutdown = 1ms;
  const auto supervisor = start({.children = {stubborn, worker("a")}});
  const Pid pid = pid_of(supervisor, "s");
  EXPECT_TRUE(supervisor.stop());
  EXPECT_TRUE(crashes->wait_for_line("child " + to_string(pid) + " has not ended in 1 ms"));
  runtime.shutdown();
  ASSERT_EQ(crashes->size(), 1u);
  EXPECT_EQ(crashes->reports()[0].actor, pid);
  EXPECT_EQ(crashes->reports()[0].kind, Exit::Kind::kKilled);
}

}  // namespace
