/// this_actor: what a handler can do about the actor that it runs for. Each function is for
/// handlers and destructors of actors only, and throws std::logic_error elsewhere. A constructor
/// runs in the spawner, and there they speak of the spawner; what needs the new actor's own pid
/// belongs into `started()`.
#pragma once

#include <cstddef>

#include "bulkhead/address.hpp"
#include "bulkhead/duration.hpp"

namespace bulkhead::this_actor {

[[nodiscard]] Pid pid();

/// Its own address. The caller answers for the class.
template <class A>
[[nodiscard]] Address<A> address() {
  return Address<A>(pid());
}
/// For use in members: `this_actor::address(this)`.
template <class A>
[[nodiscard]] Address<A> address(const A* /*self*/) {
  return Address<A>(pid());
}

/// Who spawned it; none when a thread outside did.
[[nodiscard]] Pid parent();

/// Ends the actor, normally, when its handler returns. What is queued is dropped as dead letters.
void stop();

/// Lets the core's other actors run.
void yield();

/// Blocks the actor, not its core.
void sleep_for(Timeout time);

/// The core that it runs on now, 0 and up. May change at anything that blocks, unless it is pinned.
[[nodiscard]] std::size_t core();

}  // namespace bulkhead::this_actor

namespace bulkhead {

/// Is the calling code running in an actor?
[[nodiscard]] bool in_actor() noexcept;

}  // namespace bulkhead
