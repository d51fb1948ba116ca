#include "otp/restarts.hpp"

#include <algorithm>

namespace bulkhead::otp {

std::chrono::nanoseconds Delay::next(const std::optional<Backoff>& backoff, Clock::time_point now,
                                     std::minstd_rand& random) {
  if (!backoff) return {};
  if (has_run && now - started >= backoff->reset_after) in_a_row = 0;
  has_run = false;
  std::chrono::nanoseconds delay = backoff->least;
  for (unsigned i = 0; i < in_a_row && delay < backoff->most; ++i) {
    delay = delay > backoff->most / 2 ? backoff->most : delay * 2;
  }
  delay = std::min(delay, backoff->most);
  ++in_a_row;
  const double part = std::uniform_real_distribution<double>(0, backoff->jitter)(random);
  return delay + std::chrono::nanoseconds(
                     static_cast<std::int64_t>(part * static_cast<double>(delay.count())));
}

}  // namespace bulkhead::otp
