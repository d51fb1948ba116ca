// C13: process groups. What Erlang's pg does in each case was tried with OTP 25.
#include <gtest/gtest.h>
#include <bulkhead/otp.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Down;
using bulkhead::GroupChange;
using bulkhead::GroupError;
using bulkhead::GroupMonitor;
using bulkhead::Pid;
using bulkhead::Runtime;
using namespace std::chrono_literals;

struct Stop {};

struct Member {
  void receive(Stop /*message*/) { this_actor::stop(); }
};

using Box = bulkhead::Mailbox<GroupChange, Stop>;
using Pids = std::vector<Pid>;

class Groups : public support::Running {
 protected:
  ~Groups() override { runtime.shutdown(0ms); }

  template <class F>
  void run(F body, std::size_t core = 0) {
    support::Event ran;
    runtime.spawn_with<Box>(on_core(core), [&](Box& mailbox) {
      body(mailbox);
      ran.set();
    });
    ASSERT_TRUE(ran.wait());
  }
  Pid spawn(std::size_t core = 0) { return runtime.spawn_with<Member>(on_core(core)).pid(); }
  static void end(Pid pid) { Address<Member>(pid).send(Stop{}); }
  Pids members(const std::string& group) {
    Pids all = bulkhead::group_members(runtime, group).value();
    std::sort(all.begin(), all.end());
    return all;
  }
  void join(const std::string& group, Pid actor) {
    ASSERT_TRUE(bulkhead::join_group(runtime, group, actor).has_value());
  }
  bool await_members(const std::string& group, std::size_t count) {
    return support::eventually([&] { return members(group).size() == count; });
  }
  static Pids sorted(Pids pids) {
    std::sort(pids.begin(), pids.end());
    return pids;
  }
  static bool nothing_more(Box& mailbox) {
    return !mailbox.next_for<GroupChange>(10ms).has_value();
  }
};
ON_ONE_AND_SEVERAL_CORES(Groups);

TEST_P(Groups, have_members) {
  const Pid one = spawn(0);
  const Pid two = spawn(1);
  EXPECT_TRUE(members("workers").empty());
  EXPECT_TRUE(bulkhead::which_groups(runtime)->empty());
  join("workers", one);
  join("workers", two);
  join("others", two);
  EXPECT_EQ(members("workers"), sorted({one, two}));
  for (std::size_t core = 0; core < cores(); ++core) {
    run(
        [&](Box& /*mailbox*/) {
          EXPECT_EQ(sorted(bulkhead::group_members("workers").value()), sorted({one, two}));
          EXPECT_EQ(bulkhead::group_members("others").value(), Pids{two});
          auto groups = bulkhead::which_groups().value();
          std::sort(groups.begin(), groups.end());
          EXPECT_EQ(groups, (std::vector<std::string>{"others", "workers"}));
          // An actor joins and leaves, itself and others.
          const Pid self = this_actor::pid();
          EXPECT_TRUE(bulkhead::join_group("others", self).has_value());
          EXPECT_EQ(bulkhead::group_members("others")->size(), 2u);
          EXPECT_TRUE(bulkhead::leave_group("others", Pids{self}).has_value());
          EXPECT_EQ(bulkhead::group_members("others").value(), Pids{two});
        },
        core);
  }
}

// registry: "joins to groups are counted, left on death".
TEST_P(Groups, registry) {
  const Pid one = spawn(0);
  const Pid two = spawn(1);
  join("twice", one);
  join("twice", one);
  join("twice", two);
  EXPECT_EQ(members("twice"), sorted({one, one, two}));
  EXPECT_TRUE(bulkhead::leave_group(runtime, "twice", one).has_value());
  EXPECT_EQ(members("twice"), sorted({one, two}));
  EXPECT_TRUE(bulkhead::leave_group(runtime, "twice", one).has_value());
  EXPECT_EQ(members("twice"), Pids{two});
  EXPECT_EQ(bulkhead::leave_group(runtime, "twice", one).error(), GroupError::kNotMember);

  for (int i = 0; i < 3; ++i) join("twice", one);
  join("once", one);
  end(one);
  EXPECT_TRUE(await_members("twice", 1));
  EXPECT_TRUE(await_members("once", 0));
  EXPECT_EQ(members("twice"), Pids{two});
  EXPECT_EQ(bulkhead::which_groups(runtime).value(), std::vector<std::string>{"twice"});
  static_cast<void>(bulkhead::kill(two));
  EXPECT_TRUE(await_members("twice", 0));
  EXPECT_TRUE(bulkhead::which_groups(runtime)->empty());
}

