// A16: the receive timeout.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::ReceiveTimeout;
using support::Clock;
using namespace std::chrono_literals;

class ReceiveTimeouts : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(ReceiveTimeouts);

struct Message {};
struct SetInterval {
  bulkhead::Timeout interval;
};
struct Sleep {
  Clock::duration time;
};

// What a watched actor has done, and when.
struct Watched {
  std::atomic<int> messages{0};
  std::atomic<int> timeouts{0};
  std::atomic<int> early{0};
};

// Has a timeout, and checks that it does not come early.
class Watcher {
 public:
  Watcher(Watched* watched, bulkhead::Timeout interval) : watched_(watched), interval_(interval) {}

  void started() { waits_since_ = Clock::now(); }
  auto receive_timeout() const { return interval_; }
  void receive(ReceiveTimeout /*timeout*/) {
    if (Clock::now() - waits_since_ < std::chrono::nanoseconds(interval_.nanoseconds())) {
      ++watched_->early;
    }
    ++watched_->timeouts;
  }
  void receive(Message /*message*/) {
    ++watched_->messages;
    waits_since_ = Clock::now();
  }
  void receive(SetInterval set) {
    interval_ = set.interval;
    waits_since_ = Clock::now();
  }
  void receive(Sleep sleep) {
    this_actor::sleep_for(sleep.time);
    waits_since_ = Clock::now();
  }

 private:
  Watched* watched_;
  bulkhead::Timeout interval_;
  Clock::time_point waits_since_;
};

// A16
TEST_P(ReceiveTimeouts, count_from_the_spawn_and_fire_once) {
  Watched watched;
  Watched longer;
  const auto start = Clock::now();
  runtime.spawn_with<Watcher>(on_core(1), &watched, 10ms);
  runtime.spawn_with<Watcher>(on_core(1), &longer, 50ms);
  wait_for_idle();
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_EQ(longer.timeouts, 1);
  EXPECT_EQ(watched.timeouts, 1) << "though there was time for four more";
  EXPECT_EQ(watched.early + longer.early, 0);
}

// A16
TEST_P(ReceiveTimeouts, are_started_again_by_each_message_and_by_nothing_else) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, 5ms);
  wait_for_idle();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(watched.timeouts, i);
    watcher.send(Message{});
    wait_for_idle();
  }
  EXPECT_EQ(watched.timeouts, 6);
  EXPECT_EQ(watched.messages, 5);
  EXPECT_EQ(watched.early, 0);
}

// A16: each message starts the countdown from the beginning, so it does not fire while they keep
// coming.
TEST_P(ReceiveTimeouts, are_stopped_by_a_message) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, 400ms);
  runtime.spawn([watcher] {
    const auto start = Clock::now();
    while (Clock::now() - start < 800ms) {
      watcher.send(Message{});
      this_actor::sleep_for(2ms);
    }
    watcher.send(SetInterval{1ms});
  });
  wait_for_idle();
  EXPECT_GT(watched.messages, 1);
  EXPECT_EQ(watched.timeouts, 1) << "only the last, of 1 ms";
  EXPECT_EQ(watched.early, 0);
}

// A16
TEST_P(ReceiveTimeouts, take_their_interval_from_the_state_of_the_actor) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, bulkhead::kForever);
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 0) << "for ever is no timeout, and not waited for";
  const auto start = Clock::now();
  watcher.send(SetInterval{20ms});
  wait_for_idle();
  EXPECT_GE(Clock::now() - start, 20ms);
  EXPECT_EQ(watched.timeouts, 1);
  watcher.send(SetInterval{0ms});
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 2) << "zero is a timeout like any other";
  watcher.send(SetInterval{bulkhead::kForever});
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 2);
  EXPECT_EQ(watched.early, 0);
}

