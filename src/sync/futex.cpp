#include "sync/futex.hpp"

#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bulkhead::sync {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// Callers may be anywhere between two uses of errno: it is left as it was.
long futex(const void* word, int operation, std::uint32_t value,
           const std::timespec* time_out) noexcept {
  const int saved = errno;
  const long result =
      syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, time_out, nullptr, 0);
  const int error = errno;
  errno = saved;
  return result < 0 ? -error : result;
}

}  // namespace

void futex_wait(const void* word, std::uint32_t expected) noexcept {
  futex(word, FUTEX_WAIT, expected, nullptr);
}

FutexWait futex_wait_for(const void* word, std::uint32_t expected,
                         std::int64_t nanoseconds) noexcept {
  if (nanoseconds <= 0) return FutexWait::kTimedOut;
  std::timespec left{};
  left.tv_sec = static_cast<std::time_t>(nanoseconds / kNanosecondsPerSecond);
  left.tv_nsec = static_cast<long>(nanoseconds % kNanosecondsPerSecond);
  const long result = futex(word, FUTEX_WAIT, expected, &left);
  return result == -ETIMEDOUT ? FutexWait::kTimedOut : FutexWait::kReturned;
}

void futex_wake(const void* word, int count) noexcept {
  futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr);
}

void spin_hint() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // waits for tens of cycles, where `yield` does nothing
#endif
}

}  // namespace bulkhead::sync