// Erlang: ok, and then the group is empty.
TEST_P(Groups, an_actor_that_has_ended_joins_for_no_time) {
  const Pid dead = spawn(1);
  end(dead);
  wait_for_idle();
  join("dead", dead);
  EXPECT_TRUE(await_members("dead", 0));
  EXPECT_TRUE(bulkhead::which_groups(runtime)->empty());
}

// Erlang: a list joins, and each of it as often as it stands there. Of a list that leaves those
// leave that are members; not_joined when none is. (Erlang tells those who watch of all of them.)
TEST_P(Groups, several_join_and_leave_at_once) {
  const Pid one = spawn();
  const Pid two = spawn();
  const Pid three = spawn();
  ASSERT_TRUE(bulkhead::join_group(runtime, "many", Pids{one, two, one}).has_value());
  EXPECT_EQ(members("many"), sorted({one, one, two}));
  EXPECT_EQ(bulkhead::leave_group(runtime, "many", Pids{three}).error(), GroupError::kNotMember);
  EXPECT_TRUE(bulkhead::leave_group(runtime, "many", Pids{three, two, one}).has_value());
  EXPECT_EQ(members("many"), Pids{one});
  EXPECT_EQ(bulkhead::leave_group(runtime, "none", one).error(), GroupError::kNotMember);
  EXPECT_EQ(to_string(bulkhead::leave_group(runtime, "none", one).error()),
            "it is not a member of the group");
  EXPECT_TRUE(bulkhead::join_group(runtime, "none", Pids{}).has_value());
  EXPECT_TRUE(bulkhead::leave_group(runtime, "none", Pids{}).has_value());
  EXPECT_TRUE(members("none").empty());
}

