/// this_actor: what a handler can do about the actor that it runs for. Each function is for
/// handlers and destructors of actors only, and throws std::logic_error elsewhere. A constructor
/// runs in the spawner, and there they speak of the spawner; what needs the new actor's own pid
/// belongs into `started()`. In hooks, and in destructors of messages that are dropped, yield and
/// sleep_for return at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bulkhead/address.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead::core {
/// The running actor's. Throw std::logic_error when it is not this object, or not of this class.
[[nodiscard]] Pid own_pid(const void* self);
[[nodiscard]] Pid own_pid(std::string_view actor_class);
/// The running actor itself, if it is of this class; else null.
[[nodiscard]] void* own_object(std::string_view actor_class) noexcept;
}  // namespace bulkhead::core

namespace bulkhead::this_actor {

[[nodiscard]] Pid pid();

/// Its own address, for its class A. Throws std::logic_error when it is of another class.
template <class A>
[[nodiscard]] Address<A> address() {
  return Address<A>(core::own_pid(type_name<A>()));
}
/// For use in members: `this_actor::address(this)`. Throws std::logic_error when `self` is not the
/// actor that runs: in its constructor, which runs in its spawner, and in other objects.
template <class A>
[[nodiscard]] Address<A> address(const A* self) {
  return Address<A>(core::own_pid(static_cast<const void*>(self)));
}

/// Who spawned it; none when a thread outside did.
[[nodiscard]] Pid parent();

/// What crash reports call it besides its class and name, such as what it works at: up to 255
/// bytes. Throws std::invalid_argument when it is longer, std::bad_alloc.
void set_label(std::string_view label);
/// Empty when it has none. Throws std::bad_alloc.
[[nodiscard]] std::string label();

/// For who starts actors again that have ended, as supervisors do: while it lives, the actors that
/// the caller spawns linked to itself (SpawnOptions::linked) are told in crash reports to have been
/// started again so often. Throws std::bad_alloc.
class RestartScope {
 public:
  explicit RestartScope(std::uint32_t restarts);
  RestartScope(const RestartScope&) = delete;
  RestartScope& operator=(const RestartScope&) = delete;
  ~RestartScope();

 private:
  std::uint32_t before_;
};

/// Ends the actor, normally, when its handler returns. What is queued is dropped as dead letters.
void stop();

/// Lets the core's other actors run. An actor that is to end is unwound here. Throws
/// std::logic_error inside NoPreempt.
void yield();

/// Blocks the actor, not its core. In a destructor of an actor that is to end it returns at once.
/// Throws std::logic_error inside NoPreempt, std::runtime_error when there is no memory to wait
/// with.
void sleep_for(Timeout time);

/// The core that it runs on now, 0 and up. May change at anything that blocks, unless it is pinned.
[[nodiscard]] std::size_t core();

/// How large the stack is that it runs on, in bytes.
[[nodiscard]] std::size_t stack_size();
/// How many bytes of that stack have been used at most, in whole pages of 4 KiB. Stacks are lent:
/// what earlier users of this one have touched counts too, so it is an upper bound. After
/// discard_unused_stack() it is exact to two pages. Costs a system call.
[[nodiscard]] std::size_t stack_used();
/// Gives the memory of the stack below the caller back to the kernel: before a long wait that
/// follows a deep call, or to have stack_used() count from here on.
void discard_unused_stack();

}  // namespace bulkhead::this_actor

namespace bulkhead {

/// Is the calling code running in an actor?
[[nodiscard]] bool in_actor() noexcept;

}  // namespace bulkhead
