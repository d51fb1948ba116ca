/// ActorClass: what the runtime knows about the actors of one C++ type. For the typed shells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bulkhead/signal.hpp"

namespace bulkhead {

namespace core {
struct Joint;
}  // namespace core

struct ActorClass {
  std::size_t size;
  std::size_t alignment;
  std::string_view name;
  /// Runs the destructor.
  void (*destroy)(void* actor);
  /// Runs before any message, in the actor's own context; null when there is nothing to run.
  void (*started)(void* actor);
  /// Receive timeout in nanoseconds as the actor wants it now, negative for none; null when it has
  /// none.
  std::int64_t (*receive_timeout)(void* actor);
  /// Its handler; null when it has none.
  void (*on_receive_timeout)(void* actor);
  /// Hands over what tells of the actor's end; null when it cannot be joined.
  std::shared_ptr<core::Joint> (*joint)(void* actor);
  /// How it is told that an actor has ended; null when it has no handler for Down, or for Exited.
  const SignalOps* down;
  const SignalOps* exited;
  /// A callable actor: `started` is its body, and it ends when that returns.
  bool runs_once;
  /// In its code one cannot tell catch (...) from a function that is noexcept.
  bool hides_noexcept;
};

}  // namespace bulkhead
