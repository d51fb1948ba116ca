/// What can go wrong on the network, as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "bulkhead/standard.hpp"

namespace bulkhead::net {

enum class ErrorKind : std::uint8_t {
  kTimedOut,
  kClosedByPeer,         ///< the peer has ended the connection
  kReset,                ///< the peer has broken the connection off
  kRefused,              ///< nobody listens at the address
  kUnreachable,          ///< there is no way to the address
  kAddressInUse,         ///< somebody else listens at the address
  kAddressNotAvailable,  ///< the address is not one of this machine's, or has no free port left
  kBadAddress,           ///< what was given is no address that can be used
  kDenied,               ///< the system does not allow it
  kTooManyFiles,         ///< the process, or the system, has no descriptor left
  kNoMemory,
  kNoSuchName,    ///< the name has no address
  kLookupFailed,  ///< whether the name has an address could not be found out; try again
  kClosed,        ///< closed on this side, before or meanwhile
  kBusy,          ///< another actor does the same on it at this moment
  kTooLong,       ///< more than the limit that was set
  kStopped,       ///< nothing can be waited for: in a hook, or the actor is to end
  kOther,
};

[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;

/// Why an operation failed. Print `text`; decide by `kind`.
struct Error {
  ErrorKind kind = ErrorKind::kOther;
  int code = 0;          ///< errno's, where there is one
  std::size_t done = 0;  ///< bytes that had been transferred before
  std::string text;  ///< such as "connect to 127.0.0.1:9: refused, nobody listens (ECONNREFUSED)"
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace bulkhead::net
