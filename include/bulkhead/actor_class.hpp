/// ActorClass: what the runtime knows about the actors of one C++ type. For the typed shells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bulkhead/signal.hpp"

namespace bulkhead {

/// A handler that is looked up at run time, for senders that know the message's type only.
struct HandlerEntry {
  const void* message_type;  ///< kMessageType<M>
  const SignalOps* ops;
};

/// The address of this variable is the identity of message type M.
template <class M>
inline constexpr char kMessageType = 0;

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
  /// A callable actor: `started` is its body, and it ends when that returns.
  bool runs_once;
};

}  // namespace bulkhead
