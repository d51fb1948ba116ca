/// What the tests of the network share.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/wait.hpp"

namespace support {

/// A runtime, and ways to run code in actors of it.
class Network : public Running {
 protected:
  /// Runs body() in an actor, and returns when it has returned.
  template <class Body>
  void in_actor(std::size_t core, Body body) {
    Event done;
    in_background(core, [&] {
      const Setter setter{done};
      body();
    });
    ASSERT_TRUE(done.wait());
  }
  template <class Body>
  void in_actor(Body body) {
    in_actor(0, std::move(body));
  }
  /// Runs body() in an actor, and returns at once.
  template <class Body>
  bulkhead::Pid in_background(std::size_t core, Body body) {
    return runtime.spawn_with(on_core(core), std::move(body));
  }

  void TearDown() override {
    runtime.shutdown(std::chrono::seconds(0));
    EXPECT_EQ(runtime.stats().actors_failed, failures_expected);
  }

  std::uint64_t failures_expected = 0;

 private:
  struct Setter {
    Event& event;
    ~Setter() { event.set(); }
  };
};

/// The other end of a connection: a plain socket, blocking, for the thread of the test.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {
    const timeval limit{kDeadline.count(), 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  Peer(Peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Peer& operator=(Peer&&) = delete;
  ~Peer() { close(); }

  [[nodiscard]] static Peer connect(std::uint16_t port) {
    Peer peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::connect(peer.fd_, generic, sizeof address), 0);
    return peer;
  }
  [[nodiscard]] static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// `count` bytes, or fewer when the connection ends before.
  [[nodiscard]] std::string receive(std::size_t count) const {
    std::string text(count, '\0');
    std::size_t got = 0;
    while (got < count) {
      const ssize_t part = recv(fd_, text.data() + got, count - got, 0);
      if (part <= 0) break;
      got += static_cast<std::size_t>(part);
    }
    text.resize(got);
    return text;
  }
  /// Has the other side ended the connection, one way or the other? Waits for it.
  [[nodiscard]] bool ended() const {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) == 0 || errno == ECONNRESET;
  }
  void shutdown_write() const { shutdown(fd_, SHUT_WR); }
  /// Breaks the connection off.
  void reset() {
    const linger hard{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// A plain listening socket, for the thread of the test.
class PlainListener {
 public:
  explicit PlainListener(int backlog = 128) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Peer::loopback(0);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, generic, length), 0);
    EXPECT_EQ(getsockname(fd_, generic, &length), 0);
    EXPECT_EQ(listen(fd_, backlog), 0);
    port_ = ntohs(address.sin_port);
  }
  PlainListener(const PlainListener&) = delete;
  PlainListener& operator=(const PlainListener&) = delete;
  ~PlainListener() { close(); }

  [[nodiscard]] Peer accept() const { return Peer(::accept(fd_, nullptr, nullptr)); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] bulkhead::net::Endpoint endpoint() const {
    return bulkhead::net::Endpoint::loopback(port_);
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads `count` bytes, or to the end.
inline std::string read_text(bulkhead::net::Stream& stream, std::size_t count,
                             bulkhead::Timeout timeout = kDeadline) {
  std::string text;
  std::byte buffer[1024];
  while (text.size() < count) {
    const auto got = stream.read_some(
        std::span(buffer).first(std::min(sizeof buffer, count - text.size())), timeout);
    if (!got || *got == 0) break;
    text += text_of(std::span(buffer).first(*got));
  }
  return text;
}

/// The error of a result that must have failed.
template <class T>
bulkhead::net::Error error_of(const bulkhead::net::Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? bulkhead::net::Error{} : result.error();
}

/// Fails unless as many descriptors are open at the end as at the beginning.
class NoDescriptorIsLeft {
 public:
  NoDescriptorIsLeft() = default;
  NoDescriptorIsLeft(const NoDescriptorIsLeft&) = delete;
  NoDescriptorIsLeft& operator=(const NoDescriptorIsLeft&) = delete;
  ~NoDescriptorIsLeft() {
    // Peers of the kernel and threads that look names up may take a moment.
    const auto left = [this] { return open_descriptors() <= before_; };
    EXPECT_TRUE(eventually(left, std::chrono::seconds(10)))
        << before_ << " descriptors before, " << open_descriptors() << " after";
  }

 private:
  std::size_t before_ = open_descriptors();
};

}  // namespace support