// A16: its own handler keeps it going by a message, as often as it likes.
TEST_P(ReceiveTimeouts, can_keep_themselves_going) {
  class Poller {
   public:
    explicit Poller(std::atomic<int>* ticks) : ticks_(ticks) {}
    auto receive_timeout() const { return 2ms; }
    void receive(ReceiveTimeout /*timeout*/) {
      if (++*ticks_ < 5) this_actor::address(this).send(Message{});
    }
    void receive(Message /*message*/) {}

   private:
    std::atomic<int>* ticks_;
  };
  std::atomic<int> ticks{0};
  const auto start = Clock::now();
  runtime.spawn_with<Poller>(on_core(1), &ticks);
  wait_for_idle();
  EXPECT_EQ(ticks, 5);
  EXPECT_GE(Clock::now() - start, 10ms);
}

// A16: the countdown runs while the actor waits, not while its handler does.
TEST_P(ReceiveTimeouts, do_not_run_while_a_handler_is_blocked) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, bulkhead::kForever);
  watcher.send(SetInterval{50ms});
  watcher.send(Sleep{100ms});
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 1);
  EXPECT_EQ(watched.early, 0);
}

// A16
TEST_P(ReceiveTimeouts, do_not_fire_between_messages_that_wait_already) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, 0ms);
  wait_for_idle();
  const int before = watched.timeouts;
  watcher.send(Sleep{20ms});
  for (int i = 0; i < 500; ++i) watcher.send(Message{});
  wait_for_idle();
  EXPECT_EQ(watched.messages, 500);
  EXPECT_EQ(watched.timeouts, before + 1);
}

// A16, A19
TEST_P(ReceiveTimeouts, that_throw_end_their_actor_alone) {
  class Throwing {
   public:
    auto receive_timeout() const { return 1ms; }
    void receive(ReceiveTimeout /*timeout*/) { throw std::runtime_error("failed"); }
    void receive(Message /*message*/) {}
  };
  Watched watched;
  const auto throwing = runtime.spawn_with<Throwing>(on_core(1));
  runtime.spawn_with<Watcher>(on_core(1), &watched, 2ms);
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
  EXPECT_EQ(throwing.send(Message{}), bulkhead::Delivery::kGone);
  EXPECT_EQ(watched.timeouts, 1);
}

// A16, A19: the interval is the actor's own code, and its failures are the actor's.
TEST_P(ReceiveTimeouts, whose_interval_is_no_interval_end_their_actor_alone) {
  class Negative {
   public:
    auto receive_timeout() const { return interval_; }
    void receive(ReceiveTimeout /*timeout*/) {}
    void receive(Message /*message*/) { interval_ = -1ms; }

   private:
    std::chrono::milliseconds interval_{1};
  };
  class Throwing {
   public:
    bulkhead::Timeout receive_timeout() const { throw std::runtime_error("failed"); }
    void receive(ReceiveTimeout /*timeout*/) {}
  };
  runtime.spawn_with<Throwing>(on_core(1));
  const auto negative = runtime.spawn_with<Negative>(on_core(1));
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
  negative.send(Message{});
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 2u);
}

// A16
TEST_P(ReceiveTimeouts, may_stop_their_actor) {
  class Brief {
   public:
    auto receive_timeout() const { return 1ms; }
    void receive(ReceiveTimeout /*timeout*/) {
      this_actor::address(this).send(Message{});
      this_actor::stop();
    }
    void receive(Message /*message*/) { ADD_FAILURE() << "handled after the stop"; }
  };
  runtime.spawn_with<Brief>(on_core(1));
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors(), 0u);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 1u);
}

// A16, A17
TEST_P(ReceiveTimeouts, of_the_dead_are_not_waited_for) {
  Watched watched;
  const auto start = Clock::now();
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, 1h);
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().handled == 1; }));
  bulkhead::stop(watcher);
  wait_for_idle();
  EXPECT_LT(Clock::now() - start, support::kDeadline);
  EXPECT_EQ(watched.timeouts, 0);
}

