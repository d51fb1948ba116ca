// The memory of exceptions: whoever watches is told when some is taken, and given back. See
// interposed.hpp.
#pragma once

namespace bulkhead::machine {

struct ExceptionWatcher {
  /// Dependent: one that stands for another, which std::rethrow_exception throws.
  void (*made)(void* exception, bool is_dependent) noexcept;
  void (*gone)(void* exception) noexcept;
};

/// Before there are threads that throw. The watcher lasts.
void watch_exceptions(const ExceptionWatcher& watcher) noexcept;

/// Of one that nobody will ever catch, or let go of. Nothing of it is called, and nobody told.
void give_back_exception(void* exception, bool is_dependent) noexcept;

}  // namespace bulkhead::machine
