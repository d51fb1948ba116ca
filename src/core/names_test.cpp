// C13: what the registry keeps of actors that have ended does not grow.
#include "core/names.hpp"

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <malloc.h>

#include <string>
#include <vector>

#include "core/domain.hpp"
#include "core/inside.hpp"
#include "memory/ticks.hpp"
#include "support/wait.hpp"

namespace bulkhead {
namespace {

struct Idle {
  void receive(int /*message*/) {}
};

// The names of the runtime that runs the calling actor.
core::Names& names_here() {
  const core::BrieflyInside inside;
  return *inside.core()->domain.load()->names();
}

template <class F>
void in_actor(F body) {
  Config config;
  config.cores = 1;
  config.on_death = [](const Death&) {};
  Runtime runtime(config);
  runtime.start();
  support::Event over;
  runtime.spawn([&] {
    body();
    over.set();
  });
  ASSERT_TRUE(over.wait());
}

// Sanitizers are slow. (And have an allocator of their own in place of the one that is asked here.)
std::size_t many(std::size_t count) { return memory::kAllocationsTick ? count : count / 50; }

// Names a short-lived actor, and looks it up, so that the core has a copy.
void one_more(std::size_t number) {
  const std::string name = "short-lived actor, number " + std::to_string(number);
  const auto actor = spawn<Idle>();
  ASSERT_TRUE(register_name(name, actor).has_value());
  ASSERT_EQ(whereis(name), actor.pid());
  ASSERT_EQ(kill(actor), Delivery::kQueued);
  while (whereis(name)) this_actor::yield();
}

// C13: "memory stays flat": a million different names, one after the other.
TEST(Names, of_short_lived_actors_leave_nothing) {
  in_actor([] {
    constexpr std::size_t kBefore = 5'000;
    std::size_t number = 0;
    while (number < kBefore) one_more(number++);
    const std::size_t records = names_here().records();
    const std::size_t bytes = ::mallinfo2().uordblks;
    while (number < many(1'000'000)) one_more(number++);
    EXPECT_LE(records, 64 * 2 * 4u);  // a few in each shard
    EXPECT_LE(names_here().records(), 64 * 2 * 4u);
    EXPECT_LE(::mallinfo2().uordblks, bytes + 256 * 1024);
    EXPECT_TRUE(registered().empty());
  });
}

// The same beside many that live.
TEST(Names, of_the_dead_are_no_more_than_of_the_living) {
  in_actor([] {
    const std::size_t living_ones = many(10'000);
    std::vector<Pid> living;
    for (std::size_t i = 0; i < living_ones; ++i) {
      living.push_back(spawn<Idle>().pid());
      ASSERT_TRUE(register_name("lives " + std::to_string(i), living.back()).has_value());
    }
    for (std::size_t i = 0; i < many(100'000); ++i) one_more(i);
    EXPECT_LE(names_here().records(), 2 * 4 * living_ones);
    EXPECT_EQ(registered().size(), living_ones);
    for (std::size_t i = 0; i < living_ones; ++i) {
      ASSERT_EQ(name_of(living[i]), "lives " + std::to_string(i));
    }
  });
}

}  // namespace
}  // namespace bulkhead
