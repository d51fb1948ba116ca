// A18: a shutdown that takes long says whom it waits for, and nobody else. What was wrong: a
// core that was ending very many actors, one after the other, was said to be in a handler that
// neither returns nor blocks.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <string>
#include <thread>

#include "support/process.hpp"
#include "support/wait.hpp"

namespace {

using namespace std::chrono_literals;

constexpr auto kLooks = 5000ms;  // how often a shutdown looks who holds it up

/// Its end takes a while, in which its core is busy.
class SlowToEnd {
 public:
  explicit SlowToEnd(std::chrono::milliseconds time) : time_(time) {}
  ~SlowToEnd() { std::this_thread::sleep_for(time_); }

 private:
  std::chrono::milliseconds time_;
};

// On one core many end, one after the other; on the other one only one, in longer than it takes
// until somebody looks.
TEST(ShutdownOfMany, names_the_core_on_which_none_ends_and_no_other) {
  bulkhead::Config config;
  config.cores = 2;
  config.hand_over_after = bulkhead::kForever;
  bulkhead::Runtime runtime(config);
  runtime.start();
  bulkhead::SpawnOptions where;
  where.pinned = true;
  where.core = 0;
  for (int i = 0; i < 53; ++i) runtime.spawn_with<SlowToEnd>(where, kLooks / 50);
  where.core = 1;
  runtime.spawn_with<SlowToEnd>(where, kLooks + 300ms);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const std::string said = support::stderr_of([&] { runtime.shutdown(); });
  EXPECT_NE(said.find("shutdown waits for core 1"), std::string::npos) << said;
  EXPECT_EQ(said.find("core 0"), std::string::npos) << said;
}

}  // namespace
