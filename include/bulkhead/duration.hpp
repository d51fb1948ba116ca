/// Timeout: how long something may take.
#pragma once

#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include "bulkhead/standard.hpp"

namespace bulkhead {

/// A span of time that a caller gives: zero or more nanoseconds, or kForever. Made from any
/// std::chrono duration. A negative one, one that is not a number, and one too long to be
/// represented (292 years) throw std::invalid_argument where they are given: none is silently cut.
class Timeout {
 public:
  template <class Rep, class Period>
  constexpr Timeout(std::chrono::duration<Rep, Period> span)  // NOLINT: a duration is a timeout
      : nanoseconds_(checked(span)) {}

  [[nodiscard]] static constexpr Timeout forever() noexcept { return Timeout(); }
  [[nodiscard]] constexpr bool is_forever() const noexcept { return nanoseconds_ == kMost; }
  /// Nanoseconds; the largest value when forever.
  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return nanoseconds_; }

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

  constexpr Timeout() noexcept : nanoseconds_(kMost) {}

  template <class Rep, class Period>
  static constexpr std::int64_t checked(std::chrono::duration<Rep, Period> span) {
    const long double nanos = static_cast<long double>(span.count()) * Period::num * 1e9L /
                              static_cast<long double>(Period::den);
    if (!(nanos >= 0)) refuse_negative();
    if (nanos >= 9.2e18L) refuse_overflow();
    if constexpr (std::is_integral_v<Rep>) {
      __extension__ using Wide = __int128;  // holds all that the checks above let pass
      using InNanoseconds = std::ratio_divide<Period, std::nano>;
      return static_cast<std::int64_t>(static_cast<Wide>(span.count()) * InNanoseconds::num /
                                       InNanoseconds::den);
    } else if constexpr (std::numeric_limits<Rep>::is_integer) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(span).count();
    } else {
      return static_cast<std::int64_t>(nanos);
    }
  }

  [[noreturn]] static void refuse_negative();
  [[noreturn]] static void refuse_overflow();

  std::int64_t nanoseconds_;
};

/// No limit.
inline constexpr Timeout kForever = Timeout::forever();

}  // namespace bulkhead