// A16: a handler of a timeout may block, and messages that come meanwhile wait for it.
TEST_P(ReceiveTimeouts, may_block) {
  class Blocking {
   public:
    explicit Blocking(support::Log<int>* log) : log_(log) {}
    auto receive_timeout() const { return 1ms; }
    void receive(ReceiveTimeout /*timeout*/) {
      log_->add(1);
      this_actor::address(this).send(Message{});
      this_actor::sleep_for(5ms);
      log_->add(2);
    }
    void receive(Message /*message*/) {
      log_->add(3);
      this_actor::stop();
    }

   private:
    support::Log<int>* log_;
  };
  support::Log<int> log;
  runtime.spawn_with<Blocking>(on_core(1), &log);
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2, 3}));
}

// A16: a message that comes as the countdown ends stops it or does not; both are counted right.
TEST_P(ReceiveTimeouts, and_messages_at_the_same_moment_leave_nothing_behind) {
  Watched watched;
  const auto watcher = runtime.spawn_with<Watcher>(on_core(1), &watched, 1ms);
  runtime.spawn_with(on_core(0), [watcher] {
    for (int i = 0; i < 300; ++i) {
      watcher.send(Message{});
      this_actor::sleep_for(std::chrono::microseconds(900 + i));
    }
  });
  wait_for_idle();
  EXPECT_EQ(watched.messages, 300);
  EXPECT_EQ(watched.early, 0);
  EXPECT_GE(watched.timeouts, 1);
  EXPECT_LE(watched.timeouts, 301);
  const int before = watched.timeouts;
  watcher.send(Message{});
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, before + 1) << "the next one is waited for, and fires once";
}

// A16: a timer's message and the timeout of its receiver may be due at once.
TEST_P(ReceiveTimeouts, and_timers_at_the_same_moment_leave_nothing_behind) {
  class Both {
   public:
    Both(std::atomic<int>* timeouts, std::atomic<int>* messages)
        : timeouts_(timeouts), messages_(messages) {}
    void started() { bulkhead::send_after(3ms, this_actor::address(this), Message{}); }
    auto receive_timeout() const { return 3ms; }
    void receive(ReceiveTimeout /*timeout*/) { ++*timeouts_; }
    void receive(Message /*message*/) {
      if (++*messages_ < 20) bulkhead::send_after(3ms, this_actor::address(this), Message{});
    }

   private:
    std::atomic<int>* timeouts_;
    std::atomic<int>* messages_;
  };
  std::atomic<int> timeouts{0};
  std::atomic<int> messages{0};
  const auto both = runtime.spawn_with<Both>(on_core(1), &timeouts, &messages);
  ASSERT_TRUE(support::eventually([&] { return messages == 20; }));
  wait_for_idle();
  const int before = timeouts;
  EXPECT_GE(before, 1);
  both.send(Message{});
  wait_for_idle();
  EXPECT_EQ(timeouts, before + 1) << "it is waited for, and fires once";
}

// A16, A22
TEST_P(ReceiveTimeouts, work_for_actors_with_a_thread_of_their_own) {
  Watched watched;
  bulkhead::SpawnOptions own;
  own.own_thread = true;
  const auto watcher = runtime.spawn_with<Watcher>(own, &watched, 5ms);
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 1);
  watcher.send(Message{});
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, 2);
  EXPECT_EQ(watched.early, 0);
}

// A16: thousands at once.
TEST_P(ReceiveTimeouts, of_thousands_of_actors_fire_once_each) {
  constexpr int kActors = 20'000;
  Watched watched;
  for (int i = 0; i < kActors; ++i) {
    runtime.spawn_with<Watcher>(on_core(static_cast<std::size_t>(i)), &watched,
                                std::chrono::milliseconds(i % 50));
  }
  wait_for_idle();
  EXPECT_EQ(watched.timeouts, kActors);
  EXPECT_EQ(watched.early, 0);
}

}  // namespace
