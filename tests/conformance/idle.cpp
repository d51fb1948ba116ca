// A17: waiting until nothing is under way.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::ReceiveTimeout;
using support::Clock;
using support::Door;
using namespace std::chrono_literals;

class Idle : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Idle);

struct Spread {
  int depth;
};

// Sends two messages for each that it gets, to others, until the depth is used up.
class Spreader {
 public:
  struct Know {
    std::vector<Address<Spreader>> others;
  };
  explicit Spreader(std::atomic<long>* handled) : handled_(handled) {}
  void receive(Know know) { others_ = std::move(know.others); }
  void receive(Spread spread) {
    ++*handled_;
    if (spread.depth == 0) return;
    for (int i = 0; i < 2; ++i) {
      next_ = (next_ + 7) % others_.size();
      others_[next_].send(Spread{spread.depth - 1});
    }
  }

 private:
  std::atomic<long>* handled_;
  std::vector<Address<Spreader>> others_;
  std::size_t next_ = 0;
};

// A17: not one message is missing when it returns, again and again.
TEST_P(Idle, comes_when_every_message_and_what_it_led_to_has_been_handled) {
  std::atomic<long> handled{0};
  std::vector<Address<Spreader>> spreaders;
  for (std::size_t i = 0; i < 12; ++i) {
    spreaders.push_back(runtime.spawn_with<Spreader>(on_core(i), &handled));
  }
  for (const auto& spreader : spreaders) spreader.send(Spreader::Know{spreaders});
  wait_for_idle();
  for (int round = 0; round < 300; ++round) {
    const int depth = round % 8;
    handled = 0;
    spreaders[static_cast<std::size_t>(round) % spreaders.size()].send(Spread{depth});
    wait_for_idle();
    ASSERT_EQ(handled, (2 << depth) - 1) << "round " << round;
  }
}

// A17
TEST_P(Idle, stops_nothing) {
  std::atomic<int> answered{0};
  const auto door = runtime.spawn<Door>();
  for (int i = 0; i < 10; ++i) {
    wait_for_idle();
    EXPECT_TRUE(runtime.running());
    if (door.ask(Door::Waiting{}, support::kDeadline) == 0u) ++answered;
  }
  EXPECT_EQ(answered, 10);
  EXPECT_EQ(runtime.stats().actors_ended, 0u);
}

// A17
TEST_P(Idle, does_not_come_while_a_handler_is_blocked) {
  const auto door = runtime.spawn<Door>();
  wait_for_idle();
  runtime.spawn_with(
      on_core(1), [door] { EXPECT_TRUE(door.ask(Door::Pass{}, bulkhead::kForever).has_value()); });
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 1u; }));
  EXPECT_FALSE(runtime.wait_for_idle(20ms));
  EXPECT_FALSE(runtime.wait_for_idle(0ms));
  door.send(Door::Open{});
  wait_for_idle();
}

// A17
TEST_P(Idle, can_be_waited_for_by_several_threads) {
  std::atomic<int> idle{0};
  const auto door = runtime.spawn<Door>();
  runtime.spawn_with(
      on_core(1), [door] { EXPECT_TRUE(door.ask(Door::Pass{}, bulkhead::kForever).has_value()); });
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 1u; }));
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([this, &idle] {
      if (runtime.wait_for_idle(support::kDeadline)) ++idle;
    });
  }
  EXPECT_EQ(idle, 0);
  door.send(Door::Open{});
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(idle, 4);
}

class Countdown {
 public:
  Countdown(std::atomic<int>* fired, bulkhead::Timeout interval)
      : fired_(fired), interval_(interval) {}
  auto receive_timeout() const { return interval_; }
  void receive(ReceiveTimeout /*timeout*/) { ++*fired_; }
  void receive(int /*message*/) {}

 private:
  std::atomic<int>* fired_;
  bulkhead::Timeout interval_;
};

// A17
TEST_P(Idle, waits_for_countdowns) {
  std::atomic<int> fired{0};
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with<Countdown>(on_core(i), &fired, std::chrono::milliseconds(i));
  }
  wait_for_idle();
  EXPECT_EQ(fired, 20);
}

