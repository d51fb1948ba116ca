/// Stream: a TCP connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bulkhead/cross.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/net/descriptor.hpp"
#include "bulkhead/net/endpoint.hpp"
#include "bulkhead/net/error.hpp"

namespace bulkhead::net {

/// Whether small writes go out at once (kOn, the default here), or may wait for more.
enum class NoDelay : std::uint8_t { kOff, kOn };

/// A TCP connection, owned: move-only, closed when it is destroyed. It can be sent in a message,
/// and then belongs to the receiver.
///
/// Connecting, reading and writing are for actors, and throw std::logic_error elsewhere, and inside
/// NoPreempt when they have to wait. One actor at a time can read, and one, the same or another,
/// write; a second one is refused with kBusy. close() can be called by anybody meanwhile. A timeout
/// of zero tries once and does not wait. The other functions are for any thread.
class Stream {
 public:
  Stream() = default;

  /// Connects; at most `timeout` for all of it.
  [[nodiscard]] static Result<Stream> connect(const Endpoint& to, Timeout timeout = kForever);
  /// Looks a name up and tries its addresses in turn; at most `timeout` for all of it.
  [[nodiscard]] static Result<Stream> connect(std::string_view host, std::uint16_t port,
                                              Timeout timeout = kForever);

  /// Reads what there is, at least one byte, at most what fits. 0: the peer has ended its side. A
  /// buffer without room is an error.
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> into,
                                              Timeout timeout = kForever);
  /// Writes as much as goes without waiting twice, at least one byte. To write none is an error.
  [[nodiscard]] Result<std::size_t> write_some(std::span<const std::byte> from,
                                               Timeout timeout = kForever);
  /// Writes all; at most `timeout` for all of it. Error::done tells how much was written before a
  /// failure.
  Result<void> write_all(std::span<const std::byte> from, Timeout timeout = kForever);
  Result<void> write_all(std::string_view text, Timeout timeout = kForever);

  /// Ends this side: the peer reads to the end; reading goes on here.
  Result<void> shutdown_write();
  Result<void> set_no_delay(NoDelay setting);

  void close() noexcept { descriptor_.close(); }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_.is_open(); }
  explicit operator bool() const noexcept { return is_open(); }

  [[nodiscard]] const Endpoint& peer() const noexcept { return peer_; }
  [[nodiscard]] Result<Endpoint> local() const;
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  friend class Listener;
  friend struct Crossing<Stream>;
  Stream(Descriptor descriptor, const Endpoint& peer) noexcept
      : descriptor_(static_cast<Descriptor&&>(descriptor)), peer_(peer) {}

  Descriptor descriptor_;
  Endpoint peer_;
};

}  // namespace bulkhead::net

/// A stream is handed over.
template <>
struct bulkhead::Crossing<bulkhead::net::Stream> {
  static net::Stream cross(const net::Stream& from) {
    return net::Stream(crossed(from.descriptor_), from.peer_);
  }
  static void let_go(net::Stream& from) noexcept { bulkhead::let_go(from.descriptor_); }
};
