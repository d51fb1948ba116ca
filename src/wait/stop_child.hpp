// Stopping an actor of the caller's runtime at its next wait.
#pragma once

#include "bulkhead/pid.hpp"

namespace bulkhead::wait {

/// In an actor: has an actor unwound at its next wait, or before its next message. Without effect
/// when it has ended. Does not wait for it.
void stop_child(Pid child) noexcept;

}  // namespace bulkhead::wait
