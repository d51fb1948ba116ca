// How many locks the code of an isolated actor holds that others may want: mutexes and locks for
// readers and writers of POSIX, which std::mutex and the like are. One that lies in memory of the
// actor's own is not counted, as nobody else can want it.
//
// The functions that lock are interposed (interposed.hpp); what the C library locks itself is not
// seen. In a process where nothing counts yet it costs a comparison, and a jump through a pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::machine {

struct HeldLocks {
  std::uint32_t count = 0;
  const std::byte* stack = nullptr;  // of the actor
  const std::byte* end_of_stack = nullptr;
};

/// The code that runs on the calling thread counts there from now on; null: nowhere.
void count_locks(HeldLocks* held) noexcept;

/// From now on locks are counted. `is_own` says which addresses lie in the heap of an actor, and so
/// in nobody's who may want a lock. Once per process.
void begin_to_count_locks(bool (*is_own)(const void* address)) noexcept;

}  // namespace bulkhead::machine
