/// Code that is compiled for preemption (bulkhead_preemptible): it neither allocates nor blocks,
/// and knows nothing of the library.
#pragma once

#include <atomic>
#include <cstdint>

namespace preemptible {

/// Spins until the flag is set, in a loop with nothing in it.
void spin(const std::atomic<bool>& over);
/// Counts until the flag is set.
std::uint64_t count(const std::atomic<bool>& over);
/// Recurses `depth` deep, again and again, until the flag is set.
std::uint64_t recurse(const std::atomic<bool>& over, int depth);
/// Works a while in each destructor and each catch block, and returns the number of faults.
int unwind(int depth);
/// Some work: n rounds.
std::uint64_t work(std::uint64_t rounds);

}  // namespace preemptible
