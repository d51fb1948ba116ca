// Function-local static variables: whoever watches is asked when one begins to be initialised, and
// told when that has ended. See interposed.hpp. Once a variable is there it costs nothing.
#pragma once

namespace bulkhead::machine {

struct StaticLocalWatcher {
  /// The caller is to initialise the variable of this guard. May throw: then it does not.
  void (*begins)(void* guard);
  /// It has, or has thrown.
  void (*ended)(void* guard) noexcept;
};

/// Before there are threads that initialise such variables. The watcher lasts.
void watch_static_locals(const StaticLocalWatcher& watcher) noexcept;

/// Nobody initialises it any more: who waits for it, or comes next, does.
void abandon_static_local(void* guard) noexcept;

}  // namespace bulkhead::machine
