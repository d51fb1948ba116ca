// The bare TCP echo server that every other one is measured against: one thread, one
// level-triggered epoll, one read and one write a request, no allocation while the peer keeps up. A
// connection whose first byte is X is closed.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Connection {
  bool fresh = true;   // Nothing received yet.
  std::string unsent;  // What the socket did not take; while there is some, nothing is read.
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "epoll_server: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

class Server {
 public:
  explicit Server(std::uint16_t port) {
    if (listener_ < 0) fail("cannot make a socket");
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(listener_, generic, sizeof address) != 0 || ::listen(listener_, 4096) != 0) {
      fail("cannot listen on 127.0.0.1:" + std::to_string(port));
    }
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail("cannot make an epoll");
    watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
  }

  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.sin_port);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR) fail("epoll_wait");
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == listener_) {
          accept_all();
        } else if ((event.events & EPOLLOUT) != 0) {
          flush(event.data.fd);
        } else {
          echo(event.data.fd);
        }
      }
    }
  }

 private:
  void watch(int operation, int fd, std::uint32_t interest) const {
    epoll_event event{};
    event.events = interest;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, operation, fd, &event) != 0) fail("epoll_ctl");
  }

  Connection& connection(int fd) { return connections_[static_cast<std::size_t>(fd)]; }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) fail("cannot accept");
        return;
      }
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (connections_.size() <= static_cast<std::size_t>(fd)) {
        connections_.resize(static_cast<std::size_t>(fd) * 2 + 1);
      }
      connection(fd) = Connection{};
      watch(EPOLL_CTL_ADD, fd, EPOLLIN);
    }
  }

  void close(int fd) {
    connection(fd) = Connection{};
    ::close(fd);
  }

  void echo(int fd) {
    const ssize_t got = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) close(fd);
      return;
    }
    Connection& self = connection(fd);
    if (self.fresh) {
      if (buffer_[0] == 'X') return close(fd);
      self.fresh = false;
    }
    const ssize_t sent = ::send(fd, buffer_.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
    if (sent == got) return;
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return close(fd);
    const ssize_t taken = sent < 0 ? 0 : sent;
    self.unsent.assign(buffer_.data() + taken, static_cast<std::size_t>(got - taken));
    watch(EPOLL_CTL_MOD, fd, EPOLLOUT);
  }

  void flush(int fd) {
    Connection& self = connection(fd);
    const ssize_t sent = ::send(fd, self.unsent.data(), self.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) close(fd);
      return;
    }
    self.unsent.erase(0, static_cast<std::size_t>(sent));
    if (self.unsent.empty()) watch(EPOLL_CTL_MOD, fd, EPOLLIN);
  }

  int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int epoll_ = -1;
  std::vector<Connection> connections_;  // By descriptor.
  std::array<char, 16 * 1024> buffer_;
};

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Bare epoll TCP echo server on 127.0.0.1, the yardstick for the others.");
  std::uint16_t port = 0;
  app.add_option("-p,--port", port, "TCP port; 0 takes a free one")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  raise_descriptor_limit();
  Server server(port);
  std::printf("listening on 127.0.0.1:%u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);
  server.run();
}
