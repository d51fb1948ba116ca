// C12: records of links and monitors are used again, whatever became of them; and a link is found
// among very many.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "core/bond.hpp"
#include "support/on_cores.hpp"

namespace bulkhead::core {

namespace {

using namespace std::chrono_literals;
using Box = Mailbox<Down, Exited>;

std::uint32_t records() { return RecordSlab<Bond>::process().made(); }

struct Other {
  void receive(int /*message*/) { this_actor::stop(); }
};

constexpr std::uint32_t kMany = 300;

class BondRecords : public support::Running {
 protected:
  /// Runs `body` in an actor, again and again: the number of records must not go on growing.
  template <class Body>
  void expect_flat(Body body) {
    // What cores keep, and what may be on its way at a time.
    constexpr std::uint32_t kAmongCores = 3 * RecordSlab<Bond>::kBatch + kMany;
    std::uint32_t after_first = 0;
    for (int round = 0; round < 20; ++round) {
      runtime.spawn_with<Box>(on_core(0), body);
      ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
      if (round == 0) after_first = records();
    }
    EXPECT_LE(records(), after_first + kAmongCores * cores());
  }
};
ON_ONE_AND_SEVERAL_CORES(BondRecords);

TEST_P(BondRecords, of_monitors_that_are_ended) {
  expect_flat([](Box& /*mailbox*/) {
    const auto other = spawn_with<Other>(on_core(1));
    for (std::uint32_t i = 0; i < kMany; ++i)
      EXPECT_TRUE(this_actor::demonitor(this_actor::monitor(other)));
    other.send(1);
  });
}

TEST_P(BondRecords, of_monitors_that_tell) {
  expect_flat([](Box& mailbox) {
    const auto other = spawn_with<Other>(on_core(1));
    for (std::uint32_t i = 0; i < kMany; ++i) this_actor::monitor(other);
    other.send(1);
    for (std::uint32_t i = 0; i < kMany; ++i) mailbox.next<Down>();
  });
}

TEST_P(BondRecords, of_monitors_whose_maker_ends) {
  expect_flat([](Box& /*mailbox*/) {
    const auto other = spawn_with<Other>(on_core(1));
    for (std::uint32_t i = 0; i < kMany; ++i) this_actor::monitor(other);
    other.send(1);
  });
}

TEST_P(BondRecords, of_monitors_of_the_dead) {
  expect_flat([](Box& mailbox) {
    const auto other = spawn_with<Other>(on_core(1));
    other.send(1);
    for (std::uint32_t i = 0; i < kMany; ++i) this_actor::monitor(other);
    for (std::uint32_t i = 0; i < kMany; ++i) mailbox.next<Down>();
  });
}

TEST_P(BondRecords, of_links_that_are_undone_and_of_those_that_take_along) {
  expect_flat([](Box& /*mailbox*/) {
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const auto other = spawn_with<Other>(on_core(1));
      this_actor::link(other);
      if (i % 2 == 0) this_actor::unlink(other);
      if (i % 4 == 0) other.send(1);
      if (i % 4 == 2) static_cast<void>(kill(other));
    }
    this_actor::stop(Exit::custom("all together"));
    this_actor::sleep_for(0ms);
  });
}

// More than the list is searched for: links are found by the index, and those that come and go
// while there is one as well.
TEST_P(BondRecords, of_links_are_found_among_many) {
  std::atomic<std::size_t> left{0};
  runtime.spawn_with<Box>(on_core(0), [&](Box& /*mailbox*/) {
    this_actor::trap_exits(true);
    std::vector<Pid> others;
    for (std::uint32_t i = 0; i < kMany; ++i) {
      others.push_back(spawn_with<Other>(on_core(i)).pid());
      this_actor::link(others.back());
    }
    for (const Pid other : others) this_actor::link(other);  // is no second one
    EXPECT_EQ(this_actor::links().size(), others.size());
    others.push_back(
        spawn_with<Other>({.core = on_core(1).core, .linked = true}).pid());  // joins the index
    for (const Pid other : others) {
      this_actor::unlink(other);
      this_actor::unlink(other);
      ++left;
      EXPECT_EQ(this_actor::links().size(), others.size() - left);
      static_cast<void>(kill(other));
    }
  });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(left, kMany + 1);
}

}  // namespace

}  // namespace bulkhead::core
