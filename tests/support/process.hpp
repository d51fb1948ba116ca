/// What the kernel knows of this process, and what it writes to stderr.
#pragma once

#include <bulkhead/config.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace support {

[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t threads();
/// Of those, the ones that debuggers and top show under this name.
[[nodiscard]] std::size_t threads_named(const std::string& name);
[[nodiscard]] std::size_t mappings();
[[nodiscard]] std::size_t resident_bytes();
/// That its threads have used, all together.
[[nodiscard]] std::chrono::nanoseconds cpu_time();
/// The kernel's limit on mappings, vm.max_map_count.
[[nodiscard]] std::size_t most_mappings();

/// How much more memory and time than usual may be used: sanitizers keep a record of everything.
inline constexpr std::size_t kMemoryFactor =
    bulkhead::Config::kDefaultStackSize > std::size_t{64} * 1024 ? 20 : 1;
inline constexpr int kTimeFactor = static_cast<int>(kMemoryFactor);

/// Runs `function` and returns what was written to stderr meanwhile, by whatever thread.
[[nodiscard]] std::string stderr_of(const std::function<void()>& function);

/// For a child that ends with a runtime left running: what the calling thread allocates from here
/// on is no leak.
void leaves_memory_behind();

/// How a child process ended.
struct Ended {
  int status = -1;     ///< of exit, or -1
  int signal = 0;      ///< that killed it, or 0
  std::string errors;  ///< what it wrote to stderr
};

/// Runs `function` in a child process, which then exits with 0. Killed when it does not end in
/// time.
[[nodiscard]] Ended run_in_child(const std::function<void()>& function);

}  // namespace support
