#include "base/utc.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using bulkhead::base::utc;
using Time = std::chrono::system_clock::time_point;

TEST(Utc, names_points_in_time) {
  EXPECT_EQ(utc(Time()), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(utc(Time(1'769'903'999s + 123'456us)), "2026-01-31T23:59:59.123456Z");
  EXPECT_EQ(utc(Time(951'782'400s)), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(utc(Time(-1us)), "1969-12-31T23:59:59.999999Z");
}

}  // namespace
