// Ending actors on request, by themselves or from anywhere.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::DropCause;
using namespace std::chrono_literals;

class Stopping : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Stopping);

class Recorder {
 public:
  explicit Recorder(support::Log<int>* log) : log_(log) {}
  void receive(int value) {
    log_->add(value);
    if (value < 0) this_actor::stop();
    if (value == -2) this_actor::sleep_for(1ms);
  }

 private:
  support::Log<int>* log_;
};

TEST_P(Stopping, comes_in_order_with_the_messages) {
  support::Log<int> log;
  const auto recorder = runtime.spawn_with<Recorder>(on_core(1), &log);
  for (int i = 0; i < 5; ++i) recorder.send(i);
  EXPECT_EQ(bulkhead::stop(recorder), Delivery::kQueued);
  for (int i = 5; i < 10; ++i) recorder.send(i);
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(bulkhead::stop(recorder), Delivery::kGone);
  EXPECT_EQ(bulkhead::stop(recorder.pid()), Delivery::kGone);
}

TEST_P(Stopping, oneself_takes_effect_when_the_handler_returns) {
  support::Log<int> log;
  const auto recorder = runtime.spawn_with<Recorder>(on_core(1), &log);
  runtime.spawn_with(on_core(1), [recorder] {
    recorder.send(1);
    recorder.send(-2);
    recorder.send(3);
  });
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{1, -2}));
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 1u);
}

TEST_P(Stopping, oneself_in_started_leaves_no_message_handled) {
  class Reluctant {
   public:
    explicit Reluctant(support::Log<int>* log) : log_(log) {}
    void started() {
      for (int i = 0; i < 3; ++i) this_actor::address(this).send(i);
      this_actor::stop();
    }
    void receive(int value) { log_->add(value); }

   private:
    support::Log<int>* log_;
  };
  support::Log<int> log;
  runtime.spawn_with<Reluctant>(on_core(1), &log);
  wait_for_idle();
  EXPECT_EQ(log.size(), 0u);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 3u);
}

TEST_P(Stopping, waits_for_a_blocked_handler) {
  const auto door = runtime.spawn<support::Door>();
  support::Log<int> log;
  class Waiter {
   public:
    Waiter(Address<support::Door> door, support::Log<int>* log) : door_(door), log_(log) {}
    void receive(int value) {
      EXPECT_TRUE(door_.ask(support::Door::Pass{}, bulkhead::kForever).has_value());
      log_->add(value);
    }

   private:
    Address<support::Door> door_;
    support::Log<int>* log_;
  };
  const auto waiter = runtime.spawn_with<Waiter>(on_core(1), door, &log);
  waiter.send(1);
  ASSERT_TRUE(support::eventually(
      [&] { return door.ask(support::Door::Waiting{}, support::kDeadline) == 1u; }));
  bulkhead::stop(waiter);
  waiter.send(2);
  EXPECT_EQ(log.size(), 0u);
  door.send(support::Door::Open{});
  wait_for_idle();
  EXPECT_EQ(log.entries(), std::vector<int>{1});
}

TEST_P(Stopping, goes_through_a_full_mailbox) {
  support::Event held;
  support::Event go;
  class Holding {
   public:
    Holding(support::Event* held, const support::Event* go) : held_(held), go_(go) {}
    void receive(int /*message*/) {
      held_->set();
      go_->wait();
    }

   private:
    support::Event* held_;
    const support::Event* go_;
  };
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  options.mailbox_bound = 1;
  const auto holding = runtime.spawn_with<Holding>(options, &held, &go);
  holding.send(1);
  ASSERT_TRUE(held.wait());
  holding.send(2);
  EXPECT_EQ(holding.send(3), Delivery::kFull);
  EXPECT_EQ(bulkhead::stop(holding), Delivery::kQueued);
  go.set();
  wait_for_idle();
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
}

// Many stops at once: one ends it, the others are dropped.
TEST_P(Stopping, by_many_at_once_ends_it_once) {
  for (int round = 0; round < 50; ++round) {
    const auto door = runtime.spawn_with<support::Door>(on_core(static_cast<std::size_t>(round)));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([door] { bulkhead::stop(door); });
    for (std::size_t core = 0; core < cores(); ++core) {
      runtime.spawn_with(on_core(core), [door] { bulkhead::stop(door); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  wait_for_idle();
  const auto stats = runtime.stats();
  EXPECT_EQ(stats.actors(), 0u);
  EXPECT_EQ(stats.actors_ended, 50u * (1 + cores()));
  EXPECT_EQ(stats.dropped_for(DropCause::kGone), 50u * (2 + cores()));
}

// A callable that has not returned is not stopped; the request ends with it.
TEST_P(Stopping, does_not_interrupt_a_callable) {
  std::atomic<int> steps{0};
  const auto pid = runtime.spawn_with(on_core(1), [&steps] {
    for (int i = 0; i < 5; ++i) {
      this_actor::sleep_for(1ms);
      ++steps;
    }
  });
  EXPECT_EQ(bulkhead::stop(pid), Delivery::kQueued);
  wait_for_idle();
  EXPECT_EQ(steps, 5);
}

TEST(ThisActor, is_for_actors_only) {
  EXPECT_FALSE(bulkhead::in_actor());
  EXPECT_THROW(static_cast<void>(this_actor::pid()), std::logic_error);
  EXPECT_THROW(static_cast<void>(this_actor::parent()), std::logic_error);
  EXPECT_THROW(this_actor::stop(), std::logic_error);
  EXPECT_THROW(this_actor::yield(), std::logic_error);
  EXPECT_THROW(this_actor::sleep_for(1ms), std::logic_error);
  EXPECT_THROW(static_cast<void>(this_actor::core()), std::logic_error);
  EXPECT_THROW(bulkhead::spawn([] {}), bulkhead::SpawnError);
  EXPECT_THROW(bulkhead::cancel(bulkhead::TimerRef()), std::logic_error);
}

}  // namespace
