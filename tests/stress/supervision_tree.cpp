// C15: a tree of supervisors of all strategies, in three levels, with ten thousand leaves that
// panic, are killed, are sent exits, and end in order; its supervisors are killed, too. When it has
// calmed down exactly those live that should: the permanent leaves; the transient ones that have
// not ended in order; the temporary ones that have not ended since their supervisor began.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "stress/tree.hpp"
#include "support/on_cores.hpp"

namespace {

using bulkhead::Address;
using bulkhead::ChildInfo;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Runtime;
using bulkhead::SupervisorRef;
using stress::tree::kBranches;
using stress::tree::kLeaves;
using stress::tree::kTwigs;
using stress::tree::Leaf;
using stress::tree::Patience;
using stress::tree::pid_of;
using stress::tree::Record;
using stress::tree::Tree;
using stress::tree::Twig;
using support::Random;
using namespace std::chrono_literals;

constexpr Patience kUntiring{1'000'000'000, 1'000'000'000, 1ms};

class SupervisionTree : public support::OnCores {
 protected:
  SupervisionTree()
      : random(support::seed_of_test()), tree(cores(), random.seed()), runtime(with_death()) {
    runtime.start();
  }
  ~SupervisionTree() override { runtime.shutdown(0ms); }

  bulkhead::Config with_death() {
    bulkhead::Config config = OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { tree.has_died(death); };
    return config;
  }

  void start(Patience patience) {
    const auto started = bulkhead::start_supervisor(runtime, tree.spec(patience));
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    root = *started;
    expect_laws();
    EXPECT_EQ(tree.alive, kBranches * kTwigs * kLeaves);
  }

  // Half of it meets the same few, so that those who have little patience lose it.
  Twig& any_twig(Random& from) { return tree.twig(from.below(from.one_in(2) ? 3 : 100)); }

  void end_somebody(Random& from) {
    Twig& twig = any_twig(from);
    const Pid leaf = pid_of(twig.leaves[from.below(kLeaves)]);
    if (from.one_in(200)) static_cast<void>(bulkhead::kill(pid_of(twig.pid)));
    if (from.one_in(2000)) {
      static_cast<void>(bulkhead::kill(pid_of(tree.branches[from.below(kBranches)].pid)));
    }
    switch (from.below(7)) {
      case 0:
        Address<Leaf>(leaf).send(stress::tree::End{});
        break;
      case 1:
        Address<Leaf>(leaf).send(stress::tree::EndInOrder{});
        break;
      case 2:
        static_cast<void>(bulkhead::exit(leaf, Exit::custom("overboard")));
        break;
      case 3:
        static_cast<void>(bulkhead::exit(leaf, Exit::shutdown("done")));
        break;
      case 4:
      case 5:
        static_cast<void>(bulkhead::kill(leaf));
        break;
      default:
        Address<Leaf>(leaf).send(stress::tree::Fail{});
        break;
    }
  }

