// A22: actors with a thread of the operating system of their own.
#include <gtest/gtest.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::SpawnOptions;
using support::Door;
using support::Numbered;
using support::NumberedAsk;
using support::NumberedReceiver;
using namespace std::chrono_literals;

class OwnThread : public support::Running {
 protected:
  static SpawnOptions own() {
    SpawnOptions options;
    options.own_thread = true;
    return options;
  }
};
ON_ONE_AND_SEVERAL_CORES(OwnThread);

// A22
TEST_P(OwnThread, is_shared_with_no_other_actor) {
  support::Log<pid_t> threads;
  std::vector<Address<Door>> doors;
  const auto door = runtime.spawn<Door>();
  for (int i = 0; i < 5; ++i) {
    runtime.spawn_with(own(), [&threads, door] {
      threads.add(gettid());
      EXPECT_TRUE(door.ask(Door::Pass{}, bulkhead::kForever).has_value());
      threads.add(gettid());
    });
  }
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [&threads] { threads.add(gettid()); });
  }
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 5u; }));
  ASSERT_TRUE(support::eventually([&] { return threads.size() == 5 + cores(); }));
  const auto first = threads.entries();
  EXPECT_EQ(std::set<pid_t>(first.begin(), first.end()).size(), 5 + cores());
  door.send(Door::Open{});
  wait_for_idle();
  const auto all = threads.entries();
  EXPECT_EQ(std::set<pid_t>(all.begin(), all.end()).size(), 5 + cores())
      << "after the wait it goes on on the same thread";
}

// A22: one that never gives way holds up nobody else.
TEST_P(OwnThread, may_be_used_up_by_its_actor) {
  support::Event go;
  support::Event held;
  runtime.spawn_with(own(), [&] {
    held.set();
    go.wait();
  });
  ASSERT_TRUE(held.wait());
  const auto door = runtime.spawn<Door>();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(door.ask(Door::Waiting{}, support::kDeadline), 0u);
  }
  go.set();
  wait_for_idle();
}

