#include "machine/stop_signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "machine/system_call.hpp"

namespace bulkhead::machine {

namespace {

sigset_t both() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

StopSignalWait::StopSignalWait() {
  const sigset_t set = both();
  sigset_t before;
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, &before); error != 0) {
    throw std::system_error(error, std::generic_category(), "bulkhead: pthread_sigmask");
  }
  int_was_blocked_ = sigismember(&before, SIGINT) == 1;
  term_was_blocked_ = sigismember(&before, SIGTERM) == 1;
  // Whoever started the program may have had it ignore them.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) fail("bulkhead: signalfd");
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_ < 0) {
    const int error = errno;
    close(signals_);
    throw std::system_error(error, std::generic_category(), "bulkhead: eventfd");
  }
}

StopSignalWait::~StopSignalWait() {
  close(signals_);
  close(event_);
  let_through();
}

StopSignalWait::Came StopSignalWait::wait(Nanoseconds timeout) noexcept {
  const Nanoseconds due = timeout == kNever ? kNever : later(now(), timeout);
  for (;;) {
    pollfd fds[2] = {{signals_, POLLIN, 0}, {event_, POLLIN, 0}};
    constexpr Nanoseconds kSecond = 1000 * kMillisecond;
    timespec left{};
    if (due != kNever) {
      const Nanoseconds rest = due - now();
      if (rest > 0) left = {rest / kSecond, rest % kSecond};
    }
    const int ready = ppoll(fds, 2, due == kNever ? nullptr : &left, nullptr);
    if (ready < 0 && errno != EINTR) return Came::kNothing;
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) == sizeof info) {
      return info.ssi_signo == SIGINT ? Came::kInt : Came::kTerm;
    }
    std::uint64_t count = 0;
    if (read(event_, &count, sizeof count) == sizeof count) return Came::kWakeUp;
    if (due != kNever && now() >= due) return Came::kNothing;
  }
}

void StopSignalWait::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(again_when_interrupted([&] { return write(event_, &one, sizeof one); }));
}

void StopSignalWait::let_through() noexcept {
  sigset_t set;
  sigemptyset(&set);
  if (!int_was_blocked_) sigaddset(&set, SIGINT);
  if (!term_was_blocked_) sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace bulkhead::machine
