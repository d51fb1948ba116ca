// B11: messages that are sent again and again, until they are cancelled, or somebody ends.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/counted.hpp"
#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::cancel;
using bulkhead::send_every;
using bulkhead::TimerRef;
using support::Counted;
using support::expect_none_alive;
using namespace std::chrono_literals;

class TicksEnding : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(TicksEnding);

struct Tick {};

const std::string kLong(100, 'x');

TEST_P(TicksEnding, those_in_the_own_mailbox_are_not_handled_when_cancelled) {
  struct Go {};
  class Canceller {
   public:
    void receive(Go /*message*/) {
      const TimerRef timer = send_every(1ms, this_actor::address(this), Tick{});
      this_actor::sleep_for(10ms);
      EXPECT_TRUE(cancel(timer));
      EXPECT_FALSE(cancel(timer));
    }
    void receive(Tick /*message*/) { ADD_FAILURE() << "it was cancelled"; }
  };
  std::vector<Address<Canceller>> all;
  for (std::size_t i = 0; i < 10; ++i) all.push_back(runtime.spawn_with<Canceller>(on_core(i)));
  for (int round = 0; round < 3; ++round) {
    for (const auto& each : all) each.send(Go{});
  }
  wait_for_idle();
  runtime.spawn([] { this_actor::sleep_for(10ms); });
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u) << "nothing was lost";
}

TEST_P(TicksEnding, may_come_by_their_own_handler) {
  class Three {
   public:
    explicit Three(std::atomic<int>* count) : count_(count) {}
    void started() { timer_ = send_every(1ms, this_actor::address(this), Counted(kLong)); }
    void receive(Counted message) {
      if (++*count_ == 3) {
        EXPECT_TRUE(cancel(timer_));
      }
      EXPECT_EQ(message.text(), kLong);
    }

   private:
    std::atomic<int>* count_;
    TimerRef timer_;
  };
  std::atomic<int> count{0};
  runtime.spawn_with<Three>(on_core(1), &count);
  ASSERT_TRUE(support::eventually([&] { return count == 3; }));
  runtime.spawn([] { this_actor::sleep_for(10ms); });
  wait_for_idle();
  EXPECT_EQ(count, 3);
  expect_none_alive();
}

TEST_P(TicksEnding, tells_what_was_left) {
  runtime.spawn_with<bulkhead::Mailbox<Tick>>(on_core(1), [](bulkhead::Mailbox<Tick>& mailbox) {
    std::chrono::nanoseconds left{};
    const TimerRef timer = send_every(1h, mailbox.address(), Tick{});
    this_actor::sleep_for(2ms);
    EXPECT_TRUE(cancel(timer, &left));
    EXPECT_LE(left, 1h - 2ms);
    EXPECT_GT(left, 1h - 1min);
    // A deadline that no clock has comes at the last instant.
    const TimerRef last = send_every(std::chrono::hours(24 * 365 * 291), mailbox.address(), Tick{});
    this_actor::sleep_for(2ms);
    EXPECT_FALSE(mailbox.next_for(0ms, [](Tick) {}));
    EXPECT_TRUE(cancel(last, &left));
    EXPECT_GT(left, std::chrono::hours(24 * 365 * 100));
  });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
}

TEST_P(TicksEnding, ends_with_the_actor_that_started_them) {
  std::atomic<int> count{0};
  class Sink {
   public:
    explicit Sink(std::atomic<int>* count) : count_(count) {}
    void receive(const Counted& /*message*/) { ++*count_; }

   private:
    std::atomic<int>* count_;
  };
  const auto sink = runtime.spawn_with<Sink>(on_core(1), &count);
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [sink, i, &count] {
      send_every(1ms, sink, Counted(kLong));
      while (count < 40) this_actor::sleep_for(1ms);
      if (i % 2 == 0) bulkhead::panic("failed");
    });
  }
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 1; }));
  wait_for_idle();
  EXPECT_EQ(Counted::alive(), 0);
  const int then = count;
  runtime.spawn([] { this_actor::sleep_for(10ms); });
  wait_for_idle();
  EXPECT_EQ(count, then);
}

// Whoever starts and ends them, and whoever gets them, does so at any time.
TEST_P(TicksEnding, loses_nothing_whatever_happens) {
  class Target {
   public:
    void receive(Counted message) {
      if (message.text() != kLong) ADD_FAILURE();
      if (++count_ == 30) this_actor::stop();
    }

   private:
    int count_ = 0;
  };
  const std::uint64_t seed = support::seed_of_test();
  for (std::size_t i = 0; i < 4 * cores(); ++i) {
    runtime.spawn_with(on_core(i), [seed, i, options = on_core(i + 1)] {
      support::Random random(seed + i);
      std::vector<TimerRef> timers;
      for (int round = 0; round < 40; ++round) {
        const auto target = bulkhead::spawn_with<Target>(options);
        for (int k = 0; k < 3; ++k) {
          const auto period = std::chrono::microseconds(50 + random.below(1000));
          timers.push_back(send_every(period, target, Counted(kLong)));
        }
        this_actor::sleep_for(std::chrono::microseconds(random.below(3000)));
        const auto one = random.below(static_cast<std::uint32_t>(timers.size()));
        static_cast<void>(cancel(timers[one]));
        bulkhead::stop(target);
      }
    });
  }
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  expect_none_alive();
}

TEST_P(TicksEnding, ends_with_their_runtime) {
  class Sink {
   public:
    void started() { send_every(100us, this_actor::address(this), Counted(kLong)); }
    void receive(const Counted& /*message*/) {}
  };
  for (std::size_t i = 0; i < 20; ++i) runtime.spawn_with<Sink>(on_core(i));
  std::this_thread::sleep_for(5ms);
  runtime.shutdown();
  EXPECT_EQ(Counted::alive(), 0);
  runtime.start();
  runtime.spawn_with<Sink>(on_core(0));
  std::this_thread::sleep_for(2ms);
  runtime.shutdown();
  expect_none_alive();
}

}  // namespace
