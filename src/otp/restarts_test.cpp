// C15: when children are started again, and when a supervisor gives up, in times of the test's own.
#include "otp/restarts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

using bulkhead::Backoff;
using bulkhead::otp::Clock;
using bulkhead::otp::Delay;
using bulkhead::otp::Intensity;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// backoff: the least first, twice as long each time, the most at most.
TEST(Restarts, backoff_grows_from_the_least_to_the_most) {
  const Backoff backoff{.least = 10ms, .most = 75ms, .jitter = 0};
  std::minstd_rand random(1);
  Delay delay;
  for (const auto wanted : {10ms, 20ms, 40ms, 75ms, 75ms, 75ms}) {
    EXPECT_EQ(delay.next(backoff, Clock::time_point(), random), wanted);
  }
  Delay none;
  EXPECT_EQ(none.next(std::nullopt, Clock::time_point(), random), 0ns);
  Delay equal;
  const Backoff even{.least = 5ms, .most = 5ms, .jitter = 0};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(equal.next(even, Clock::time_point(), random), 5ms);
}

// The random part: at least none, at most `jitter` of it, and all in between.
TEST(Restarts, backoff_is_longer_by_a_random_part) {
  const Backoff backoff{.least = 100ms, .most = 100ms, .jitter = 0.5};
  std::minstd_rand random(7);
  Delay delay;
  std::set<nanoseconds> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto next = delay.next(backoff, Clock::time_point(), random);
    EXPECT_GE(next, 100ms);
    EXPECT_LE(next, 150ms);
    seen.insert(next);
  }
  EXPECT_GT(seen.size(), 900u);
  EXPECT_LT(*seen.begin(), 105ms);
  EXPECT_GT(*seen.rbegin(), 145ms);
}

// It begins anew when the child has lived for so long, and only then.
TEST(Restarts, backoff_is_reset) {
  const Backoff backoff{.least = 1s, .most = 1h, .jitter = 0, .reset_after = 10s};
  std::minstd_rand random(1);
  Delay delay;
  Clock::time_point now{};
  const auto lives = [&](Clock::duration time) {
    delay.begin(now);
    now += time;
    return delay.next(backoff, now, random);
  };
  EXPECT_EQ(lives(1s), 1s);
  EXPECT_EQ(lives(10s - 1ns), 2s);
  EXPECT_EQ(lives(9s), 4s);
  EXPECT_EQ(lives(10s), 1s);
  // A start that fails is no life, however long it takes.
  now += 1h;
  EXPECT_EQ(delay.next(backoff, now, random), 2s);
  EXPECT_EQ(lives(0s), 4s);
}

// The longest that is allowed: nothing overflows.
TEST(Restarts, backoff_of_a_century) {
  const nanoseconds century = std::chrono::hours(24 * 365 * 100);
  const Backoff backoff{.least = 1ns, .most = century, .jitter = 1};
  std::minstd_rand random(1);
  Delay delay;
  nanoseconds last{};
  for (int i = 0; i < 200; ++i) {
    last = delay.next(backoff, Clock::time_point(), random);
    EXPECT_GT(last, 0ns);
    EXPECT_LE(last, 2 * century);
  }
  EXPECT_GE(last, century);
}

// multiple_restarts: only those within the period count.
TEST(Restarts, intensity_counts_those_within_the_period) {
  Intensity intensity(2, 10s);
  Clock::time_point now{};
  EXPECT_TRUE(intensity.allows(now));
  EXPECT_TRUE(intensity.allows(now + 1s));
  EXPECT_TRUE(intensity.allows(now + 10s + 1ns)) << "the first is too long ago";
  EXPECT_FALSE(intensity.allows(now + 11s)) << "the second is not: a period ago is within it";
  Intensity none(0, nanoseconds::max());
  EXPECT_FALSE(none.allows(now));
  Intensity slow(1, 10s);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(slow.allows(now += 10s + 1ns));
}

}  // namespace
