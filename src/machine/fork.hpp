// What a process has to care for when it is forked: the child has one thread, and a lock that
// another thread held at that moment stays locked in it for good.
#pragma once

#include "sync/mutex.hpp"

namespace bulkhead::machine {

/// Has `function` called in each child process that is forked from now on, before anything else
/// there: in its only thread. False when there is no memory for that.
[[nodiscard]] bool in_each_fork(void (*function)()) noexcept;

/// Locks that are held while others are taken are outer ones.
enum class Nesting { kOuter, kInner };

/// For a lock of the whole process, once: the thread that forks holds it meanwhile, so that what it
/// guards is whole in the child, and nobody else holds it there. At most 8. Throws std::bad_alloc.
void hold_in_forks(sync::Mutex& lock, Nesting nesting);

}  // namespace bulkhead::machine