TEST_P(Groups, who_watches_one_is_told_of_each_change) {
  const Pid one = spawn(0);
  const Pid two = spawn(1);
  join("watched", one);
  join("watched", one);
  run([&](Box& mailbox) {
    const auto monitor = bulkhead::monitor_group("watched", mailbox.address());
    ASSERT_TRUE(monitor.has_value());
    GroupChange change = mailbox.next<GroupChange>();
    EXPECT_EQ(change.monitor, *monitor);
    EXPECT_EQ(change.group, "watched");
    EXPECT_EQ(change.joined, (Pids{one, one})) << "those who are there come first";
    EXPECT_TRUE(change.left.empty());

    ASSERT_TRUE(bulkhead::join_group("watched", Pids{two, one}).has_value());
    change = mailbox.next<GroupChange>();
    EXPECT_EQ(change.joined, (Pids{two, one}));
    EXPECT_TRUE(change.left.empty());
    ASSERT_TRUE(bulkhead::leave_group("watched", Pids{one, Pid(0xffff'fff0, 1)}).has_value());
    change = mailbox.next<GroupChange>();
    EXPECT_TRUE(change.joined.empty());
    EXPECT_EQ(change.left, Pids{one});

    static_cast<void>(bulkhead::kill(one));
    change = mailbox.next<GroupChange>();
    EXPECT_EQ(change.left, (Pids{one, one}));
    ASSERT_TRUE(bulkhead::join_group("other", two).has_value());
    EXPECT_TRUE(nothing_more(mailbox)) << "of another group";

    EXPECT_TRUE(bulkhead::demonitor_group(*monitor));
    EXPECT_FALSE(bulkhead::demonitor_group(*monitor));
    EXPECT_FALSE(bulkhead::demonitor_group(GroupMonitor()));
    ASSERT_TRUE(bulkhead::leave_group("watched", two).has_value());
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

// Erlang: one message for each watch; a group that is empty can be watched, but is none.
TEST_P(Groups, watches_stack_up_and_begin_before_the_group) {
  const Pid one = spawn(1);
  run([&](Box& mailbox) {
    const auto first = bulkhead::monitor_group("later", mailbox.address()).value();
    const auto second = bulkhead::monitor_group("later", mailbox.address()).value();
    EXPECT_NE(first, second);
    for (const GroupMonitor& expected : {first, second}) {
      const auto change = mailbox.next<GroupChange>();
      EXPECT_EQ(change.monitor, expected);
      EXPECT_TRUE(change.joined.empty());
    }
    EXPECT_TRUE(bulkhead::which_groups()->empty());
    ASSERT_TRUE(bulkhead::join_group("later", one).has_value());
    EXPECT_EQ(mailbox.next<GroupChange>().monitor, first);
    EXPECT_EQ(mailbox.next<GroupChange>().monitor, second);
    EXPECT_TRUE(bulkhead::demonitor_group(first));
    ASSERT_TRUE(bulkhead::leave_group("later", one).has_value());
    EXPECT_EQ(mailbox.next<GroupChange>().monitor, second);
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

// A thread watches for an actor; and one that is a member and a watcher both is forgotten as both.
TEST_P(Groups, who_ends_watches_no_more) {
  struct Watcher {
    std::atomic<int>* told;
    explicit Watcher(std::atomic<int>* out) : told(out) {}
    void receive(const GroupChange& /*change*/) { ++*told; }
    void receive(Stop /*message*/) { this_actor::stop(); }
  };
  std::atomic<int> told{0};
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &told);
  const auto monitor = bulkhead::monitor_group(runtime, "watched", watcher);
  ASSERT_TRUE(monitor.has_value());
  join("watched", watcher.pid());
  const Pid one = spawn();
  join("watched", one);
  wait_for_idle();
  EXPECT_EQ(told, 3);
  watcher.send(Stop{});
  EXPECT_TRUE(await_members("watched", 1));
  EXPECT_FALSE(bulkhead::demonitor_group(*monitor));
  EXPECT_TRUE(bulkhead::leave_group(runtime, "watched", one).has_value());
  wait_for_idle();
  EXPECT_EQ(told, 3);
}

TEST_P(Groups, bad_input_is_refused) {
  const Pid one = spawn();
  EXPECT_THROW(static_cast<void>(bulkhead::join_group(runtime, "", one)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::leave_group(runtime, "", one)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::group_members(runtime, "")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::join_group(runtime, "a", Pid())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::leave_group(runtime, "a", Pids{one, Pid()})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::monitor_group(runtime, "a", {})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bulkhead::join_group("a", one)), std::logic_error)
      << "outside, without a runtime";
  EXPECT_TRUE(bulkhead::which_groups(runtime)->empty());
  // Somebody else has the name that the groups are found by.
  ASSERT_TRUE(runtime.register_name("bulkhead.groups", one).has_value());
  EXPECT_THROW(static_cast<void>(bulkhead::join_group(runtime, "a", one)), std::logic_error);
}

// The actor that keeps the groups ends with the last of them, and does not hold bulkhead::run up.
TEST_P(Groups, nothing_remains_of_those_that_are_over) {
  for (int i = 0; i < 50; ++i) {
    const auto ran = bulkhead::run(config(), [&] {
      const Pid self = this_actor::pid();
      EXPECT_TRUE(bulkhead::join_group("us", self).has_value());
      EXPECT_TRUE(bulkhead::whereis("bulkhead.groups"));
      const Pid other = bulkhead::spawn([] {
        EXPECT_TRUE(bulkhead::join_group("us", this_actor::pid()).has_value());
        this_actor::sleep_for(1ms);
      });
      EXPECT_NE(other, self);
      if (i % 2 == 0) {
        EXPECT_TRUE(bulkhead::leave_group("us", self).has_value());
      }
    });
    EXPECT_TRUE(ran.has_value());
  }
}

// Each of many is there at once after it has joined, though the keeper ends again and again.
TEST_P(Groups, joins_are_not_lost_while_the_keeper_comes_and_goes) {
  constexpr int kRounds = 300;
  std::atomic<int> lost{0};
  std::vector<bulkhead::JoinHandle<void>> all;
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(runtime.spawn_joinable_with(on_core(i), [&lost] {
      const Pid self = this_actor::pid();
      for (int round = 0; round < kRounds; ++round) {
        if (!bulkhead::join_group("brief", self)) ++lost;
        const auto members = bulkhead::group_members("brief").value_or(Pids{});
        if (std::count(members.begin(), members.end(), self) != 1) ++lost;
        if (!bulkhead::leave_group("brief", self)) ++lost;
      }
    }));
  }
  for (int round = 0; round < kRounds; ++round) {
    const Pid one = spawn();
    join("brief", one);
    const Pids now = members("brief");
    if (std::count(now.begin(), now.end(), one) != 1) ++lost;
    end(one);
  }
  for (auto& each : all) EXPECT_TRUE(each.join().has_value());
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(await_members("brief", 0));
  EXPECT_TRUE(support::eventually([&] { return !runtime.whereis("bulkhead.groups"); }));
}

TEST_P(Groups, a_runtime_that_does_not_run_has_none) {
  Runtime second(config());
  EXPECT_TRUE(bulkhead::group_members(second, "a")->empty());
  EXPECT_THROW(static_cast<void>(bulkhead::join_group(second, "a", spawn())), bulkhead::SpawnError);
  second.start();
  const Pid there = second.spawn<Member>().pid();
  ASSERT_TRUE(bulkhead::join_group(second, "a", there).has_value());
  EXPECT_TRUE(members("a").empty()) << "each runtime has its own";
  EXPECT_EQ(bulkhead::group_members(second, "a").value(), Pids{there});
  second.shutdown();
  EXPECT_TRUE(bulkhead::group_members(second, "a")->empty());
}

}  // namespace
