// C12, C13, C15: a storm of spawns, links, monitors, names, exits and kills at random, also among
// children of supervisors, and what must hold when it has calmed down: links are seen from both
// ends and lead to the living only; each monitor has told once, or has been ended, or watches one
// that lives; names are those of the living; supervisors know exactly their children that live, and
// those have their names; everybody has ended for a reason that exists; and nobody is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "stress/bond_world.hpp"
#include "support/on_cores.hpp"

namespace {

using bulkhead::Address;
using bulkhead::ChildInfo;
using bulkhead::Config;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Runtime;
using bulkhead::SupervisorRef;
using stress::bonds::kSimple;
using stress::bonds::kSupervisors;
using stress::bonds::Member;
using stress::bonds::Report;
using stress::bonds::World;
using support::Random;
using namespace std::chrono_literals;

class BondStorm : public support::OnCores {
 protected:
  BondStorm()
      : random(support::seed_of_test()), world(cores(), random.seed()), runtime(with_death()) {
    runtime.start();
  }

  Config with_death() {
    Config config = OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { world.has_died(death); };
    return config;
  }

  void begin_to_supervise() {
    auto started = bulkhead::start_supervisor(runtime, stress::bonds::tree(world));
    for (int tries = 0; !started && tries < 1000; ++tries) {  // at times a child does not start
      started = bulkhead::start_supervisor(runtime, stress::bonds::tree(world));
    }
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    root = *started;
    world.supervises = true;
  }

  SupervisorRef supervisor(const char* name) { return SupervisorRef(runtime.whereis(name)); }

  // Of all supervisors, by their pids; waits until none is starting one again.
  std::map<Pid, std::vector<ChildInfo>> children_when_calm() {
    std::map<Pid, std::vector<ChildInfo>> children;
    const bool calm = support::eventually([&] {
      children.clear();
      const auto supervisors = root.which_children();
      if (!supervisors) return false;
      for (const ChildInfo& each : *supervisors) {
        const auto list = SupervisorRef(each.pid).which_children();
        if (!list) return false;
        children.emplace(each.pid, *list);
        for (const ChildInfo& child : *list) {
          if (child.state == ChildInfo::State::kRestarting) return false;
        }
      }
      return true;
    });
    EXPECT_TRUE(calm) << "children are still being started again";
    return children;
  }

  static std::vector<Pid> pids_of(const std::map<Pid, std::vector<ChildInfo>>& children) {
    std::vector<Pid> pids;
    for (const auto& [supervisor, list] : children) {
      pids.push_back(supervisor);
      for (const ChildInfo& child : list) pids.push_back(child.pid);
    }
    return pids;
  }

  // What does not run any more, and should take part again.
  void revive_children() {
    for (const char* const name : kSupervisors) {
      const SupervisorRef parent = supervisor(name);
      if (name == kSimple) {
        for (int i = 0; i < 4; ++i) {
          static_cast<void>(parent.start_child(stress::bonds::another_child(world)));
        }
      }
      for (auto& spec : stress::bonds::children_of(world, name)) {
        static_cast<void>(parent.restart_child(spec.id));
        static_cast<void>(parent.start_child(std::move(spec)));
      }
      const auto children = parent.which_children();
      if (!children) continue;
      for (const ChildInfo& child : *children) {
        Address<Member>(child.pid).send(stress::bonds::Act{3});
      }
    }
  }

  void round() {
    world.over = false;
    if (root) revive_children();
    for (std::size_t i = 0; i < 40; ++i) {
      runtime
          .spawn_with<Member>(on_core(i), &world, random.seed(), stress::bonds::any_temper(random))
          .send(stress::bonds::Act{3});
    }
    const auto end = support::Clock::now() + 50ms;
    while (support::Clock::now() < end && world.alive != 0) {
      std::this_thread::sleep_for(1ms);
      const Pid other = world.any(random);
      if (random.one_in(2)) static_cast<void>(bulkhead::exit(other, Exit::custom("overboard")));
      if (random.one_in(10)) static_cast<void>(bulkhead::kill(other));
      if (root && random.one_in(30)) {
        static_cast<void>(bulkhead::kill(supervisor(kSupervisors[random.below(4)]).pid()));
      }
      const std::string name = World::any_name(random);
      if (random.one_in(3) && runtime.unregister_name(name)) ++world.unnamed;
      if (random.one_in(3) && runtime.register_name(name, other)) ++world.named;
    }
    world.over = true;
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }

  void kill_all() {
    for (const Pid pid : world.living()) static_cast<void>(bulkhead::kill(pid));
  }

