// C13, C15: children with a name, by which they are found again after a restart.
#include <gtest/gtest.h>

#include "support/supervised.hpp"

namespace {

using bulkhead::ChildError;
using bulkhead::ChildSpec;
using bulkhead::ChildStart;
using bulkhead::Delivery;
using bulkhead::NamedAddress;
using bulkhead::Pid;
using bulkhead::SpecFault;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;
using support::Worker;
using namespace std::chrono_literals;

class SupervisorNames : public support::Supervised {
 protected:
  ChildSpec named(const std::string& id, std::string name) {
    ChildSpec spec = worker(id);
    spec.name = std::move(name);
    return spec;
  }
  Pid await(const std::string& name, Pid old) {
    Pid pid;
    EXPECT_TRUE(support::eventually([&] {
      pid = runtime.whereis(name);
      return pid && pid != old;
    })) << name;
    return pid;
  }
};
ON_ONE_AND_SEVERAL_CORES(SupervisorNames);

TEST_P(SupervisorNames, a_child_is_found_by_its_name_after_each_restart) {
  const SupervisorRef supervisor =
      start({.intensity = 100, .children = {named("a", "the worker")}});
  const auto address = runtime.named<Worker>("the worker");
  Pid pid = pid_of(supervisor, "a");
  EXPECT_EQ(runtime.whereis<Worker>("the worker").pid(), pid);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(address.send(support::Fail{}), Delivery::kQueued);
    const Pid next = await("the worker", pid);
    EXPECT_EQ(await_restart(supervisor, "a", pid), next);
    EXPECT_EQ(runtime.name_of(pid), "");
    pid = next;
  }
  ASSERT_TRUE(supervisor.terminate_child("a").has_value());
  EXPECT_EQ(address.send(support::Fail{}), Delivery::kGone);
  const Pid again = supervisor.restart_child("a").value();
  EXPECT_EQ(runtime.whereis("the worker"), again);
}

TEST_P(SupervisorNames, each_of_a_group_has_its_name_again) {
  const SupervisorRef supervisor =
      start({.strategy = Strategy::kOneForAll,
             .children = {named("a", "first"), named("b", "second"), named("c", "third")}});
  const Pid first = runtime.whereis("first");
  const Pid third = runtime.whereis("third");
  tell(runtime.whereis("second"), support::Fail{});
  const Pid next_first = await("first", first);
  const Pid next_third = await("third", third);
  EXPECT_EQ(next_first, pid_of(supervisor, "a"));
  EXPECT_EQ(next_third, pid_of(supervisor, "c"));
  EXPECT_EQ(runtime.registered().size(), 3u);
}

// OTP: the child's start function returns {error, {already_started, Pid}}, and the supervisor does
// not start.
TEST_P(SupervisorNames, a_name_that_is_taken_is_an_error_to_start) {
  const auto holder = runtime.spawn<Worker>(&diary, "holder");
  ASSERT_TRUE(runtime.register_name("mine", holder).has_value());
  auto started =
      bulkhead::start_supervisor(runtime, {.children = {worker("a"), named("b", "mine")}});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().kind, ChildError::Kind::kFailed);
  EXPECT_EQ(to_string(started.error()),
            "child b: it did not start: its name \"mine\" is that of " + to_string(holder.pid()));
  const SupervisorRef supervisor = start({});
  EXPECT_EQ(supervisor.start_child(named("c", "mine")).error().kind, ChildError::Kind::kFailed);
  EXPECT_EQ(supervisor.count_children()->specs, 0u);
  EXPECT_EQ(runtime.whereis("mine"), holder.pid());
  EXPECT_EQ(diary.line(), "+holder +a -a") << "no child of that name has run";
}

// The name is taken while the child is being started; or the child has another one.
TEST_P(SupervisorNames, a_child_that_cannot_have_its_name_is_ended) {
  const SupervisorRef supervisor = start({});
  ChildSpec spec = named("a", "mine");
  Pid thief;
  spec.start = [&]() -> ChildStart {
    thief = bulkhead::spawn<Worker>(&diary, "thief").pid();
    EXPECT_TRUE(bulkhead::register_name("mine", thief).has_value());
    return bulkhead::spawn_with<Worker>({.linked = true}, &diary, "a").pid();
  };
  auto failed = supervisor.start_child(spec);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(to_string(failed.error()),
            "child a: it did not start: its name \"mine\" is that of " + to_string(thief));
  EXPECT_EQ(diary.line(), "+thief +a -a");
  EXPECT_TRUE(runtime.unregister_name("mine"));
  spec.start = [&]() -> ChildStart {
    const auto made = bulkhead::spawn_with<Worker>({.linked = true}, &diary, "b");
    EXPECT_TRUE(bulkhead::register_name("yours", made).has_value());
    return made.pid();
  };
  failed = supervisor.start_child(spec);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(to_string(failed.error()),
            "child a: it did not start: it cannot be called \"mine\": the actor has a name "
            "already");
  EXPECT_EQ(diary.count("-b"), 1u);
  // The same name that it has given itself is its name.
  spec.start = [&]() -> ChildStart {
    const auto made = bulkhead::spawn_with<Worker>({.linked = true}, &diary, "c");
    EXPECT_TRUE(bulkhead::register_name("mine", made).has_value());
    return made.pid();
  };
  const Pid started = supervisor.start_child(spec).value_or(Pid());
  EXPECT_EQ(started, runtime.whereis("mine"));
}

