// C15: how children, and supervisors, are ended. Each test is named after the case of OTP's
// supervisor_SUITE whose behaviour it checks.
#include <gtest/gtest.h>

#include <thread>

#include "support/supervised.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AutoShutdown;
using bulkhead::child;
using bulkhead::ChildSpec;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Shutdown;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;
using bulkhead::SupervisorSpec;
using support::End;
using support::eventually;
using support::Fail;
using support::Stubborn;
using support::Unlink;
using namespace std::chrono_literals;

class SupervisorStop : public support::Supervised {
 protected:
  ChildSpec stubborn(const std::string& name, Shutdown shutdown) {
    ChildSpec spec = child<Stubborn>(name, &diary, name);
    spec.shutdown = shutdown;
    return spec;
  }
  ChildSpec significant(const std::string& name, Restart restart) {
    ChildSpec spec = worker(name, restart);
    spec.significant = true;
    return spec;
  }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorStop);

TEST_P(SupervisorStop, sup_stop_infinity) {
  const SupervisorRef supervisor =
      start({.children = {worker("a"), stubborn("b", Shutdown::whenever())}});
  const Pid a = pid_of(supervisor, "a");
  const Pid b = pid_of(supervisor, "b");
  EXPECT_THROW(supervisor.stop(Exit::normal(), -1ns), std::invalid_argument);
  EXPECT_EQ(supervisor.count_children()->active, 2u);
  EXPECT_FALSE(supervisor.stop(Exit::normal(), 20ms));  // "b" is in no hurry
  EXPECT_FALSE(supervisor.stop(Exit::custom("later"), 0ns));
  EXPECT_FALSE(has_ended(a));
  EXPECT_EQ(bulkhead::exit(b, Exit::shutdown()), bulkhead::Delivery::kQueued);  // traps it, too
  EXPECT_EQ(bulkhead::kill(b), bulkhead::Delivery::kQueued);
  EXPECT_EQ(end_of(a), Exit::shutdown());
  EXPECT_EQ(end_of(supervisor.pid()), Exit::normal());
}

TEST_P(SupervisorStop, sup_stop_timeout) {
  const SupervisorRef supervisor = start({.children = {worker("a"), stubborn("b", 10ms)}});
  const Pid a = pid_of(supervisor, "a");
  const Pid b = pid_of(supervisor, "b");
  const auto begun = support::Clock::now();
  EXPECT_TRUE(supervisor.stop());
  EXPECT_GE(support::Clock::now() - begun, 10ms);
  EXPECT_EQ(end_of(b), Exit::killed());
  EXPECT_EQ(end_of(a), Exit::shutdown());  // who ends in time is not
}

// At once: it is not even asked.
TEST_P(SupervisorStop, sup_stop_brutal_kill) {
  struct Listening : Stubborn {
    Listening(support::Diary* d, std::string name) : Stubborn(d, std::move(name)), diary(d) {}
    void receive(bulkhead::Exited exited) { diary->add(to_string(exited.exit)); }
    support::Diary* diary;
  };
  ChildSpec b = child<Listening>("b", &diary, "b");
  b.shutdown = Shutdown::at_once();
  ChildSpec c = worker("c");  // one that would have ended by itself
  c.shutdown = Shutdown::at_once();
  const SupervisorRef supervisor = start({.children = {worker("a"), b, c}});
  const Pid pid_of_b = pid_of(supervisor, "b");
  const Pid pid_of_c = pid_of(supervisor, "c");
  EXPECT_TRUE(supervisor.stop());
  EXPECT_EQ(end_of(pid_of_b), Exit::killed());
  EXPECT_EQ(end_of(pid_of_c), Exit::killed());
  EXPECT_EQ(diary.line(), "+a +b +c -c -b -a");
}

TEST_P(SupervisorStop, simple_one_for_one_shutdown) {
  ChildSpec like;
  like.shutdown = Shutdown(30ms);
  const SupervisorRef supervisor = start({.strategy = Strategy::kSimpleOneForOne, .like = like});
  const ChildSpec one = child<Stubborn>("", &diary, "s");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(supervisor.start_child(one.start).has_value());
  const auto begun = support::Clock::now();
  EXPECT_TRUE(supervisor.stop());
  const auto took = support::Clock::now() - begun;
  EXPECT_GE(took, 30ms);
  EXPECT_LT(took, 20 * 30ms);  // all at the same time
  EXPECT_EQ(diary.count("-s"), 20u);
}

