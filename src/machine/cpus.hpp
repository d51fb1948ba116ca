// The processors that this process may use, and the memory nodes that they belong to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sync/thread.hpp"

namespace bulkhead::machine {

/// CPUs of the process's affinity mask, ascending; never empty.
[[nodiscard]] std::vector<int> allowed_cpus();

/// How many CPUs' worth of time the process may use: the affinity mask, lowered by the quota of its
/// control group (v1 or v2), rounded up; at least 1.
[[nodiscard]] std::size_t usable_cpus();

/// The quota that the text of a cgroup v2 `cpu.max` file grants, in CPUs rounded up; 0 when it
/// grants all ("max") or is no such text.
[[nodiscard]] std::size_t quota_of(const std::string& cpu_max);

/// Binds the calling thread to a CPU. False when the kernel refuses (a CPU that went away).
bool bind_to_cpu(int cpu) noexcept;

/// Lets a thread run on all of these CPUs again. It has not been joined. False when the kernel
/// refuses.
bool unbind(sync::Thread& thread, const std::vector<int>& cpus) noexcept;

/// Names the calling thread, for debuggers and top; at most 15 characters are kept.
void name_thread(const char* name) noexcept;
/// The same for another thread, which has not been joined.
void name_thread(sync::Thread& thread, const char* name) noexcept;

/// The kernel's number of the calling thread.
[[nodiscard]] int thread_id() noexcept;
/// The name of a thread of this process by that number; empty when it has ended.
[[nodiscard]] std::string name_of_thread(int id);

/// Another one in a child that was forked.
[[nodiscard]] int process_id() noexcept;

}  // namespace bulkhead::machine
