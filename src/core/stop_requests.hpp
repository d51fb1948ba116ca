// Requests to stop that the running actor hears of by itself.
#pragma once

namespace bulkhead::core {

/// Takes a request to stop off the running actor: true when there was one, and its runtime goes on.
[[nodiscard]] bool take_stop_request() noexcept;
/// From now on a request to stop wakes the running actor, but does not unwind it. False when there
/// is one already.
[[nodiscard]] bool hear_stop_requests() noexcept;
void hear_no_stop_requests() noexcept;

}  // namespace bulkhead::core
