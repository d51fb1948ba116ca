// Time: nanoseconds of the steady clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace bulkhead::machine {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kNever = INT64_MAX;

[[nodiscard]] inline Nanoseconds now() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// `from + delay`, or kNever when that cannot be represented.
[[nodiscard]] inline Nanoseconds later(Nanoseconds from, Nanoseconds delay) noexcept {
  Nanoseconds sum = 0;
  return __builtin_add_overflow(from, delay, &sum) ? kNever : sum;
}

}  // namespace bulkhead::machine
