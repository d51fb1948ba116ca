#include "machine/wake_timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/check.hpp"
#include "machine/system_call.hpp"

namespace bulkhead::machine {

WakeTimer::WakeTimer() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  if (fd_ < 0) {
    throw std::system_error(errno, std::generic_category(), "bulkhead: timerfd_create");
  }
}

WakeTimer::~WakeTimer() { close(fd_); }

void WakeTimer::set(Nanoseconds delay) noexcept {
  constexpr Nanoseconds kSecond = 1000 * kMillisecond;
  delay = std::max<Nanoseconds>(delay, 1);  // zero would stop it
  itimerspec when{};
  when.it_value.tv_sec = delay / kSecond;
  when.it_value.tv_nsec = delay % kSecond;
  const int failed = timerfd_settime(fd_, 0, &when, nullptr);
  BULKHEAD_CHECK(failed == 0, "a timer can be set");
}

void WakeTimer::wait() noexcept {
  std::uint64_t times = 0;
  const auto got = again_when_interrupted([&] { return read(fd_, &times, sizeof times); });
  BULKHEAD_CHECK(got == sizeof times, "a timer can be waited for");
}

}  // namespace bulkhead::machine
