/// For tests of preemption: settings under which actors give way, and what they do meanwhile.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cerrno>
#include <memory>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace support {

/// In a function of its own: within one, the address of errno is taken to stay the same.
[[gnu::noinline]] inline int error_number() {
  asm volatile("" ::: "memory");
  return errno;
}
[[gnu::noinline]] inline void set_error_number(int number) {
  asm volatile("" ::: "memory");
  errno = number;
}

/// Under sanitizers allocations do not tick; there a check stands for the tick.
inline void allocate() {
  const auto memory = std::make_unique<int>(1);
  asm volatile("" ::"r"(memory.get()) : "memory");
  if constexpr (support::kMemoryFactor > 1) bulkhead::check();
}

/// Others give way at each 128th allocation.
inline bulkhead::Config preempting(std::size_t cores) {
  bulkhead::Config config;
  config.cores = cores;
  config.preempt_allocations = 128;
  return config;
}

inline bulkhead::SpawnOptions pinned_to(std::size_t core) {
  bulkhead::SpawnOptions options;
  options.core = core;
  options.pinned = true;
  return options;
}

struct Ping {};

class Echo {
 public:
  bool receive(Ping /*message*/) { return true; }
};

/// A runtime whose actors give way wherever they may.
class Preempted : public OnCores {
 protected:
  Preempted() : runtime(at_each_allocation()) { runtime.start(); }

  static bulkhead::Config at_each_allocation() {
    bulkhead::Config config = preempting(cores());
    config.preempt_allocations = 1;
    config.preempt_reductions = 1'000;
    config.time_slice = std::chrono::nanoseconds(0);
    return config;
  }

  // An actor that counts how often it runs, on the core of its spawner, until all is over.
  void compete() {
    for (int i = 0; i < 3; ++i) {
      bulkhead::spawn([this] {
        while (!over) {
          ++turns;
          bulkhead::this_actor::yield();
        }
      });
    }
  }

  std::atomic<bool> over{false};
  std::atomic<long> turns{0};
  bulkhead::Runtime runtime;
};

}  // namespace support
