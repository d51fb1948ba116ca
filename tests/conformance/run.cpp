// C1, C19: run starts a runtime, runs a function as its first actor, and leaves nothing behind.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

class Run : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(Run);

TEST_P(Run, returns_what_the_first_actor_returned) {
  EXPECT_EQ(bulkhead::run(config(), [] { return 5; }), 5);
  EXPECT_TRUE(bulkhead::run(config(), [] { this_actor::yield(); }).has_value());
  EXPECT_EQ(bulkhead::run([] { return this_actor::core() < 1000; }), true);
}

TEST_P(Run, tells_how_the_first_actor_failed) {
  const auto outcome = bulkhead::run(config(), [] { throw std::runtime_error("no luck"); });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().message(), "no luck");
}

TEST_P(Run, waits_until_no_actor_lives) {
  std::atomic<int> ended{0};
  const auto outcome = bulkhead::run(config(), [&ended] {
    for (std::size_t i = 0; i < 20; ++i) {
      bulkhead::spawn_with(on_core(i), [&ended, i] {
        this_actor::sleep_for(std::chrono::microseconds(i * 200));
        bulkhead::spawn([&ended] {
          this_actor::yield();
          ++ended;
        });
        ++ended;
      });
    }
  });
  EXPECT_TRUE(outcome.has_value());
  EXPECT_EQ(ended, 40);
}

TEST_P(Run, refuses_settings_that_make_no_sense) {
  bulkhead::Config bad = config();
  bad.cores = 0;
  EXPECT_THROW(static_cast<void>(bulkhead::run(bad, [] {})), bulkhead::ConfigError);
  bad = config();
  bad.stack_size = 1;
  EXPECT_THROW(static_cast<void>(bulkhead::run(bad, [] {})), bulkhead::ConfigError);
}

TEST_P(Run, a_thousand_times_leaves_nothing) {
  const auto once = [] {
    const auto outcome = bulkhead::run(config(), [] {
      auto other = bulkhead::spawn_joinable_with(on_core(1), [] {
        this_actor::sleep_for(10us);
        return 1;
      });
      return other.join().value();
    });
    EXPECT_EQ(outcome, 1);
  };
  // A sanitizer keeps memory for threads that have ended, more and more at first.
  for (int i = 0; i < 10 * support::kTimeFactor; ++i) once();
  const std::size_t threads = support::threads();
  const std::size_t descriptors = support::open_descriptors();
  const std::size_t mappings = support::mappings();
  for (int i = 0; i < 1000 / support::kTimeFactor; ++i) once();
  EXPECT_EQ(support::threads(), threads);
  EXPECT_EQ(support::open_descriptors(), descriptors);
  const std::size_t kept = support::kTimeFactor > 1 ? 20 : 4;  // of 50 runs; of 1000
  EXPECT_LE(support::mappings(), mappings + kept);  // stacks of ended threads that are kept
}

}  // namespace
