/// What the statistics of a runtime that is quiet, or has ended, must say.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/stats.hpp>

#include <cstdint>

namespace support {

/// Each message was handled or dropped, once. (A late reply was no message, and what was refused
/// was never sent.)
inline void expect_balanced(const bulkhead::Stats& stats) {
  std::uint64_t dropped = 0;
  for (const std::uint64_t count : stats.dropped) dropped += count;
  dropped -= stats.dropped_for(bulkhead::DropCause::kLateReply);
  EXPECT_EQ(stats.sent, stats.handled + dropped - stats.refused);
}

}  // namespace support
