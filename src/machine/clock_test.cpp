#include "machine/clock.hpp"

#include <gtest/gtest.h>

namespace bulkhead::machine {
namespace {

TEST(Clock, only_goes_forward) {
  Nanoseconds last = now();
  EXPECT_GT(last, 0);
  for (int i = 0; i < 10'000; ++i) {
    const Nanoseconds time = now();
    ASSERT_GE(time, last);
    last = time;
  }
}

TEST(Clock, a_time_that_cannot_be_represented_is_never) {
  EXPECT_EQ(later(100, 50), 150);
  EXPECT_EQ(later(100, 0), 100);
  EXPECT_EQ(later(100, kNever), kNever);
  EXPECT_EQ(later(kNever, 1), kNever);
  EXPECT_EQ(later(kNever - 5, 5), kNever);
  EXPECT_EQ(later(kNever - 5, 4), kNever - 1);
}

}  // namespace
}  // namespace bulkhead::machine
