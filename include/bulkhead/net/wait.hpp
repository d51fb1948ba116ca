/// Waiting for descriptors that belong to somebody else: pipes, devices, sockets of other
/// libraries.
#pragma once

#include "bulkhead/duration.hpp"
#include "bulkhead/net/error.hpp"

namespace bulkhead::net {

/// In an actor: returns when `fd` can be read or written without blocking, also when it has ended
/// or failed, since that is what the next read or write will tell; kTimedOut when it could not in
/// time. The descriptor stays the caller's, is left as it is, blocking or not, and nothing of it is
/// kept afterwards. Who closes it meanwhile does not end the wait. What is always ready, such as a
/// file, is ready. Several can wait for the same.
Result<void> wait_readable(int fd, Timeout timeout = kForever);
Result<void> wait_writable(int fd, Timeout timeout = kForever);

}  // namespace bulkhead::net
