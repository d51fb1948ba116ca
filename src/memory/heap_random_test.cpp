// B2: random programs on heaps, beside a reference; the same as the fuzz target's, but longer.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "memory/heap_reference.hpp"
#include "support/seed.hpp"

namespace bulkhead::memory {
namespace {

TEST(HeapPrograms, come_to_what_the_reference_says) {
  support::Random random(support::seed_of_test());
  const auto end = std::chrono::steady_clock::now() + support::stress_time() / 2;
  do {
    HeapProgram program;
    const std::uint32_t steps = 1000 + random.below(20'000);
    for (std::uint32_t i = 0; i < steps; ++i) {
      const std::uint64_t bits = random.seed();
      program.step(static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8),
                   static_cast<std::uint8_t>(bits >> 16), static_cast<std::uint8_t>(bits >> 24));
    }
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace bulkhead::memory
