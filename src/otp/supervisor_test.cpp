// C15: what a supervisor of very many children does for each of them, counted.
#include "bulkhead/otp/supervisor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "bulkhead/otp/sys.hpp"
#include "bulkhead/runtime.hpp"
#include "bulkhead/this_actor.hpp"
#include "otp/supervisor_actor.hpp"
#include "support/wait.hpp"

namespace bulkhead {
namespace {

constexpr int kChildren = 500;

SupervisorSpec of_many(Strategy strategy) {
  SupervisorSpec spec{.strategy = strategy, .intensity = std::numeric_limits<unsigned>::max()};
  for (int i = 0; i < kChildren; ++i) {
    spec.children.push_back(
        child_thread(std::to_string(i), [] { this_actor::sleep_for(kForever); }));
  }
  return spec;
}

std::uint64_t looks_of(SupervisorRef supervisor) {
  return Address<otp::Supervisor>(supervisor.pid()).ask(otp::GetLooks{}, kForever).value();
}

// Ends some of the children, or all, while the supervisor handles nothing; lets it go on, and
// waits until all of those have been started again. Returns how often it has looked at a message.
template <class Ends>
std::uint64_t looks_for(Strategy strategy, Ends ends) {
  Runtime runtime(Config{.cores = 1, .log = {.format = LogFormat::kOff}});
  runtime.start();
  const auto supervisor = start_supervisor(runtime, of_many(strategy)).value();
  const auto before = supervisor.which_children().value();
  EXPECT_TRUE(sys::suspend(supervisor).has_value());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (ends(i)) static_cast<void>(exit(before[i].pid, Exit::custom("out")));
  }
  EXPECT_TRUE(support::eventually([&] {
    std::size_t left = 0;
    for (const Pid pid : runtime.actors()) left += pid != supervisor.pid() ? 1 : 0;
    std::size_t expected = 0;
    for (std::size_t i = 0; i < before.size(); ++i) expected += ends(i) ? 0 : 1;
    return left == expected;
  }));
  EXPECT_TRUE(sys::resume(supervisor).has_value());
  EXPECT_TRUE(support::eventually([&] {
    const auto now = supervisor.which_children().value();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].state != ChildInfo::State::kRunning || (ends(i) && now[i].pid == before[i].pid))
        return false;
    }
    return true;
  }));
  const std::uint64_t looks = looks_of(supervisor);
  supervisor.stop();
  return looks;
}

// What was wrong: it looked through all that waited, for each child: for 32,000 that took 14 s.
TEST(SupervisorOfMany, looks_at_a_few_messages_for_each_child_when_all_end_at_once) {
  const auto all = [](std::size_t) { return true; };
  EXPECT_LE(looks_for(Strategy::kOneForAll, all), 4u * kChildren);
  EXPECT_LE(looks_for(Strategy::kRestForOne, all), 4u * kChildren);
}

TEST(SupervisorOfMany, looks_at_a_few_messages_for_each_child_when_one_ends) {
  EXPECT_LE(looks_for(Strategy::kOneForAll, [](std::size_t i) { return i == 7; }), 4u * kChildren);
  EXPECT_LE(looks_for(Strategy::kRestForOne, [](std::size_t i) { return i == 0; }), 4u * kChildren);
}

}  // namespace
}  // namespace bulkhead
