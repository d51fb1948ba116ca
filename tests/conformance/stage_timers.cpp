// B11, B13: timers on a stage, where they are bounded.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stage.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

#include "support/wait.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;
using support::Clock;
using support::kDeadline;

StageConfig config_for(std::size_t actors, std::size_t timers) {
  StageConfig config;
  config.actors = actors;
  config.timers = timers;
  config.mailbox = 4;
  config.log.format = LogFormat::kOff;
  return config;
}

struct Tick {};

TEST(StageTimers, tick_until_cancelled) {
  class Clockwork {
   public:
    explicit Clockwork(std::vector<Clock::time_point>& times) : times_(times) {}
    void started() { timer_ = send_every(2ms, this_actor::address(this), Tick{}); }
    void receive(Tick /*message*/) {
      times_.push_back(Clock::now());
      if (times_.size() == 5) {
        EXPECT_TRUE(cancel(timer_));
      }
    }

   private:
    std::vector<Clock::time_point>& times_;
    TimerRef timer_;
  };
  Stage stage(config_for(1, 1));
  std::vector<Clock::time_point> times;
  const auto begun = Clock::now();
  stage.spawn<Clockwork>(times);
  EXPECT_EQ(stage.run(60ms), Stage::End::kDeadline);
  ASSERT_EQ(times.size(), 5u);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i] - begun, 2ms * (i + 1));
  }
}

// Ticks that fall due between two runs are left out, but for one.
TEST(StageTimers, do_not_catch_up_on_what_was_missed) {
  struct Counting {
    explicit Counting(int& its_count) : count(its_count) {}
    void started() { send_every(1ms, this_actor::address(this), Tick{}); }
    void receive(Tick /*message*/) { ++count; }
    int& count;
  };
  Stage stage(config_for(1, 1));
  int count = 0;
  stage.spawn<Counting>(count);
  EXPECT_EQ(stage.run(0ms), Stage::End::kDeadline);
  support::burn(50ms);
  count = 0;
  EXPECT_EQ(stage.run(500us), Stage::End::kDeadline);
  EXPECT_LE(count, 2);
}

// Mail without end and timers: neither delays the other.
TEST(StageTimers, take_turns_with_endless_mail) {
  class Endless {
   public:
    explicit Endless(std::vector<long>& at) : at_(at) {}
    void started() {
      this_actor::address(this).send(1);
      send_every(1ms, this_actor::address(this), Tick{});
    }
    void receive(int message) {
      ++mail_;
      EXPECT_EQ(this_actor::address(this).send(message), Delivery::kQueued);
    }
    void receive(Tick /*message*/) {
      at_.push_back(mail_);
      if (at_.size() == 10) this_actor::stop();
    }

   private:
    std::vector<long>& at_;
    long mail_ = 0;
  };
  Stage stage(config_for(1, 1));
  std::vector<long> at;
  stage.spawn<Endless>(at);
  EXPECT_EQ(stage.run(kDeadline), Stage::End::kNobodyLives);
  for (std::size_t i = 1; i < at.size(); ++i) EXPECT_GT(at[i], at[i - 1]);
}

}  // namespace
