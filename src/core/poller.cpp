#include "core/poller.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

#include "base/check.hpp"

namespace bulkhead::core {

namespace {

// Waits with nanoseconds where the kernel can (5.11 and newer), else with milliseconds, rounded up.
int wait_for_events(int epoll, epoll_event* events, int room, machine::Nanoseconds timeout) {
  if (timeout == 0) return epoll_wait(epoll, events, room, 0);
  if (timeout == machine::kNever) return epoll_wait(epoll, events, room, -1);
#ifdef SYS_epoll_pwait2
  static sync::RealSync::atomic<bool> nanoseconds_work{true};
  if (nanoseconds_work.load(std::memory_order_relaxed)) {
    timespec time{static_cast<time_t>(timeout / 1'000'000'000),
                  static_cast<long>(timeout % 1'000'000'000)};
    const long count = syscall(SYS_epoll_pwait2, epoll, events, room, &time, nullptr, 0);
    if (count >= 0 || errno != ENOSYS) return static_cast<int>(count);
    nanoseconds_work.store(false, std::memory_order_relaxed);
  }
#endif
  const machine::Nanoseconds millis = timeout / machine::kMillisecond + 1;
  return epoll_wait(epoll, events, room, millis > INT_MAX ? INT_MAX : static_cast<int>(millis));
}

}  // namespace

void Poller::open() {
  static sync::RealSync::atomic<std::uint32_t> serials{0};
  do {
    serial_ = serials.fetch_add(1, std::memory_order_relaxed) + 1;
  } while (serial_ == 0);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0)
    throw std::system_error(errno, std::generic_category(), "bulkhead: epoll_create1");
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (event_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &event) != 0) {
    const int error = errno;
    close();
    throw std::system_error(error, std::generic_category(), "bulkhead: eventfd");
  }
}

void Poller::close() noexcept {
  if (event_ >= 0) ::close(event_);
  if (epoll_ >= 0) ::close(epoll_);
  event_ = epoll_ = -1;
  watched_.store(0, std::memory_order_relaxed);
}

int Poller::add(int fd, ReadySink* sink) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | static_cast<std::uint32_t>(EPOLLET);
  event.data.ptr = sink;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return errno;
  watched_.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void Poller::remove(int fd) noexcept {
  if (epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr) == 0) {
    watched_.fetch_sub(1, std::memory_order_relaxed);
  }
}

int Poller::wait(machine::Nanoseconds timeout) noexcept {
  epoll_event events[kBatch];
  const int count = wait_for_events(epoll_, events, kBatch, timeout);
  int told = 0;
  for (int i = 0; i < count; ++i) {
    auto* sink = static_cast<ReadySink*>(events[i].data.ptr);
    if (sink != nullptr) {
      sink->ready(sink, events[i].events);
      ++told;
    } else {
      std::uint64_t wakes;
      while (read(event_, &wakes, sizeof wakes) < 0 && errno == EINTR) {
      }
    }
  }
  return told;
}

bool Poller::has_news() const noexcept {
  pollfd look{epoll_, POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

void Poller::wake() noexcept {
  const std::uint64_t one = 1;
  while (write(event_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

}  // namespace bulkhead::core
