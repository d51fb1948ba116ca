// Endpoints as the system writes them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "bulkhead/net/endpoint.hpp"

namespace bulkhead::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  [[nodiscard]] sockaddr* generic() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

[[nodiscard]] SocketAddress to_system(const Endpoint& endpoint) noexcept;
/// Of an IPv4 or IPv6 address; anything else becomes 0.0.0.0:0.
[[nodiscard]] Endpoint from_system(const sockaddr* address) noexcept;

}  // namespace bulkhead::net
