// A21, C10: how preemption is switched on and off, by the program and by the environment; and what
// it does between messages.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstdlib>
#include <string>

#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Config;
using bulkhead::Runtime;
using namespace std::chrono_literals;

struct Ping {};

// --- between messages (A21) ----------------------------------------------------------------------

// Messages that an actor has handled when another one of its core has its first turn.
class Slow {
 public:
  Slow(int* handled, std::chrono::microseconds time) : handled_(handled), time_(time) {}
  void receive(Ping /*message*/) {
    support::burn(time_);
    ++*handled_;
  }

 private:
  int* handled_;
  std::chrono::microseconds time_;
};

int handled_at_the_others_turn(Config config, std::chrono::microseconds each) {
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // or long batches are cut short
  Runtime runtime(config);
  runtime.start();
  int handled = 0;
  int seen = -1;
  const auto slow = runtime.spawn<Slow>(&handled, each);
  runtime.spawn([&] {
    for (int i = 0; i < 200; ++i) slow.send(Ping{});
    this_actor::yield();
    seen = handled;
  });
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(handled, 200);
  return seen;
}

TEST(BatchesByTime, are_off_by_default) {
  EXPECT_GE(handled_at_the_others_turn(Config{}, 100us), 64);
}

TEST(BatchesByTime, end_when_time_is_up) {
  Config config;
  config.message_slice = 1ms;
  const int seen = handled_at_the_others_turn(config, 200us);
  EXPECT_GE(seen, 1);
  EXPECT_LE(seen, 7);
  config.message_slice = 1us;
  EXPECT_LE(handled_at_the_others_turn(config, 200us), 2);
}

TEST(BatchesByTime, are_whole_while_time_lasts) {
  Config config;
  config.message_slice = 1h;
  EXPECT_GE(handled_at_the_others_turn(config, 0us), 60);
}

class PreemptionInTheEnvironment : public testing::Test {
 protected:
  ~PreemptionInTheEnvironment() override {
    unsetenv("BULKHEAD_PREEMPT");
    unsetenv("BULKHEAD_PREEMPT_MS");
  }
  static std::string error_of_runtime() {
    try {
      const Runtime runtime;
    } catch (const bulkhead::ConfigError& error) {
      return error.what();
    }
    return "none";
  }
};

TEST_F(PreemptionInTheEnvironment, is_switched_on) {
  setenv("BULKHEAD_PREEMPT", "1", 1);
  EXPECT_LE(handled_at_the_others_turn(Config{}, 200us), 7);
  setenv("BULKHEAD_PREEMPT_MS", "3600000", 1);
  EXPECT_GE(handled_at_the_others_turn(Config{}, 100us), 60);
  setenv("BULKHEAD_PREEMPT_MS", "1", 1);
  setenv("BULKHEAD_PREEMPT", "0", 1);
  EXPECT_GE(handled_at_the_others_turn(Config{}, 100us), 64);
}

TEST_F(PreemptionInTheEnvironment, gives_way_to_the_program) {
  setenv("BULKHEAD_PREEMPT", "1", 1);
  Config config;
  config.message_slice = 0ns;
  EXPECT_GE(handled_at_the_others_turn(config, 100us), 64);
}

TEST_F(PreemptionInTheEnvironment, is_refused_when_malformed) {
  for (const char* const text : {" ", "yes", "2", "-1", "1 ", "01x", "1.0"}) {
    setenv("BULKHEAD_PREEMPT", text, 1);
    const std::string error = error_of_runtime();
    EXPECT_NE(error.find("BULKHEAD_PREEMPT is \"" + std::string(text) + "\""), std::string::npos)
        << error;
    EXPECT_NE(error.find("from 0 to 1"), std::string::npos) << error;
  }
  for (const char* const on : {"0", "1"}) {
    setenv("BULKHEAD_PREEMPT", on, 1);
    for (const char* const text : {"0", "-5", "1.5", "3600001", "ten", "99999999999999999999"}) {
      setenv("BULKHEAD_PREEMPT_MS", text, 1);
      const std::string error = error_of_runtime();
      EXPECT_NE(error.find("BULKHEAD_PREEMPT_MS is \"" + std::string(text) + "\""),
                std::string::npos)
          << error;
      EXPECT_NE(error.find("from 1 to 3600000"), std::string::npos) << error;
    }
    unsetenv("BULKHEAD_PREEMPT_MS");
  }
  EXPECT_EQ(error_of_runtime(), "none");
}

// --- settings ------------------------------------------------------------------------------------

template <class Change>
std::string error_of(Change change) {
  Config config;
  change(config);
  try {
    const Runtime runtime(config);
  } catch (const bulkhead::ConfigError& error) {
    return error.what();
  }
  return "none";
}

void expect_error(const std::string& error, const std::string& setting) {
  EXPECT_NE(error.find("bulkhead: Config::" + setting + " is "), std::string::npos) << error;
  EXPECT_NE(error.find("it must be "), std::string::npos) << error;
}

TEST(BadPreemption, is_refused) {
  expect_error(error_of([](Config& config) { config.time_slice = -1ns; }), "time_slice");
  expect_error(error_of([](Config& config) { config.time_slice = 10s + 1ns; }), "time_slice");
  expect_error(error_of([](Config& config) { config.preempt_allocations = 1'000'000'001; }),
               "preempt_allocations");
  expect_error(error_of([](Config& config) { config.preempt_reductions = 1'000'000'000'001; }),
               "preempt_reductions");
  expect_error(error_of([](Config& config) { config.message_slice = -1ms; }), "message_slice");
  expect_error(error_of([](Config& config) { config.message_slice = 999ns; }), "message_slice");
  expect_error(error_of([](Config& config) { config.message_slice = 1h + 1ns; }), "message_slice");
}

TEST(BadPreemption, has_limits_that_are_good) {
  EXPECT_EQ(error_of([](Config& config) {
              config.time_slice = 10s;
              config.preempt_allocations = 1'000'000'000;
              config.preempt_reductions = 1'000'000'000'000;
              config.message_slice = 1h;
            }),
            "none");
  EXPECT_EQ(error_of([](Config& config) {
              config.time_slice = 0ns;
              config.preempt_allocations = 1;
              config.preempt_reductions = 1;
              config.message_slice = 1us;
            }),
            "none");
}

}  // namespace