TEST_P(SupervisorStop, child_unlink) {
  const SupervisorRef supervisor = start({.children = {worker("a")}});
  const Pid a = pid_of(supervisor, "a");
  tell(a, Unlink{supervisor.pid()});
  EXPECT_TRUE(supervisor.stop(Exit::normal(), 60s));
  EXPECT_EQ(end_of(a), Exit::shutdown());
}

TEST_P(SupervisorStop, order_of_children) {
  const SupervisorRef supervisor =
      start({.strategy = Strategy::kRestForOne,
             .children = {worker("a"), worker("b"), worker("c"), worker("d")}});
  const Pid c = pid_of(supervisor, "c");
  tell(c, Fail{});
  await_restart(supervisor, "c", c);
  EXPECT_TRUE(supervisor.stop());
  EXPECT_EQ(diary.line(), "+a +b +c +d -c -d +c +d -d -c -b -a");
}

// A supervisor ends with whoever has started it, and its children before it.
TEST_P(SupervisorStop, parent_ends) {
  Pid supervisor;
  run([&] {
    supervisor = bulkhead::start_supervisor({.children = {worker("a"), worker("b")}})->pid();
    this_actor::stop(Exit::custom("enough"));
  });
  EXPECT_EQ(to_string(end_of(supervisor)), "enough");
  EXPECT_EQ(diary.line(), "+a +b -b -a");
}

// Exits from others are none of its business.
TEST_P(SupervisorStop, exit_from_others) {
  const SupervisorRef supervisor = start({.children = {worker("a")}});
  EXPECT_EQ(bulkhead::exit(supervisor.pid(), Exit::shutdown()), bulkhead::Delivery::kQueued);
  EXPECT_EQ(supervisor.count_children()->active, 1u);
}

// By kill its children go with it.
TEST_P(SupervisorStop, killed) {
  const SupervisorRef supervisor = start({.children = {worker("a"), worker("b")}});
  const Pid a = pid_of(supervisor, "a");
  EXPECT_EQ(bulkhead::kill(supervisor.pid()), bulkhead::Delivery::kQueued);
  EXPECT_EQ(end_of(a), Exit::killed());
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
}

TEST_P(SupervisorStop, significant_any) {
  const SupervisorRef supervisor = start(
      {.auto_shutdown = AutoShutdown::kAnySignificant,
       .children = {significant("a", Restart::kTransient), significant("b", Restart::kTemporary),
                    worker("c", Restart::kTransient)}});
  tell(pid_of(supervisor, "c"), End{});  // does not count
  EXPECT_TRUE(eventually([&] { return supervisor.count_children()->active == 2; }));
  const Pid a = pid_of(supervisor, "a");
  tell(a, Fail{});  // is started again
  await_restart(supervisor, "a", a);
  EXPECT_FALSE(has_ended(supervisor.pid()));
  tell(pid_of(supervisor, "b"), Fail{});  // is not
  EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown());
}

TEST_P(SupervisorStop, significant_all) {
  const SupervisorRef supervisor =
      start({.auto_shutdown = AutoShutdown::kAllSignificant,
             .children = {significant("a", Restart::kTransient),
                          significant("b", Restart::kTemporary), worker("c")}});
  tell(pid_of(supervisor, "a"), End{});
  EXPECT_TRUE(eventually([&] { return supervisor.count_children()->active == 2; }));
  tell(pid_of(supervisor, "b"), End{});
  EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown());
}

TEST_P(SupervisorStop, significant_stopped_by_the_supervisor) {
  const SupervisorRef supervisor =
      start({.auto_shutdown = AutoShutdown::kAnySignificant,
             .children = {significant("a", Restart::kTransient), worker("b")}});
  EXPECT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_EQ(supervisor.count_children()->active, 1u);
  EXPECT_FALSE(has_ended(supervisor.pid()));
}

