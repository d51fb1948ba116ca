// D3, A18: a handler that is stuck while all others are ended goes on, when it comes back, until it
// waits: it can reach nobody any more. What was wrong: it was told to end at its next call.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "support/process.hpp"
#include "support/wait.hpp"

namespace {

using support::eventually;
using namespace std::chrono_literals;

struct Sink {
  void receive(int /*message*/) {}
};

TEST(LateHandlers, are_told_when_they_end_and_reach_nobody) {
  bulkhead::Config config;
  config.cores = 2;
  bulkhead::Runtime runtime(config);
  runtime.start();
  const auto sink = runtime.spawn<Sink>();
  std::atomic<bool> go_on{false};
  std::atomic<bool> refused{false};
  std::atomic<bool> went_on{false};
  std::optional<bulkhead::Delivery> sent;
  runtime.spawn([&] {
    while (!go_on) {
    }
    sent = sink.send(1);
    try {
      bulkhead::spawn<Sink>();
    } catch (const bulkhead::SpawnError&) {
      refused = true;
    }
    bulkhead::check();
    went_on = true;
  });
  ASSERT_TRUE(eventually([&] { return runtime.stats().away == 1; }));
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] { return runtime.stats().actors_ended == 1; }));
    go_on = true;
  });
  const std::string said = support::stderr_of([&] { runtime.shutdown(10ms); });
  later.join();
  EXPECT_EQ(sent, bulkhead::Delivery::kGone);
  EXPECT_TRUE(refused);
  EXPECT_FALSE(went_on) << "it ends at check()";
  EXPECT_NE(said.find("is still stuck in a handler, with 0 messages waiting; it is ended when that "
                      "returns, waits, or calls check()"),
            std::string::npos)
      << said;
}

}  // namespace
