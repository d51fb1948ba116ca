#include "machine/cycles.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bulkhead::machine {

namespace {

bool look_for_cycles() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariant = 1u << 8;  // the rate is constant, also in sleep
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

}  // namespace

namespace detail {
const bool counts_cycles = look_for_cycles();
}  // namespace detail

bool has_cycles() noexcept { return detail::counts_cycles; }

// The thread may lose its processor between two looks: the best of a few tries counts.
Moment Moment::now() noexcept {
  Moment best;
  std::uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = machine::cycles();
    const Nanoseconds time = machine::now();
    const std::uint64_t width = machine::cycles() - before;
    if (width > narrowest) continue;
    narrowest = width;
    best = {before + width / 2, time};
  }
  return best;
}

Nanoseconds time_of(std::uint64_t cycles, const Moment& from, const Moment& to) noexcept {
  const auto span = static_cast<double>(static_cast<std::int64_t>(to.cycles - from.cycles));
  if (span <= 0) return from.time;
  const double rate = static_cast<double>(to.time - from.time) / span;
  const auto since = static_cast<double>(static_cast<std::int64_t>(cycles - from.cycles));
  return from.time + static_cast<Nanoseconds>(since * rate);
}

}  // namespace bulkhead::machine
