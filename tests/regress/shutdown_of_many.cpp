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

std::string shutdown_with(int actors, std::chrono::milliseconds each) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // one after the other
  bulkhead::Runtime runtime(config);
  runtime.start();
  for (int i = 0; i < actors; ++i) runtime.spawn<SlowToEnd>(each);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  return support::stderr_of([&] { runtime.shutdown(); });
}

TEST(ShutdownOfMany, is_silent_while_they_end) { EXPECT_EQ(shutdown_with(64, kLooks / 50), ""); }

TEST(ShutdownOfMany, says_whom_it_waits_for_when_none_ends) {
  const std::string said = shutdown_with(1, kLooks + 500ms);
  EXPECT_NE(said.find("shutdown waits for"), std::string::npos) << said;
}

}  // namespace