// OTP (25): one that was terminated by hand is out of the count, and the end of the others decides.
TEST_P(SupervisorStop, significant_all_when_one_was_terminated) {
  const SupervisorRef supervisor =
      start({.auto_shutdown = AutoShutdown::kAllSignificant,
             .children = {significant("a", Restart::kTransient),
                          significant("b", Restart::kTransient), worker("c")}});
  EXPECT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_EQ(supervisor.count_children()->active, 2u);
  tell(pid_of(supervisor, "b"), End{});
  EXPECT_EQ(end_of(supervisor.pid()), Exit::shutdown());
}

// OTP (25): a significant temporary child that ends with its group is not started again, and does
// not end the supervisor.
TEST_P(SupervisorStop, significant_bystander) {
  for (const Strategy strategy : {Strategy::kOneForAll, Strategy::kRestForOne}) {
    for (const AutoShutdown when : {AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
      const SupervisorRef supervisor =
          start({.strategy = strategy,
                 .auto_shutdown = when,
                 .children = {worker("a"), significant("b", Restart::kTemporary), worker("c")}});
      const Pid a = pid_of(supervisor, "a");
      const Pid c = pid_of(supervisor, "c");
      tell(a, Fail{});
      await_restart(supervisor, "a", a);
      await_restart(supervisor, "c", c);
      EXPECT_EQ(supervisor.count_children()->specs, 2u);
      EXPECT_TRUE(supervisor.stop());
    }
  }
}

// It ends by shutdown: as a permanent child it is started again, as a transient one it is not, and
// where it is significant, it ends the next one.
TEST_P(SupervisorStop, significant_escalation) {
  const auto inner = [this](Restart restart, bool is_significant) {
    ChildSpec spec =
        bulkhead::child_supervisor("inner", {.auto_shutdown = AutoShutdown::kAnySignificant,
                                             .children = {significant("a", Restart::kTransient)}});
    spec.restart = restart;
    spec.significant = is_significant;
    return spec;
  };
  const auto end_a = [](SupervisorRef outer) {
    const Pid pid = pid_of(outer, "inner");
    tell(pid_of(SupervisorRef(pid), "a"), End{});
    return pid;
  };
  const SupervisorRef permanent = start({.children = {inner(Restart::kPermanent, false)}});
  await_restart(permanent, "inner", end_a(permanent));
  const SupervisorRef transient = start({.children = {inner(Restart::kTransient, false)}});
  EXPECT_EQ(end_of(end_a(transient)), Exit::shutdown());
  EXPECT_TRUE(eventually([&] { return transient.count_children()->active == 0; }));
  const SupervisorRef all = start({.auto_shutdown = AutoShutdown::kAllSignificant,
                                   .children = {inner(Restart::kTransient, true), worker("b")}});
  end_a(all);
  EXPECT_EQ(end_of(all.pid()), Exit::shutdown());
}

// Memory of very many temporary children that have come and gone: none is kept.
TEST_P(SupervisorStop, do_not_save_start_parameters_for_temporary_children) {
  ChildSpec like;
  like.restart = Restart::kTemporary;
  const SupervisorRef simple = start({.strategy = Strategy::kSimpleOneForOne, .like = like});
  const SupervisorRef ordered = start({});
  struct Short {
    void started() { this_actor::stop(); }
  };
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(simple.start_child(child<Short>("").start).has_value());
    ChildSpec one = child<Short>("child " + std::to_string(i));
    one.restart = Restart::kTemporary;
    ASSERT_TRUE(ordered.start_child(std::move(one)).has_value());
  }
  EXPECT_TRUE(eventually(
      [&] { return simple.count_children()->specs == 0 && ordered.count_children()->specs == 0; }));
}

TEST_P(SupervisorStop, scale_start_stop_many_children) {
  support::expect_linear([this](int many) {
    const auto begun = support::cpu_time();
    run([many] {
      const auto supervisor = bulkhead::start_supervisor({});
      struct Idle {};
      for (int i = 0; i < many; ++i) {
        ASSERT_TRUE(supervisor->start_child(child<Idle>(std::to_string(i))).has_value());
      }
      EXPECT_TRUE(supervisor->stop());
    });
    return support::cpu_time() - begun;
  });
}

}  // namespace
