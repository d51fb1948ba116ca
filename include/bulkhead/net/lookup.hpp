/// Looking names up.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bulkhead/duration.hpp"
#include "bulkhead/net/endpoint.hpp"
#include "bulkhead/net/error.hpp"

namespace bulkhead::net {

/// In an actor: the addresses of a host, at least one, in the order in which they should be tried.
/// A numeric address ("127.0.0.1", "::1", "[::1]") is read at once. Names go to the system's
/// resolver, getaddrinfo, on one of a few threads that are there only while there is something to
/// look up; the actor waits for at most `timeout`, and a result that comes later is discarded.
[[nodiscard]] Result<std::vector<Endpoint>> lookup(std::string_view host, std::uint16_t port,
                                                   Timeout timeout = kForever);

}  // namespace bulkhead::net
