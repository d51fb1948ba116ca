// Fences of unequal cost: the frequent side binds the compiler only, the rare side has the kernel
// put a barrier into each running thread of the process (membarrier). Of two threads, one with
// either fence between its store and its load, one at least sees the other's store, as if both
// fences were sequentially consistent; two light fences order nothing.
#pragma once

namespace bulkhead::sync {

/// Asks the kernel for it, once for the process. False when it has none: then heavy_fence must not
/// be called.
[[nodiscard]] bool heavy_fence_works() noexcept;
void heavy_fence() noexcept;

}  // namespace bulkhead::sync
