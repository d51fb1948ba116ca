// Making errors: what was tried, where, and what the system says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bulkhead/net/endpoint.hpp"
#include "bulkhead/net/error.hpp"

namespace bulkhead::net {

/// `what` is the operation with its preposition ("connect to"), `code` an errno. Those that this
/// library uses for itself: ETIMEDOUT, EBADF (closed here), EBUSY (another actor), ECANCELED
/// (stopped).
[[nodiscard]] Error failure(std::string_view what, std::string_view where, int code,
                            std::size_t done = 0);
[[nodiscard]] Error failure(std::string_view what, const Endpoint& where, int code,
                            std::size_t done = 0);
[[nodiscard]] Error bad_address(std::string why);

[[nodiscard]] ErrorKind kind_of(int code) noexcept;

/// What somebody gave, fit to be shown: no control characters, not too long.
[[nodiscard]] std::string printable(std::string_view text);

/// A numeric address without a port, as it was written.
[[nodiscard]] std::optional<Endpoint> numeric(std::string_view host, std::uint16_t port);

}  // namespace bulkhead::net
