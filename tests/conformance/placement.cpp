// A2: where an actor starts.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <thread>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;

class Placement : public support::OnCores {
 protected:
  // Nothing moves, so that where an actor is is where it was put. With run queues that all share
  // it would be anywhere: see run_queues.cpp.
  static bulkhead::Config still() {
    bulkhead::Config config = support::OnCores::config();
    config.run_queue = bulkhead::RunQueue::kPartitioned;
    config.gather = false;
    config.share_work = false;
    return config;
  }
  Placement() : runtime(still()) { runtime.start(); }
  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }

  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(Placement);

// A2
TEST_P(Placement, an_actor_starts_on_the_core_of_its_spawner) {
  support::Log<bool> same;
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(begun_on(core), [&same, core] {
      bulkhead::spawn([&same, core] { same.add(this_actor::core() == core); });
    });
  }
  wait_for_idle();
  EXPECT_EQ(same.entries(), std::vector<bool>(cores(), true));
}

// A2
TEST_P(Placement, from_a_thread_outside_an_actor_starts_on_core_0) {
  support::Log<std::size_t> on;
  for (int i = 0; i < 10; ++i) runtime.spawn([&on] { on.add(this_actor::core()); });
  std::thread([&] { runtime.spawn([&on] { on.add(this_actor::core()); }); }).join();
  wait_for_idle();
  EXPECT_EQ(on.entries(), std::vector<std::size_t>(11, 0));
}

// A2
TEST_P(Placement, an_actor_starts_on_the_core_that_its_options_name) {
  support::Log<bool> right;
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(begun_on(core), [&right, core] { right.add(this_actor::core() == core); });
  }
  runtime.spawn([&right, cores = cores()] {
    for (std::size_t core = 0; core < cores; ++core) {
      bulkhead::spawn_with(begun_on(core),
                           [&right, core] { right.add(this_actor::core() == core); });
    }
  });
  wait_for_idle();
  EXPECT_EQ(right.entries(), std::vector<bool>(2 * cores(), true));
}

// A2
TEST_P(Placement, a_child_of_an_own_thread_actor_starts_on_core_0) {
  support::Log<std::size_t> on;
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  runtime.spawn_with(options, [&on] { bulkhead::spawn([&on] { on.add(this_actor::core()); }); });
  wait_for_idle();
  EXPECT_EQ(on.entries(), std::vector<std::size_t>{0});
}

// A2
TEST_P(Placement, runtime_spawn_in_an_actor_is_like_spawn) {
  support::Log<bool> same;
  const std::size_t last = cores() - 1;
  runtime.spawn_with(begun_on(last), [&] {
    const bulkhead::Pid self = this_actor::pid();
    runtime.spawn([&same, last, self] {
      same.add(this_actor::core() == last);
      same.add(this_actor::parent() == self);
    });
  });
  wait_for_idle();
  EXPECT_EQ(same.entries(), std::vector<bool>(2, true));
}

// A2
TEST_P(Placement, an_actor_knows_its_parent) {
  support::Log<bool> right;
  runtime.spawn([&right] {
    right.add(!this_actor::parent());
    const bulkhead::Pid self = this_actor::pid();
    bulkhead::spawn([&right, self] { right.add(this_actor::parent() == self); });
  });
  wait_for_idle();
  EXPECT_EQ(right.entries(), std::vector<bool>(2, true));
}

}  // namespace
