// Handlers that are stuck, when a test wants them to be.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstddef>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace support {

struct Echo {
  int receive(int value) { return value + 1; }
};

/// A runtime that soon leaves handlers behind.
class Stuck : public Running {
 public:
  /// `preempt_allocations`: of Config.
  explicit Stuck(std::size_t preempt_allocations = 0)
      : Running(watched(this, preempt_allocations)) {
    echo = runtime.spawn_with<Echo>(on_core(0));
  }
  ~Stuck() override { runtime.shutdown(bulkhead::kForever); }

  /// In a handler: keeps the core until it goes on without us. (First it comes home, if it is still
  /// away, since not every call needs the core.)
  void be_left() const {
    const std::uint64_t before = runtime.stats().handed_over;
    EXPECT_TRUE(bulkhead::in_actor());  // it may be left between any two of these lines
    EXPECT_TRUE(eventually([&] { return runtime.stats().handed_over > before; }));
  }
  /// Runs `body` as an actor on core 0, and waits for its end.
  template <class Body>
  void in_actor(Body body) {
    runtime.spawn_with(on_core(0), body);
    wait_for_idle();
    EXPECT_TRUE(eventually([&] { return runtime.stats().away == 0; }));
  }

  Log<bulkhead::Exit> deaths;
  bulkhead::Address<Echo> echo;

 private:
  static bulkhead::Config watched(Stuck* self, std::size_t preempt_allocations) {
    bulkhead::Config config = Stuck::config();
    config.preempt_allocations = preempt_allocations;
    config.hand_over_after = std::chrono::milliseconds(2);
    config.on_death = [self](const bulkhead::Death& death) { self->deaths.add(death.exit); };
    return config;
  }
};

}  // namespace support
