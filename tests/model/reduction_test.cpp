// The explorer leaves out executions that it holds to be equal to others (rules S1 to S4 of
// engine.hpp). Here random programs must come to the same outcomes with and without that.
#include <gtest/gtest.h>

#include "program.hpp"

namespace bulkhead::model {
namespace {

struct Case {
  Shape shape;
  unsigned bound;
  bool weak;
  unsigned programs;
  unsigned stale_bound = kUnbounded;
};

void expect_same_outcomes(const Case& c) {
  std::uint64_t reduced = 0;
  std::uint64_t all = 0;
  for (unsigned seed = 0; seed < programs_to_try(c.programs); ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, c.shape);
    Result with;
    Result without;
    Options options{.preemption_bound = c.bound, .weak = c.weak, .stale_bound = c.stale_bound};
    const auto outcomes = outcomes_of(program, options, with);
    options.reduce = false;
    const auto expected = outcomes_of(program, options, without);
    ASSERT_TRUE(without.ok()) << "seed " << seed << '\n' << program.text() << without.report();
    ASSERT_TRUE(with.ok()) << "seed " << seed << '\n' << program.text() << with.report();
    ASSERT_EQ(outcomes, expected) << "seed " << seed << '\n' << program.text();
    ASSERT_LE(with.executions, without.executions) << "seed " << seed << '\n' << program.text();
    reduced += with.executions;
    all += without.executions;
  }
  ::testing::Test::RecordProperty("executions",
                                  std::to_string(reduced) + " of " + std::to_string(all));
}

constexpr Shape kPair{.threads = 2, .instructions = 7};
constexpr Shape kTrio{.threads = 3, .instructions = 6};
constexpr Shape kSleepingPair{.threads = 2, .instructions = 7, .sleeps = true};
constexpr Shape kSleepingTrio{.threads = 3, .instructions = 6, .sleeps = true};

TEST(Reduction, loses_no_outcome_of_sequential_programs) {
  expect_same_outcomes({kPair, kUnbounded, false, 300});
  expect_same_outcomes({kTrio, kUnbounded, false, 300});
}

TEST(Reduction, loses_no_outcome_of_weak_programs) {
  expect_same_outcomes({kPair, kUnbounded, true, 300});
  expect_same_outcomes({kTrio, kUnbounded, true, 200});
}

TEST(Reduction, loses_no_outcome_within_a_bound) {
  for (unsigned bound = 0; bound <= 2; ++bound) {
    expect_same_outcomes({kPair, bound, false, 300});
    expect_same_outcomes({kPair, bound, true, 300});
    expect_same_outcomes({kTrio, bound, false, 200});
    expect_same_outcomes({kTrio, bound, true, 200});
  }
}

TEST(Reduction, loses_no_outcome_within_a_bound_of_stale_loads) {
  for (const unsigned bound : {0u, 1u, 2u, kUnbounded}) {
    for (const unsigned stale : {0u, 1u, 2u}) {
      expect_same_outcomes({kPair, bound, true, 200, stale});
      expect_same_outcomes({kTrio, bound, true, 100, stale});
      expect_same_outcomes({kSleepingTrio, bound, true, 50, stale});
    }
  }
}

TEST(Reduction, loses_no_outcome_of_programs_that_sleep_and_spin) {
  for (const unsigned bound : {0u, 1u, 2u, kUnbounded}) {
    expect_same_outcomes({kSleepingPair, bound, false, 200});
    expect_same_outcomes({kSleepingPair, bound, true, 200});
    expect_same_outcomes({kSleepingTrio, bound, false, 200});
    expect_same_outcomes({kSleepingTrio, bound, true, 100});
  }
}

}  // namespace
}  // namespace bulkhead::model