  void storm(support::Clock::time_point end) {
    tree.stormy = true;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([this, end, seed = random.seed()] {
        Random own(seed);
        while (support::Clock::now() < end) {
          for (int times = 0; times < 3; ++times) end_somebody(own);
          std::this_thread::sleep_for(500us);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    tree.stormy = false;
  }

  void storms() {
    const auto end = support::Clock::now() + support::stress_time();
    while (support::Clock::now() < end && !HasFailure()) {
      storm(std::min(end, support::Clock::now() + 700ms));
      expect_laws();
    }
  }

  std::vector<ChildInfo> children_of(Pid supervisor, std::size_t most) {
    const auto list = SupervisorRef(supervisor).which_children();
    const auto counts = SupervisorRef(supervisor).count_children();
    EXPECT_TRUE(list && counts) << to_string(supervisor);
    if (!list || !counts) return {};
    std::size_t running = 0;
    for (const ChildInfo& child : *list) running += child.pid ? 1 : 0;
    EXPECT_LE(list->size(), most);
    EXPECT_EQ(counts->specs, list->size());
    EXPECT_EQ(counts->active, running);
    EXPECT_EQ(counts->workers + counts->supervisors, list->size());
    return *list;
  }

  // Supervisors are permanent: all run.
  std::vector<Pid> supervisors_of(Pid supervisor, std::size_t many) {
    std::vector<Pid> pids;
    for (const ChildInfo& child : children_of(supervisor, many)) {
      EXPECT_EQ(child.state, ChildInfo::State::kRunning) << child.id;
      pids.push_back(child.pid);
    }
    EXPECT_EQ(pids.size(), many);
    return pids;
  }

  // As those know it that have lived. Returns how many leaves run.
  std::size_t expect_leaves(Twig& twig, Pid supervisor) {
    EXPECT_EQ(pid_of(twig.pid), supervisor);
    std::array<const ChildInfo*, kLeaves> listed{};
    const auto list = children_of(supervisor, kLeaves);
    for (const ChildInfo& child : list) listed[std::stoul(child.id)] = &child;
    const auto& records = twig.only_records(supervisor);
    std::size_t running = 0;
    for (std::size_t i = 0; i < kLeaves; ++i) {
      const Record& record = records[i];
      const bool lives = record.life == Record::Life::kAlive;
      const bool runs = listed[i] != nullptr && listed[i]->state == ChildInfo::State::kRunning;
      running += runs ? 1 : 0;
      EXPECT_GE(record.starts, 1u) << i << " was never started";
      EXPECT_EQ(lives, runs) << i;
      EXPECT_TRUE(!runs || listed[i]->pid == pid_of(record.pid)) << i;
      switch (stress::tree::restart_of(i)) {
        case Restart::kPermanent:
          EXPECT_TRUE(lives) << i << " is permanent";
          break;
        case Restart::kTransient:
          EXPECT_TRUE(lives || record.life == Record::Life::kEndedInOrder) << i;
          EXPECT_NE(listed[i], nullptr) << i << " has been forgotten";
          break;
        case Restart::kTemporary:
          EXPECT_EQ(record.starts, 1u) << i << " is temporary";
          EXPECT_EQ(lives, listed[i] != nullptr) << i << " is temporary";
          break;
      }
    }
    return running;
  }

  void expect_laws() {
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    std::size_t running = 0;
    const auto branches = supervisors_of(root.pid(), kBranches);
    for (std::size_t b = 0; b < branches.size(); ++b) {
      EXPECT_EQ(branches[b], pid_of(tree.branches[b].pid));
      const auto twigs = supervisors_of(branches[b], kTwigs);
      for (std::size_t t = 0; t < twigs.size(); ++t) {
        running += expect_leaves(tree.branches[b].twigs[t], twigs[t]);
      }
    }
    EXPECT_EQ(tree.alive, running);
    EXPECT_EQ(runtime.stats().actors(), 1 + kBranches + kBranches * kTwigs + running);
  }

  // Not only do they say that they live.
  void expect_answers() {
    for (std::size_t number = 0; number < kBranches * kTwigs; ++number) {
      const auto list = SupervisorRef(pid_of(tree.twig(number).pid)).which_children();
      ASSERT_TRUE(list.has_value());
      for (const ChildInfo& child : *list) {
        if (!child.pid) continue;
        const auto who = Address<Leaf>(child.pid).ask(stress::tree::Who{});
        ASSERT_TRUE(who.has_value()) << child.id;
        EXPECT_EQ(*who, std::stoul(child.id));
      }
    }
  }

  void expect_end() {
    EXPECT_TRUE(root.stop());
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    EXPECT_EQ(tree.alive, 0u);
    runtime.shutdown();
    EXPECT_EQ(runtime.stats().actors_started, runtime.stats().actors_ended);
  }

  // Kills a permanent leaf, until its supervisor has been asked to restart it too often.
  void tire(Twig& twig, unsigned patience) {
    const Pid old = pid_of(twig.pid);
    unsigned kills = 0;
    while (!tree.has_given_up(old) && kills <= patience && !HasFailure()) {
      const Pid leaf = pid_of(twig.leaves[0]);
      EXPECT_EQ(bulkhead::kill(leaf), bulkhead::Delivery::kQueued);
      ++kills;
      EXPECT_TRUE(support::eventually([&] { return pid_of(twig.leaves[0]) != leaf; }));
      ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    }
    EXPECT_EQ(kills, patience + 1);
    EXPECT_TRUE(tree.has_given_up(old));
    EXPECT_NE(pid_of(twig.pid), old);
  }

  Random random;
  Tree tree;
  Runtime runtime;
  SupervisorRef root;
};
ON_ONE_AND_SEVERAL_CORES(SupervisionTree);

TEST_P(SupervisionTree, ends_with_exactly_those_that_should_live) {
  start(kUntiring);
  storms();
  EXPECT_EQ(tree.given_up(), 0u);
  EXPECT_GT(runtime.stats().actors_ended, 1000u);
  expect_answers();
  expect_end();
}

// C15: failures climb the tree, and what they have torn down is built again.
TEST_P(SupervisionTree, ends_so_when_supervisors_give_up_at_random) {
  start({.of_branches = 5, .of_twigs = 10, .period = 1s});
  storms();
  EXPECT_GT(tree.given_up(), 0u);
  expect_answers();
  expect_end();
}

// C15: each restart is counted at its level, and one too many is one more at the level above.
TEST_P(SupervisionTree, passes_what_is_too_much_to_the_level_above) {
  constexpr Patience kPatience{.of_branches = 3, .of_twigs = 4, .period = 1h};
  start(kPatience);
  const auto end = support::Clock::now() + support::stress_time();
  do {
    auto& branch = tree.branches[random.below(kBranches)];
    const Pid old = pid_of(branch.pid);
    for (unsigned tired = 1; tired <= kPatience.of_branches + 1 && !HasFailure(); ++tired) {
      EXPECT_FALSE(tree.has_given_up(old)) << tired;
      tire(branch.twigs[random.below(kTwigs)], kPatience.of_twigs);
    }
    EXPECT_TRUE(tree.has_given_up(old));
    EXPECT_NE(pid_of(branch.pid), old);
    expect_laws();
    EXPECT_FALSE(tree.has_given_up(root.pid()));
  } while (support::Clock::now() < end && !HasFailure());
  expect_answers();
  expect_end();
}

}  // namespace
