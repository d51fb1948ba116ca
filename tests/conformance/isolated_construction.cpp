// B7, B8: how isolated actors are made, and what becomes of those that cannot be.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/on_cores.hpp"

namespace {

using namespace bulkhead;
using support::kDeadline;

enum class Birth : int { kWell, kThrows, kTraps, kDeclines, kTooLarge };

std::atomic<int> started{0};
std::atomic<int> handled{0};

class Child {
 public:
  explicit Child(Birth how) {
    switch (how) {
      case Birth::kWell:
        break;
      case Birth::kThrows:
        throw std::runtime_error("not today");
      case Birth::kTraps: {
        volatile std::uintptr_t nowhere = 4;  // which the compiler must not see
        *reinterpret_cast<volatile int*>(nowhere) = 1;
        break;
      }
      case Birth::kDeclines:
        this_actor::stop();
        break;
      case Birth::kTooLarge:
        data_.resize(std::size_t{1} << 22);
        break;
    }
  }
  void started() { ++::started; }
  void receive(int /*message*/) { ++handled; }

 private:
  std::vector<char> data_;
};

struct Ends {
  using Answer = std::vector<std::string>;
};

// Its mailbox has room for one message, and that is taken.
class Parent {
 public:
  void receive(Birth how) {
    MonitorRef monitor;
    SpawnOptions options;
    options.monitor = &monitor;
    options.isolated = Isolation{.heap_limit = std::size_t{1} << 20};
    const auto child = spawn_with<Child>(options, how);
    child.send(1);
    if (how == Birth::kWell) stop(child);
    this_actor::address(this).send(0);
  }
  void receive(int /*message*/) {}
  void receive(const Down& down) { ends_.push_back(to_string(down.exit)); }
  std::vector<std::string> receive(Ends /*question*/) { return ends_; }

 private:
  std::vector<std::string> ends_;
};

class IsolatedConstruction : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(IsolatedConstruction);

TEST_P(IsolatedConstruction, is_the_childs_own) {
  SpawnOptions one;
  one.mailbox_bound = 1;
  const auto parent = runtime.spawn_with<Parent>(one);
  std::vector<std::string> expected;
  for (const auto& [how, end] :
       {std::pair(Birth::kWell, "normal"), std::pair(Birth::kThrows, "panic: not today"),
        std::pair(Birth::kTraps, "trapped: access"), std::pair(Birth::kDeclines, "normal"),
        std::pair(Birth::kTooLarge, "trapped: memory")}) {
    if (how == Birth::kTooLarge && !has_heaps()) continue;  // the process's memory has no limit
    started = handled = 0;
    parent.send(how);
    wait_for_idle();
    expected.emplace_back(end);
    const auto ends = parent.ask(Ends(), kDeadline);
    ASSERT_TRUE(ends.has_value());
    ASSERT_EQ(ends->size(), expected.size());
    EXPECT_EQ(ends->back().substr(0, expected.back().size()), expected.back());
    EXPECT_EQ(started, how == Birth::kWell ? 1 : 0);
    EXPECT_EQ(handled, how == Birth::kWell ? 1 : 0);
  }
  const Stats stats = runtime.stats();
  EXPECT_EQ(stats.actors_started, expected.size() + 1);
  EXPECT_EQ(stats.actors_ended, expected.size());
  EXPECT_EQ(heaps_live(), 0);
}

// Of others the constructor runs in the spawner, whose failure it is.
TEST_P(IsolatedConstruction, is_not_that_of_others) {
  EXPECT_THROW(runtime.spawn<Child>(Birth::kThrows), std::runtime_error);
  std::atomic<bool> caught{false};
  runtime.spawn([&caught] {
    try {
      spawn<Child>(Birth::kThrows);
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  wait_for_idle();
  EXPECT_TRUE(caught);
  runtime.spawn([] { spawn<Child>(Birth::kThrows); });
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 1);
  EXPECT_EQ(runtime.stats().actors(), 0);
}

}  // namespace
