// Sleeping in the kernel on a word of 32 bits, and telling the processor that we spin. Called
// through RealSync (sync/atomic.hpp), which says what they promise.
#pragma once

#include <cstdint>

namespace bulkhead::sync {

enum class FutexWait : std::uint8_t { kReturned, kTimedOut };

void futex_wait(const void* word, std::uint32_t expected) noexcept;
FutexWait futex_wait_for(const void* word, std::uint32_t expected,
                         std::int64_t nanoseconds) noexcept;
void futex_wake(const void* word, int count) noexcept;
void spin_hint() noexcept;

}  // namespace bulkhead::sync
