// System calls on sockets. Each returns what the call does, or a negated errno; none touches errno
// outside of its own frame, since an actor may go on on another thread between two calls, while its
// frame still has the first thread's address of errno. EINTR is seen to here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bulkhead/net/endpoint.hpp"

namespace bulkhead::net::call {

[[nodiscard]] long receive(int fd, std::span<std::byte> into) noexcept;
[[nodiscard]] long send(int fd, std::span<const std::byte> from) noexcept;

/// Non-blocking sockets.
[[nodiscard]] int make_socket(Endpoint::Family family) noexcept;
[[nodiscard]] int connect(int fd, const Endpoint& to) noexcept;
[[nodiscard]] int bind(int fd, const Endpoint& at) noexcept;
[[nodiscard]] int listen(int fd, int backlog) noexcept;
[[nodiscard]] int accept(int fd, Endpoint& peer) noexcept;
[[nodiscard]] int shutdown_write(int fd) noexcept;
void close(int fd) noexcept;

enum class Option : std::uint8_t { kNoDelay, kReuseAddress, kSharePort, kV6Only };
[[nodiscard]] int set(int fd, Option option, int value) noexcept;
/// The error that waits to be told (SO_ERROR), as an errno.
[[nodiscard]] int pending_error(int fd) noexcept;
[[nodiscard]] int local(int fd, Endpoint& endpoint) noexcept;
[[nodiscard]] int peer(int fd, Endpoint& endpoint) noexcept;

enum Wanted : std::uint8_t { kRead = 1, kWrite = 2, kBoth = kRead | kWrite };
/// What of it is ready now, as bits; all of it when it has ended or failed.
[[nodiscard]] int poll_now(int fd, Wanted wanted) noexcept;
[[nodiscard]] int duplicate(int fd) noexcept;
/// A descriptor for nothing.
[[nodiscard]] int make_spare() noexcept;

}  // namespace bulkhead::net::call
