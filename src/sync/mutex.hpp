// The lock for what is rare: process-wide stores, start and stop. Never on the path of a message.
// Who holds one does not give way: an actor's allocations under a lock are no reason to (see
// base/critical.hpp).
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/critical.hpp"

namespace bulkhead::sync {

using Mutex = std::mutex;
using Condition = std::condition_variable;

class Guard {
 public:
  explicit Guard(Mutex& mutex) : guard_(mutex) {}

 private:
  base::Critical critical_{"who holds a lock of the runtime must not block"};
  std::lock_guard<Mutex> guard_;
};

/// For conditions, which wait with it.
class UniqueGuard : private base::Critical, public std::unique_lock<Mutex> {
 public:
  explicit UniqueGuard(Mutex& mutex)
      : Critical("who holds a lock of the runtime must not block"),
        std::unique_lock<Mutex>(mutex) {}
};

}  // namespace bulkhead::sync
