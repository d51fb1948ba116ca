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

/// A lock of the whole process. The thread that forks holds it meanwhile, so that what it guards is
/// whole in the child, and nobody else holds it there. There are 12 at most, and none is made while
/// another one is held. Throws std::bad_alloc.
class ForkMutex : public sync::Mutex {
 public:
  explicit ForkMutex(Nesting nesting);
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
  ~ForkMutex();
};

}  // namespace bulkhead::machine
