// C15: a child that a supervisor was just ending, and that does not follow, did not hear when that
// supervisor was killed: it lived on, and nobody's child. It is linked until it has ended.
#include <gtest/gtest.h>

#include <atomic>

#include "support/supervised.hpp"

namespace {

using bulkhead::ChildSpec;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::Pid;
using bulkhead::Shutdown;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;

/// Ends only when its supervisor has been killed.
class Devoted {
 public:
  explicit Devoted(std::atomic<int>* asked) : asked_(asked) {}
  void started() { bulkhead::this_actor::trap_exits(true); }
  void receive(const Exited& exited) {
    if (exited.exit == Exit::shutdown()) ++*asked_;
    if (exited.exit == Exit::killed()) bulkhead::this_actor::stop(Exit::custom("orphan"));
  }

 private:
  std::atomic<int>* asked_;
};

class ChildrenOfKilledSupervisors : public support::Supervised {
 protected:
  // `ending` has the supervisor end its child, and waits for that.
  template <class Ending>
  void expect_heard(SupervisorRef supervisor, Pid child, Ending ending) {
    ASSERT_TRUE(child);
    runtime.spawn([supervisor, child, ending] { ending(supervisor, child); });
    ASSERT_TRUE(support::eventually([this] { return asked == 1; }));
    EXPECT_FALSE(has_ended(child));
    EXPECT_EQ(bulkhead::kill(supervisor.pid()), bulkhead::Delivery::kQueued);
    EXPECT_EQ(end_of(child), Exit::custom("orphan"));
    EXPECT_EQ(end_of(supervisor.pid()), Exit::killed());
    EXPECT_EQ(asked, 1);
  }
  ChildSpec devoted() {
    ChildSpec spec = bulkhead::child<Devoted>("devoted", &asked);
    spec.shutdown = Shutdown::whenever();
    return spec;
  }

  std::atomic<int> asked{0};
};
ON_ONE_AND_SEVERAL_CORES(ChildrenOfKilledSupervisors);

TEST_P(ChildrenOfKilledSupervisors, hear_of_it_when_they_alone_are_ended) {
  const SupervisorRef supervisor = start({.children = {devoted()}});
  expect_heard(supervisor, pid_of(supervisor, "devoted"), [](SupervisorRef parent, Pid) {
    static_cast<void>(parent.terminate_child("devoted"));
  });
}

TEST_P(ChildrenOfKilledSupervisors, hear_of_it_when_it_is_ended) {
  const SupervisorRef supervisor = start({.children = {devoted()}});
  expect_heard(supervisor, pid_of(supervisor, "devoted"),
               [](SupervisorRef parent, Pid) { static_cast<void>(parent.stop()); });
}

TEST_P(ChildrenOfKilledSupervisors, hear_of_it_when_all_of_many_are_ended) {
  bulkhead::SupervisorSpec spec{.strategy = Strategy::kSimpleOneForOne};
  spec.like.shutdown = Shutdown::whenever();
  const SupervisorRef supervisor = start(std::move(spec));
  expect_heard(supervisor, supervisor.start_child(devoted().start).value_or(Pid()),
               [](SupervisorRef parent, Pid) { static_cast<void>(parent.stop()); });
}

// And of a child that has ended by its supervisor nothing comes afterwards.
TEST_P(ChildrenOfKilledSupervisors, leave_nothing_when_they_have_ended) {
  const SupervisorRef supervisor = start({.children = {worker("a"), worker("b")}});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(supervisor.terminate_child("a").has_value());
    EXPECT_FALSE(pid_of(supervisor, "a"));
    ASSERT_TRUE(supervisor.restart_child("a").has_value());
  }
  EXPECT_EQ(diary.count("+a"), 101u);
  EXPECT_EQ(diary.count("+b"), 1u);
}

}  // namespace
