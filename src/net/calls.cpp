#include "net/calls.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "machine/system_call.hpp"
#include "net/sockaddr.hpp"

namespace bulkhead::net::call {

namespace {

// Every function of this file is called across its border, so none of them is inlined into a frame
// that outlives a change of threads.
using machine::again_when_interrupted;

int name_of(int fd, Endpoint& endpoint, int (*get)(int, sockaddr*, socklen_t*)) noexcept {
  SocketAddress address;
  const int result =
      again_when_interrupted([&] { return get(fd, address.generic(), &address.length); });
  if (result == 0) endpoint = from_system(address.generic());
  return result;
}

}  // namespace

// The libc's recv and send are points where a thread may be cancelled, which costs them several
// atomic operations. These two calls are made for each request.
long receive(int fd, std::span<std::byte> into) noexcept {
  return again_when_interrupted(
      [&] { return ::syscall(SYS_recvfrom, fd, into.data(), into.size(), 0, nullptr, nullptr); });
}

long send(int fd, std::span<const std::byte> from) noexcept {
  return again_when_interrupted([&] {
    return ::syscall(SYS_sendto, fd, from.data(), from.size(), MSG_NOSIGNAL, nullptr, 0);
  });
}

int make_socket(Endpoint::Family family) noexcept {
  const int domain = family == Endpoint::Family::kV4 ? AF_INET : AF_INET6;
  return again_when_interrupted(
      [&] { return ::socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

// Not again when interrupted: the attempt goes on, and has begun.
int connect(int fd, const Endpoint& to) noexcept {
  SocketAddress address = to_system(to);
  if (::connect(fd, address.generic(), address.length) == 0) return 0;
  return errno == EINTR ? -EINPROGRESS : -errno;
}

int bind(int fd, const Endpoint& at) noexcept {
  SocketAddress address = to_system(at);
  return again_when_interrupted([&] { return ::bind(fd, address.generic(), address.length); });
}

int listen(int fd, int backlog) noexcept {
  return again_when_interrupted([&] { return ::listen(fd, backlog); });
}

int accept(int fd, Endpoint& peer) noexcept {
  SocketAddress address;
  const int accepted = again_when_interrupted([&] {
    address.length = sizeof address.storage;
    return ::accept4(fd, address.generic(), &address.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  });
  if (accepted >= 0) peer = from_system(address.generic());
  return accepted;
}

int shutdown_write(int fd) noexcept {
  return again_when_interrupted([&] { return ::shutdown(fd, SHUT_WR); });
}

// On Linux the number is free whatever close returns.
void close(int fd) noexcept { ::close(fd); }

int set(int fd, Option option, int value) noexcept {
  int level = SOL_SOCKET;
  int name = 0;
  switch (option) {
    case Option::kNoDelay:
      level = IPPROTO_TCP;
      name = TCP_NODELAY;
      break;
    case Option::kReuseAddress:
      name = SO_REUSEADDR;
      break;
    case Option::kSharePort:
      name = SO_REUSEPORT;
      break;
    case Option::kV6Only:
      level = IPPROTO_IPV6;
      name = IPV6_V6ONLY;
      break;
  }
  return again_when_interrupted(
      [&] { return ::setsockopt(fd, level, name, &value, sizeof value); });
}

int pending_error(int fd) noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

int local(int fd, Endpoint& endpoint) noexcept { return name_of(fd, endpoint, &::getsockname); }
int peer(int fd, Endpoint& endpoint) noexcept { return name_of(fd, endpoint, &::getpeername); }

int poll_now(int fd, Wanted wanted) noexcept {
  if (fd < 0) return -EBADF;  // which poll would pass over
  const int events = ((wanted & kRead) != 0 ? POLLIN : 0) | ((wanted & kWrite) != 0 ? POLLOUT : 0);
  pollfd entry{fd, static_cast<short>(events), 0};
  const int count = again_when_interrupted([&] { return ::poll(&entry, 1, 0); });
  if (count <= 0) return count;
  if ((entry.revents & POLLNVAL) != 0) return -EBADF;
  if ((entry.revents & (POLLERR | POLLHUP)) != 0) return wanted;
  return ((entry.revents & POLLIN) != 0 ? kRead : 0) |
         ((entry.revents & POLLOUT) != 0 ? kWrite : 0);
}

int duplicate(int fd) noexcept {
  return again_when_interrupted([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); });
}

int make_spare() noexcept {
  return again_when_interrupted([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}

}  // namespace bulkhead::net::call