// A17
TEST_P(Idle, does_not_come_while_a_long_countdown_runs) {
  std::atomic<int> fired{0};
  const auto start = Clock::now();
  const auto countdown = runtime.spawn_with<Countdown>(on_core(1), &fired, 1h);
  EXPECT_FALSE(runtime.wait_for_idle(20ms));
  runtime.shutdown();
  EXPECT_LT(Clock::now() - start, 10s) << "a shutdown does not wait for countdowns";
  EXPECT_EQ(fired, 0);
  EXPECT_EQ(runtime.stats().actors(), 0u);
  EXPECT_NE(countdown.send(1), bulkhead::Delivery::kQueued);
}

// A17: a message of a timer has not been sent before its time.
TEST_P(Idle, does_not_wait_for_timers) {
  std::atomic<int> fired{0};
  const auto countdown = runtime.spawn_with<Countdown>(on_core(1), &fired, bulkhead::kForever);
  class Starter {
   public:
    explicit Starter(Address<Countdown> to) : to_(to) {}
    void started() { bulkhead::send_after(1h, to_, 1); }
    void receive(int /*message*/) {}

   private:
    Address<Countdown> to_;
  };
  runtime.spawn<Starter>(countdown);
  wait_for_idle();
}

// A17: what is dropped is not under way either.
TEST_P(Idle, counts_messages_that_are_dropped) {
  const auto victim = runtime.spawn_with<Door>(on_core(1));
  for (int i = 0; i < 100; ++i) {
    victim.send(Door::Open{});
    if (i == 50) bulkhead::stop(victim);
  }
  wait_for_idle();
  runtime.spawn([] {
    for (int i = 0; i < 100; ++i) {
      const auto other = bulkhead::spawn<Door>();
      bulkhead::stop(other);
      other.send(Door::Open{});
      other.send(Door::Open{});
    }
    bulkhead::panic("failed");
  });
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

// A17
TEST_P(Idle, is_refused_in_an_actor) {
  std::atomic<int> refused{0};
  runtime.spawn([&] {
    EXPECT_THROW(runtime.wait_for_idle(1ms), std::logic_error);
    ++refused;
  });
  wait_for_idle();
  EXPECT_EQ(refused, 1);
}

// A17
TEST_P(Idle, is_a_runtime_that_does_not_run) {
  bulkhead::Runtime other(config());
  EXPECT_TRUE(other.wait_for_idle(support::kDeadline));
  other.start();
  other.shutdown();
  EXPECT_TRUE(other.wait_for_idle(support::kDeadline));
}

// A17: threads outside go on sending while others wait; each idle that is reported was one.
TEST_P(Idle, comes_now_and_then_while_threads_outside_send) {
  std::atomic<long> handled{0};
  std::vector<Address<Spreader>> spreaders;
  for (std::size_t i = 0; i < 6; ++i) {
    spreaders.push_back(runtime.spawn_with<Spreader>(on_core(i), &handled));
  }
  for (const auto& spreader : spreaders) spreader.send(Spreader::Know{spreaders});
  wait_for_idle();
  std::vector<std::thread> senders;
  for (int t = 0; t < 3; ++t) {
    senders.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        spreaders[static_cast<std::size_t>(t + i) % spreaders.size()].send(Spread{4});
        EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  wait_for_idle();
  EXPECT_EQ(handled, 3 * 200 * 31);
}

// A17, and silence: with nothing to do no core wakes up.
TEST_P(Idle, cores_sleep_and_do_not_wake_for_nothing) {
  wait_for_idle();
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().slept >= cores(); }));
  // A timer outside the runtime measures the time; nothing in it runs meanwhile.
  std::uint64_t before = runtime.stats().slept;
  EXPECT_TRUE(support::eventually([&] {
    const std::uint64_t now = runtime.stats().slept;
    return now == std::exchange(before, now);
  }));
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(runtime.stats().slept, before);
}

}  // namespace