// A22, A7
TEST_P(OwnThread, keeps_the_order_of_what_it_is_sent_and_what_it_sends) {
  constexpr std::uint32_t kMessages = 5000;
  support::Tally tally;
  const auto solo = runtime.spawn_with<NumberedReceiver>(own(), &tally, std::size_t{3});
  const auto shared = runtime.spawn_with<NumberedReceiver>(on_core(1), &tally, std::size_t{3});
  for (std::uint32_t sender = 0; sender < 3; ++sender) {
    runtime.spawn_with(sender == 0 ? own() : on_core(sender), [=] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        solo.send(Numbered{sender, number});
        shared.send(Numbered{sender, number});
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, 6 * kMessages);
}

// A22, A13
TEST_P(OwnThread, asks_and_is_asked) {
  support::Tally tally;
  const auto solo = runtime.spawn_with<NumberedReceiver>(own(), &tally, std::size_t{3});
  const auto shared = runtime.spawn_with<NumberedReceiver>(on_core(1), &tally, std::size_t{3});
  std::atomic<std::uint32_t> answered{0};
  for (std::uint32_t sender = 0; sender < 3; ++sender) {
    runtime.spawn_with(sender == 0 ? own() : on_core(sender), [=, &answered] {
      for (std::uint32_t number = 0; number < 300; ++number) {
        if (solo.ask(NumberedAsk{sender, number}, support::kDeadline) == number) ++answered;
        if (shared.ask(NumberedAsk{sender, number}, support::kDeadline) == number) ++answered;
      }
    });
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(solo.ask(NumberedAsk{0, i}, support::kDeadline).has_value());
  }
  wait_for_idle();
  EXPECT_EQ(answered, 3u * 300 * 2);
}

// A22
TEST_P(OwnThread, is_used_again_by_a_later_actor) {
  runtime.spawn_with(own(), [] {});
  wait_for_idle();
  const std::size_t before = support::threads();
  std::atomic<int> ran{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn_with(own(), [&ran] { ++ran; });
    // Its thread is free again once it has ended.
    ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
  }
  EXPECT_EQ(ran, 200);
  EXPECT_LE(support::threads(), before + 1);
}

// A22
TEST_P(OwnThread, can_be_had_by_many) {
  constexpr int kActors = 60;
  const std::size_t before = support::threads();
  const auto door = runtime.spawn<Door>();
  std::atomic<int> passed{0};
  for (int i = 0; i < kActors; ++i) {
    runtime.spawn_with(own(), [&passed, door] {
      if (door.ask(Door::Pass{}, bulkhead::kForever)) ++passed;
    });
  }
  ASSERT_TRUE(support::eventually(
      [&] { return door.ask(Door::Waiting{}, support::kDeadline) == std::size_t{kActors}; }));
  EXPECT_GE(support::threads(), before + kActors);
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(passed, kActors);
  runtime.shutdown();
  EXPECT_EQ(support::threads(), before - cores() - 1);  // the watch, too
}

// A22
TEST_P(OwnThread, is_asked_for_by_actors_too) {
  support::Log<pid_t> threads;
  runtime.spawn([&threads] {
    threads.add(gettid());
    for (int i = 0; i < 3; ++i) {
      bulkhead::spawn_with(own(), [&threads] {
        threads.add(gettid());
        bulkhead::spawn_with(own(), [&threads] { threads.add(gettid()); });
        this_actor::sleep_for(20ms);
      });
    }
  });
  wait_for_idle();
  EXPECT_EQ(threads.size(), 7u);
  const auto all = threads.entries();
  EXPECT_GE(std::set<pid_t>(all.begin(), all.end()).size(), 4u);
}

// A22, A19
TEST_P(OwnThread, survives_the_failure_of_its_actor) {
  for (int i = 0; i < 20; ++i) {
    runtime.spawn_with(own(), [] {
      const support::Live mine(1);
      this_actor::yield();
      throw std::runtime_error("failed");
    });
  }
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 20u);
  EXPECT_EQ(support::Live::alive(), 0);
}

// A22: a constructor that throws gives the thread back.
TEST_P(OwnThread, is_given_back_when_the_actor_cannot_be_made) {
  struct Unmakable {
    Unmakable() { throw std::runtime_error("not made"); }
    void receive(int /*message*/) {}
  };
  EXPECT_THROW(runtime.spawn_with<Unmakable>(own()), std::runtime_error);
  const std::size_t before = support::threads();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(runtime.spawn_with<Unmakable>(own()), std::runtime_error);
  }
  EXPECT_EQ(support::threads(), before);
  std::atomic<bool> ran{false};
  runtime.spawn_with(own(), [&ran] { ran = true; });
  wait_for_idle();
  EXPECT_TRUE(ran);
}

// A22: it may have a stack of another size, a bounded mailbox and timers, like any other.
TEST_P(OwnThread, goes_with_all_other_options) {
  SpawnOptions options = own();
  options.stack_size = std::size_t{2} << 20;
  options.mailbox_bound = 4;
  options.pinned = true;
  std::atomic<int> sum{0};
  class Deep {
   public:
    explicit Deep(std::atomic<int>* sum) : sum_(sum) {}
    void started() { bulkhead::send_after(2ms, this_actor::address(this), 1); }
    void receive(int value) {
      volatile char large[1 << 20];
      large[0] = static_cast<char>(value);
      *sum_ += large[0];
      if (*sum_ == 10) this_actor::stop();
    }

   private:
    std::atomic<int>* sum_;
  };
  const auto deep = runtime.spawn_with<Deep>(options, &sum);
  int nine = 9;
  EXPECT_EQ(deep.send_or_wait(nine), bulkhead::Delivery::kQueued);
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
  EXPECT_EQ(sum, 10);
}

}  // namespace
