// The processor's own clock: a count at a constant rate, the same on all processors, that takes
// less time to read than the kernel's clock. Where there is none, that one.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "machine/clock.hpp"

namespace bulkhead::machine {

/// Does the processor have such a clock? Else cycles() are nanoseconds.
[[nodiscard]] bool has_cycles() noexcept;

namespace detail {
extern const bool counts_cycles;
}  // namespace detail

[[nodiscard]] inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__)
  if (detail::counts_cycles) [[likely]]
    return __rdtsc();
#elif defined(__aarch64__)
  if (detail::counts_cycles) [[likely]] {
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
  }
#endif
  return static_cast<std::uint64_t>(now());
}

/// One moment by both clocks.
struct Moment {
  std::uint64_t cycles = 0;
  Nanoseconds time = 0;

  [[nodiscard]] static Moment now() noexcept;
};

/// What the clock showed at some count, by two moments: exactly between them, nearly outside.
[[nodiscard]] Nanoseconds time_of(std::uint64_t cycles, const Moment& from,
                                  const Moment& to) noexcept;

}  // namespace bulkhead::machine
