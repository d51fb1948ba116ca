/// Endpoint: an IP address and a port.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "bulkhead/net/error.hpp"

namespace bulkhead::net {

/// An IPv4 or IPv6 address and a port: a small value. Default: 0.0.0.0:0.
class Endpoint {
 public:
  enum class Family : std::uint8_t { kV4, kV6 };
  /// In network order; IPv4 uses the first four, and the others are zero.
  using Bytes = std::array<std::uint8_t, 16>;

  Endpoint() = default;
  Endpoint(Family family, const Bytes& address, std::uint16_t port,
           std::uint32_t scope = 0) noexcept
      : address_(address), scope_(scope), port_(port), family_(family) {}

  /// 127.0.0.1, and its like for IPv6.
  [[nodiscard]] static Endpoint loopback(std::uint16_t port) noexcept {
    return Endpoint(Family::kV4, {127, 0, 0, 1}, port);
  }
  [[nodiscard]] static Endpoint loopback_v6(std::uint16_t port) noexcept {
    return Endpoint(Family::kV6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, port);
  }
  /// For listening: all addresses of this machine.
  [[nodiscard]] static Endpoint any(std::uint16_t port) noexcept {
    return Endpoint(Family::kV4, {}, port);
  }
  [[nodiscard]] static Endpoint any_v6(std::uint16_t port) noexcept {
    return Endpoint(Family::kV6, {}, port);
  }

  /// "127.0.0.1:7777", "[::1]:80", "[fe80::1%eth0]:80". The port is a must, 0 to 65535; names,
  /// spaces and leading zeros are refused.
  [[nodiscard]] static Result<Endpoint> parse(std::string_view text);

  [[nodiscard]] Family family() const noexcept { return family_; }
  [[nodiscard]] const Bytes& address() const noexcept { return address_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The interface that a link-local IPv6 address belongs to, 0 for none.
  [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
  [[nodiscard]] Endpoint with_port(std::uint16_t port) const noexcept {
    return Endpoint(family_, address_, port, scope_);
  }

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend std::strong_ordering operator<=>(const Endpoint&, const Endpoint&) = default;

 private:
  Bytes address_{};
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
  Family family_ = Family::kV4;
};

/// As parse reads it.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

}  // namespace bulkhead::net
