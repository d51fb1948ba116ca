/// Listener: where TCP connections come in.
#pragma once

#include <cstddef>

#include "bulkhead/duration.hpp"
#include "bulkhead/net/stream.hpp"

namespace bulkhead::net {

struct ListenOptions {
  /// Connections that may wait to be accepted; the system's net.core.somaxconn limits it.
  int backlog = 4096;
  /// Takes the port over from connections of an earlier listener that linger (SO_REUSEADDR).
  bool reuse_address = true;
  /// Several listeners, also of other processes, share the port (SO_REUSEPORT).
  bool share_port = false;
  /// A listener on IPv6's any address takes no IPv4 connections.
  bool v6_only = false;
};

/// A listening socket, owned: move-only, closed when it is destroyed. It can be sent in a message.
class Listener {
 public:
  Listener() = default;

  /// Listens. Port 0 lets the system choose: see local(). A backlog below 1 is an error. Any
  /// thread.
  [[nodiscard]] static Result<Listener> listen(const Endpoint& at, ListenOptions options = {});

  /// In an actor: waits for a connection. Failures that concern one connection only, such as a peer
  /// that has gone again, are passed over. With kTooManyFiles the connection goes on waiting, and
  /// the next accept fails likewise: shed() gets rid of it, or wait for others to close.
  [[nodiscard]] Result<Stream> accept(Timeout timeout = kForever);

  /// For when descriptors have run out: accepts the connections that wait, and closes them at once,
  /// by means of a descriptor that is kept in reserve for this. So peers learn that they are not
  /// wanted, instead of waiting for long. Returns how many there were, at most `most`. Does not
  /// wait; any thread, one at a time.
  Result<std::size_t> shed(std::size_t most = 64);

  /// Any thread: an accept that waits fails with kClosed. Until it has, a moment later, the system
  /// may still take connections, which are then reset.
  void close() noexcept { descriptor_.close(); }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }

  /// With the port that the system chose.
  [[nodiscard]] const Endpoint& local() const noexcept { return local_; }
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  Descriptor descriptor_;
  Descriptor reserve_;
  Endpoint local_;
};

}  // namespace bulkhead::net
