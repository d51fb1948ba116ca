/// std::stop_token for actors: for code of others that takes one. Not part of bulkhead.hpp.
#pragma once

#include <stop_token>

namespace bulkhead::this_actor {

/// A token that tells when the calling actor is asked to stop (request_stop), or is ended by a
/// shutdown: when it is unwound, or its on_stop arm is chosen, and so not before it waits.
/// Callbacks run in the actor then; they must not wait. It may be handed to threads and other
/// actors, and outlives the actor. Throws std::logic_error outside actors, std::bad_alloc.
[[nodiscard]] std::stop_token stop_token();

}  // namespace bulkhead::this_actor
