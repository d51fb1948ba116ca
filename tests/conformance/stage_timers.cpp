// B11, B12, B13: timers and requests on a stage, where they are bounded.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stage.hpp>

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
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

struct Keep {
  using Answer = int;
};
struct Release {};
class Keeper {
 public:
  void receive(Keep /*message*/, Reply<int> reply) { kept_.push_back(std::move(reply)); }
  void receive(Release /*message*/) {
    for (Reply<int>& reply : kept_) reply(5);
    kept_.clear();
  }

 private:
  std::vector<Reply<int>> kept_;
};

// Takes all three records, and gives them back, round after round.
class Asker {
 public:
  Asker(Address<Keeper> keeper, int& rounds) : keeper_(keeper), rounds_(rounds) {}
  void started() { fill(); }
  void receive(Tick /*message*/) { ADD_FAILURE(); }
  void receive(const Response<int>& response) {
    EXPECT_EQ(response.result, 5);
    if (--pending_ > 0) return;
    EXPECT_TRUE(cancel(timer_));
    if (++rounds_ < 100) {
      fill();
    } else {
      stop(keeper_);
      this_actor::stop();
    }
  }

 private:
  void fill() {
    const auto me = this_actor::address(this);
    timer_ = rounds_ % 2 == 0 ? send_after(1h, me, Tick{}) : send_every(1h, me, Tick{});
    for (pending_ = 0; pending_ < 2; ++pending_) this_actor::request(this, keeper_, Keep{}, 1h);
    EXPECT_THROW(this_actor::request(this, keeper_, Keep{}, 1h), CapacityError);
    EXPECT_THROW(send_after(1h, me, Tick{}), CapacityError);
    EXPECT_THROW(send_every(1h, me, Tick{}), CapacityError);
    keeper_.send(Release{});
  }

  Address<Keeper> keeper_;
  int& rounds_;
  int pending_ = 0;
  TimerRef timer_;
};

TEST(StageTimers, and_pending_requests_are_bounded_together) {
  Stage stage(config_for(2, 3));
  int rounds = 0;
  const auto keeper = stage.spawn<Keeper>();
  stage.spawn<Asker>(keeper, rounds);
  EXPECT_EQ(stage.run(kDeadline), Stage::End::kNobodyLives);
  EXPECT_EQ(rounds, 100);
}

// Whoever ends leaves room for the next one.
TEST(StageTimers, of_those_who_end_are_free_again) {
  struct Leaving {
    Leaving(Address<Keeper> its_keeper, bool it_fails) : keeper(its_keeper), fails(it_fails) {}
    void started() {
      send_every(1h, this_actor::address(this), Tick{});
      for (int i = 0; i < 2; ++i) this_actor::request(this, keeper, Keep{}, 1h);
      EXPECT_THROW(this_actor::request(this, keeper, Keep{}, 1h), CapacityError);
      if (fails) panic("failed");
      this_actor::stop();
    }
    void receive(Tick /*message*/) { ADD_FAILURE(); }
    void receive(const Response<int>& /*response*/) { ADD_FAILURE(); }
    Address<Keeper> keeper;
    bool fails;
  };
  Stage stage(config_for(2, 3));
  const auto keeper = stage.spawn<Keeper>();
  for (int i = 0; i < 20; ++i) {
    stage.spawn<Leaving>(keeper, i % 2 == 0);
    EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
  }
  keeper.send(Release{});
  EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
  EXPECT_EQ(stage.stats().dropped_for(DropCause::kLateReply), 40u);
}

// Threads outside answer while the requester ends: no record is lost, whoever is first.
TEST(StageTimers, of_those_who_are_just_answered_are_free_again) {
  struct Threads {
    void receive(Keep /*message*/, Reply<int> reply) {
      thread = std::thread([reply = std::move(reply), wait = count++ % 40]() mutable {
        support::burn(std::chrono::microseconds(wait));
        reply(5);
      });
    }
    void receive(Release /*message*/) { thread.join(); }
    std::thread thread;
    int count = 0;
  };
  struct Leaving {
    explicit Leaving(Address<Threads> its_threads) : threads(its_threads) {}
    void started() {
      EXPECT_NE(this_actor::request(this, threads, Keep{}, 1h), RequestRef());
      this_actor::sleep_for(std::chrono::nanoseconds(1));
      this_actor::stop();
    }
    void receive(const Response<int>& /*response*/) {}
    Address<Threads> threads;
  };
  Stage stage(config_for(2, 1));
  const auto threads = stage.spawn<Threads>();
  for (int i = 0; i < 500; ++i) {
    stage.spawn<Leaving>(threads);
    while (stage.stats().actors() == 2) static_cast<void>(stage.run(std::chrono::microseconds(10)));
    threads.send(Release{});
    static_cast<void>(stage.run(std::chrono::microseconds(10)));
  }
  stop(threads);
  EXPECT_EQ(stage.run(kDeadline), Stage::End::kNobodyLives);
}

}  // namespace
