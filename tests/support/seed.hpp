/// Randomness that can be repeated: the seed comes from BULKHEAD_SEED, or is drawn and printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace support {

/// The seed of the running test. Prints it, and the line that repeats the test with it.
[[nodiscard]] std::uint64_t seed_of_test();

/// How long a randomised test goes on: BULKHEAD_STRESS_SECONDS, else a few seconds.
[[nodiscard]] std::chrono::milliseconds stress_time();

/// A small generator of random numbers; each thread or actor has its own, made from the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 to bound - 1.
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(engine_);
  }
  [[nodiscard]] bool one_in(std::uint32_t times) { return below(times) == 0; }
  [[nodiscard]] std::uint64_t seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace support
