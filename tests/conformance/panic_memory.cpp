// A20: actors that fail leave nothing behind.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <stdexcept>
#include <string>

#include "support/live.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using support::Live;

class PanicMemory : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(PanicMemory);

struct Cargo {
  Live live;
  std::string text;
};

class Victim {
 public:
  void receive(Cargo /*message*/) { throw std::runtime_error(std::string(200, 'x')); }

 private:
  std::string state_ = std::string(500, 's');
  Live live_{1};
};

// A20
TEST_P(PanicMemory, is_flat_over_fifty_thousand_panics) {
  constexpr int kActors = 50'000;
  const auto fail = [this](int count) {
    runtime.spawn_with(on_core(1), [count] {
      for (int i = 0; i < count; ++i) {
        const auto victim = bulkhead::spawn<Victim>();
        for (int k = 0; k < 3; ++k) victim.send(Cargo{Live(k), std::string(100, 'c')});
        if (i % 100 == 0) this_actor::yield();
      }
    });
    wait_for_idle();
  };
  fail(kActors / 10);
  const std::size_t before = support::resident_bytes();
  fail(kActors);
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(runtime.stats().actors_failed, kActors + kActors / 10u);
  EXPECT_EQ(runtime.stats().actors(), 0u);
  // A hundredth of what they would have left had each kept but its state.
  EXPECT_LT(support::resident_bytes(),
            before + std::size_t{kActors} * 500 * support::kMemoryFactor);
}

// A20
TEST_P(PanicMemory, is_flat_over_panics_of_blocked_actors) {
  constexpr int kActors = 10'000;
  const auto fail = [this](int count) {
    runtime.spawn_with(on_core(1), [count] {
      for (int i = 0; i < count; ++i) {
        bulkhead::spawn([] {
          const Live mine(1);
          this_actor::yield();
          bulkhead::panic("after a wait");
        });
        if (i % 100 == 0) this_actor::yield();
      }
    });
    wait_for_idle();
  };
  fail(kActors / 10);
  const std::size_t before = support::resident_bytes();
  const std::size_t mappings = support::mappings();
  fail(kActors);
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_LT(support::resident_bytes(),
            before + std::size_t{kActors} * 1000 * support::kMemoryFactor);
  EXPECT_LE(support::mappings(), mappings + 100 * support::kMemoryFactor);
}

}  // namespace
