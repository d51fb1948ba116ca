// C16: the clock of the trace.
#include "machine/cycles.hpp"

#include <gtest/gtest.h>

namespace bulkhead::machine {
namespace {

TEST(Cycles, tell_the_time_between_two_moments) {
  const Moment from = Moment::now();
  const std::uint64_t some = cycles();
  const Nanoseconds earliest = now();
  const Nanoseconds until = earliest + 20 * kMillisecond;
  while (now() < until) {
  }
  const std::uint64_t others = cycles();
  const Nanoseconds latest = now();
  const Moment to = Moment::now();
  EXPECT_LE(some, others);
  const Nanoseconds slack = kMillisecond;
  EXPECT_NEAR(static_cast<double>(time_of(some, from, to)), static_cast<double>(earliest), slack);
  EXPECT_NEAR(static_cast<double>(time_of(others, from, to)), static_cast<double>(latest), slack);
}

TEST(Cycles, are_converted_along_a_line_that_goes_on_beyond_both_moments) {
  const Moment from{1000, 5000};
  const Moment to{2000, 5500};
  EXPECT_EQ(time_of(1000, from, to), 5000);
  EXPECT_EQ(time_of(1500, from, to), 5250);
  EXPECT_EQ(time_of(2000, from, to), 5500);
  EXPECT_EQ(time_of(800, from, to), 4900);
  EXPECT_EQ(time_of(2200, from, to), 5600);
  EXPECT_EQ(time_of(1234, from, from), 5000);  // no rate is known
}

}  // namespace
}  // namespace bulkhead::machine