  void expect_laws() {
    std::map<Pid, std::vector<ChildInfo>> children;
    // Who has been listed may have ended while others were, by an exit that was on its way.
    for (bool same = !root; !same;) {
      children = children_when_calm();
      ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
      same = pids_of(children) == pids_of(children_when_calm());
    }
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    const auto living = world.living();
    {
      const std::lock_guard guard(world.lock);
      world.reports.clear();
    }
    for (const Pid pid : living) Address<Member>(pid).send(stress::bonds::Tell{});
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    EXPECT_EQ(world.alive + world.children, living.size());
    const std::lock_guard guard(world.lock);
    EXPECT_EQ(world.reports.size(), living.size());
    EXPECT_EQ(world.wrong, 0u);
    EXPECT_TRUE(world.unknown_reasons.empty()) << *world.unknown_reasons.begin();
    const auto supervises = [&](Pid pid) { return children.contains(pid); };
    expect_bonds(living, supervises);
    expect_names(living, supervises);
    expect_supervision(children);
    EXPECT_EQ(runtime.stats().actors(), living.size() + (root ? 1 + children.size() : 0));
  }

  template <class Supervises>
  void expect_bonds(const std::unordered_set<Pid>& living, Supervises supervises) {
    std::set<std::pair<Pid, Pid>> links;
    for (const Report& report : world.reports) {
      for (const Pid other : report.links) {
        EXPECT_TRUE(living.contains(other) || supervises(other))
            << to_string(report.pid) << " is linked to one dead";
        if (!supervises(other)) links.emplace(report.pid, other);
      }
      for (const Pid other : report.watched) {
        EXPECT_TRUE(living.contains(other) || supervises(other))
            << to_string(report.pid) << " was not told";
      }
    }
    for (const auto& [one, other] : links) {
      EXPECT_TRUE(links.contains({other, one})) << to_string(one) << to_string(other);
    }
  }

  template <class Supervises>
  void expect_names(const std::unordered_set<Pid>& living, Supervises supervises) {
    std::unordered_set<Pid> holders;
    for (const std::string& name : runtime.registered()) {
      const Pid holder = runtime.whereis(name);
      EXPECT_TRUE(living.contains(holder) || supervises(holder)) << name << " is the name of none";
      EXPECT_TRUE(holders.insert(holder).second) << name << ": its holder has two names";
      EXPECT_EQ(runtime.name_of(holder), name);
    }
  }

  void expect_supervision(const std::map<Pid, std::vector<ChildInfo>>& children) {
    std::map<Pid, const Report*> told;
    for (const Report& report : world.reports) {
      if (report.supervisor) told.emplace(report.pid, &report);
    }
    EXPECT_EQ(children.size(), root ? kSupervisors.size() : 0);
    for (const auto& [supervisor, list] : children) {
      const std::string name = runtime.name_of(supervisor);
      std::size_t running = 0;
      for (const ChildInfo& child : list) {
        if (child.state != ChildInfo::State::kRunning) continue;
        ++running;
        const auto found = told.find(child.pid);
        ASSERT_NE(found, told.end()) << name << ", " << child.id << " does not live";
        EXPECT_EQ(found->second->supervisor, supervisor);
        EXPECT_EQ(std::ranges::count(found->second->links, supervisor), 1);
        if (name != kSimple) {
          EXPECT_EQ(runtime.whereis(stress::bonds::name_of_child(name, child.id)), child.pid);
        }
        told.erase(found);
      }
      const auto counts = SupervisorRef(supervisor).count_children();
      ASSERT_TRUE(counts.has_value()) << name;
      EXPECT_EQ(counts->specs, list.size()) << name;
      EXPECT_EQ(counts->active, running) << name;
      EXPECT_EQ(counts->workers, list.size()) << name;
      EXPECT_EQ(counts->supervisors, 0u) << name;
    }
    for (const auto& [pid, report] : told) ADD_FAILURE() << to_string(pid) << " is nobody's child";
  }

  void storm() {
    const auto end = support::Clock::now() + support::stress_time();
    while (support::Clock::now() < end && !HasFatalFailure() && !HasNonfatalFailure()) {
      round();
      expect_laws();
      // At times all go, by kill, along with those who are linked to them.
      if (!random.one_in(3)) continue;
      kill_all();
      ASSERT_TRUE(support::eventually([&] { return world.alive == 0; }));
      if (root) expect_laws();
    }
    EXPECT_GT(world.named, 0u);
    EXPECT_GT(world.unnamed, 0u);
  }

  // All go, and then nothing is left.
  void expect_end() {
    kill_all();
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    EXPECT_EQ(runtime.registered(), std::vector<std::string>());
    runtime.shutdown(0ms);
    EXPECT_EQ(world.alive, 0u);
    EXPECT_EQ(world.children, 0u);
    EXPECT_EQ(runtime.stats().actors_started, runtime.stats().actors_ended);
    EXPECT_TRUE(world.living().empty());
  }

  Random random;
  World world;
  Runtime runtime;
  SupervisorRef root;
};
ON_ONE_AND_SEVERAL_CORES(BondStorm);

// C12, C13
TEST_P(BondStorm, leaves_links_that_both_ends_know_and_tells_once) {
  storm();
  expect_end();
}

// C12, C13, C15
TEST_P(BondStorm, leaves_supervisors_that_know_their_children) {
  begin_to_supervise();
  storm();
  EXPECT_GT(world.found_by_name, 0u);
  EXPECT_GT(world.children_started, 100u);
  EXPECT_TRUE(root.stop());
  root = SupervisorRef();
  expect_laws();
  EXPECT_EQ(world.children, 0u);
  expect_end();
}

}  // namespace