// What was wrong: a server that is a child had its name only when its init had returned. As in
// Erlang it has it before.
TEST_P(SupervisorNames, a_server_has_its_name_before_its_init) {
  struct Asking : bulkhead::GenServer {
    explicit Asking(support::Diary* d) : diary(d) {}
    void init() {
      // What it starts knows it by its name, too.
      auto child = bulkhead::spawn_joinable([] { return bulkhead::whereis("asking"); });
      const Pid self = bulkhead::this_actor::pid();
      const bool known = bulkhead::whereis("asking") == self && child.join() == self;
      diary->add(known ? "init" : "unknown");
    }
    void handle_cast(support::Fail) { throw std::runtime_error("it fails"); }
    support::Diary* diary;
  };
  ChildSpec spec = bulkhead::child_server<Asking>("server", &diary);
  spec.name = "asking";
  // Also where a start function of one's own calls it.
  spec.start = [start = spec.start] { return start(); };
  const SupervisorRef supervisor = start({.children = {spec}});
  EXPECT_EQ(diary.line(), "init");
  const Pid pid = runtime.whereis("asking");
  bulkhead::NamedServer<Asking>(runtime, "asking").cast(support::Fail{});
  EXPECT_EQ(await("asking", pid), await_restart(supervisor, "server", pid));
  EXPECT_EQ(diary.line(), "init init");
}

TEST_P(SupervisorNames, a_state_machine_has_its_name_before_it_enters) {
  struct Asking : bulkhead::GenStateMachine<Asking, int> {
    explicit Asking(support::Diary* d) : GenStateMachine(0), diary(d) {}
    void enter(int) { diary->add(bulkhead::name_of(bulkhead::this_actor::pid())); }
    support::Diary* diary;
  };
  ChildSpec spec = bulkhead::child_state_machine<Asking>("machine", &diary);
  spec.name = "asking";
  EXPECT_TRUE(start({.children = {spec}}).pid());
  EXPECT_EQ(diary.line(), "asking");
}

TEST_P(SupervisorNames, a_supervisor_has_its_name_before_its_children_start) {
  ChildSpec asks = worker("asks");
  asks.start = [this, start = asks.start] {
    diary.add(bulkhead::whereis("crew") == bulkhead::this_actor::pid() ? "known" : "unknown");
    return start();
  };
  ChildSpec crew = bulkhead::child_supervisor("crew", {.children = {asks}});
  crew.name = "crew";
  const SupervisorRef supervisor = start({.children = {crew}});
  EXPECT_EQ(diary.line(), "known +asks");
  EXPECT_EQ(runtime.whereis("crew"), pid_of(supervisor, "crew"));
  // The next child is another one, and has no name.
  ASSERT_TRUE(supervisor.start_child(bulkhead::child_supervisor("other", {})).has_value());
  EXPECT_EQ(runtime.registered().size(), 1u);
}

TEST_P(SupervisorNames, a_server_whose_name_is_taken_says_so) {
  struct Thief : bulkhead::GenServer {};
  const SupervisorRef supervisor = start({});
  ChildSpec spec = bulkhead::child_server<Thief>("server");
  spec.name = "mine";
  Pid thief;
  spec.start = [&thief, start = spec.start] {
    thief = bulkhead::spawn([] { bulkhead::this_actor::sleep_for(bulkhead::kForever); });
    EXPECT_TRUE(bulkhead::register_name("mine", thief).has_value());
    return start();
  };
  const auto failed = supervisor.start_child(spec);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(to_string(failed.error()),
            "child server: it did not start: the server's name is that of " + to_string(thief));
  EXPECT_EQ(supervisor.count_children()->specs, 0u);
}

TEST_P(SupervisorNames, a_name_that_is_taken_at_a_restart_is_waited_for) {
  const SupervisorRef supervisor = start({.intensity = 1'000'000,
                                          .backoff = bulkhead::Backoff{.least = 10ms, .most = 10ms},
                                          .children = {named("a", "mine")}});
  const Pid first = runtime.whereis("mine");
  tell(first, support::Fail{});
  static_cast<void>(end_of(first));
  const auto holder = runtime.spawn<Worker>(&diary, "holder");
  ASSERT_TRUE(support::eventually([&] {
    // It may have been started again before this thread came to it.
    const auto given = runtime.register_name("mine", holder);
    if (!given) tell(runtime.whereis("mine"), support::Fail{});
    return given.has_value();
  }));
  const std::size_t starts = diary.count("+a");
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(diary.count("+a"), starts);
  EXPECT_EQ(runtime.whereis("mine"), holder.pid());
  holder.send(support::End{});
  const Pid next = await("mine", holder.pid());
  EXPECT_EQ(await_restart(supervisor, "a", first), next);
}

TEST_P(SupervisorNames, faulty_names) {
  const auto fault_of = [this](bulkhead::SupervisorSpec spec) {
    auto started = bulkhead::start_supervisor(runtime, std::move(spec));
    EXPECT_FALSE(started.has_value());
    EXPECT_EQ(started.error().kind, ChildError::Kind::kSpec);
    return started.error().fault;
  };
  EXPECT_EQ(fault_of({.children = {named("a", "")}}), SpecFault::kName);
  EXPECT_EQ(fault_of({.children = {named("a", std::string(256, 'x'))}}), SpecFault::kName);
  EXPECT_EQ(fault_of({.strategy = Strategy::kSimpleOneForOne, .like = named("a", "x")}),
            SpecFault::kNameShared);
  const SupervisorRef supervisor = start({});
  EXPECT_EQ(supervisor.start_child(named("a", "")).error().fault, SpecFault::kName);
  EXPECT_EQ(to_string(supervisor.start_child(named("a", "")).error()),
            "child a: the specification makes no sense: its name is empty, or longer than 255 "
            "bytes");
}

}  // namespace
