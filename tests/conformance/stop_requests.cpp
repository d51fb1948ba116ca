// C11: a request to stop unwinds an actor at its next wait: destructors run, and it is no failure.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Delivery;
using bulkhead::Exit;
using support::Door;
using namespace std::chrono_literals;

class StopRequests : public support::OnCores {
 protected:
  StopRequests() : runtime(with_hook()) { runtime.start(); }

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { exits.add(death.exit); };
    return config;
  }

  support::Log<Exit> exits;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(StopRequests);

TEST_P(StopRequests, unwind_who_is_blocked) {
  std::atomic<bool> begun{false};
  std::atomic<bool> unwound{false};
  struct Mark {
    std::atomic<bool>* mark;
    ~Mark() { *mark = true; }
  };
  auto sleeper = runtime.spawn_joinable_with(on_core(1), [&] {
    const Mark mark{&unwound};
    const support::Live live(1);
    begun = true;
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  EXPECT_EQ(bulkhead::request_stop(sleeper.pid()), Delivery::kQueued);
  EXPECT_EQ(sleeper.join().error(), Exit::stopped());
  EXPECT_TRUE(unwound);
  EXPECT_EQ(support::Live::alive(), 0);
  EXPECT_EQ(runtime.stats().actors_failed, 0u);
  EXPECT_EQ(bulkhead::request_stop(sleeper.pid()), Delivery::kGone);
}

TEST_P(StopRequests, end_who_is_idle_before_what_is_queued) {
  const auto door = runtime.spawn_with<Door>(on_core(1));
  EXPECT_EQ(bulkhead::request_stop(door), Delivery::kQueued);
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits.entries()[0], Exit::stopped());
}

TEST_P(StopRequests, reach_who_is_busy_at_its_next_wait) {
  std::atomic<int> steps{0};
  std::atomic<bool> go{false};
  auto busy = runtime.spawn_joinable_with(on_core(1), [&] {
    steps = 1;
    while (!go) this_actor::yield();
    this_actor::sleep_for(0s);
    steps = 2;
  });
  EXPECT_TRUE(support::eventually([&] { return steps == 1; }));
  bulkhead::request_stop(busy.pid());
  EXPECT_EQ(busy.join().error(), Exit::stopped());
  EXPECT_EQ(steps, 1);
}

TEST_P(StopRequests, to_oneself_take_effect_at_the_next_wait_or_when_the_handler_returns) {
  std::atomic<int> steps{0};
  auto waits = runtime.spawn_joinable_with(on_core(1), [&] {
    bulkhead::request_stop(this_actor::pid());
    ++steps;
    this_actor::yield();
    ++steps;
  });
  EXPECT_EQ(waits.join().error(), Exit::stopped());
  EXPECT_EQ(steps, 1);
  auto returns = runtime.spawn_joinable_with(on_core(1), [&] {
    bulkhead::request_stop(this_actor::pid());
    return 1;
  });
  EXPECT_EQ(returns.join().error(), Exit::stopped());
}

TEST_P(StopRequests, drop_what_is_queued_and_fail_who_asks) {
  std::atomic<bool> blocked{false};
  class Slow {
   public:
    explicit Slow(std::atomic<bool>* blocked) : blocked_(blocked) {}
    int receive(int value) {
      *blocked_ = true;
      this_actor::sleep_for(1h);
      return value;
    }

   private:
    std::atomic<bool>* blocked_;
  };
  const auto slow = runtime.spawn_with<Slow>(on_core(1), &blocked);
  std::thread asker([&] { EXPECT_EQ(slow.ask(1, 1h).error(), bulkhead::AskError::kDied); });
  EXPECT_TRUE(support::eventually([&] { return blocked.load(); }));
  slow.send(2);
  slow.send(3);
  bulkhead::request_stop(slow);
  asker.join();
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 3u);
}

TEST_P(StopRequests, are_not_swallowed_by_who_catches_everything_but_once) {
  std::atomic<bool> begun{false};
  std::atomic<int> caught{0};
  auto stubborn = runtime.spawn_joinable_with(on_core(1), [&] {
    begun = true;
    for (;;) {
      try {
        this_actor::sleep_for(1ms);
      } catch (const bulkhead::Unwind&) {  // (...) would be another story with Clang
        if (++caught == 3) throw;
      }
    }
  });
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  bulkhead::request_stop(stubborn.pid());
  EXPECT_EQ(stubborn.join().error(), Exit::stopped());
  EXPECT_EQ(caught, 3);
}

TEST_P(StopRequests, come_once_however_many_ask) {
  for (int round = 0; round < 20; ++round) {
    auto target = runtime.spawn_joinable_with(on_core(1), [] {
      for (;;) this_actor::sleep_for(50us);
    });
    std::vector<bulkhead::JoinHandle<void>> killers;
    for (std::size_t i = 0; i < 5; ++i) {
      killers.push_back(runtime.spawn_joinable_with(
          on_core(i), [pid = target.pid()] { bulkhead::request_stop(pid); }));
    }
    EXPECT_EQ(target.join().error(), Exit::stopped());
    for (auto& killer : killers) EXPECT_TRUE(killer.join().has_value());
  }
  EXPECT_EQ(exits.size(), 20u * 6u);
  EXPECT_EQ(runtime.stats().refused, 0u) << "nobody's message was lost";
}

TEST_P(StopRequests, between_runtimes) {
  bulkhead::Runtime other(config());
  other.start();
  auto target = other.spawn_joinable_with(on_core(1), [] { this_actor::sleep_for(1h); });
  auto killer =
      runtime.spawn_joinable([pid = target.pid()] { return bulkhead::request_stop(pid); });
  EXPECT_EQ(killer.join(), Delivery::kQueued);
  EXPECT_EQ(target.join().error(), Exit::stopped());
}

TEST_P(StopRequests, to_nobody_are_told_so) {
  EXPECT_EQ(bulkhead::request_stop(bulkhead::Pid()), Delivery::kGone);
  auto ended = runtime.spawn_joinable([] {});
  EXPECT_TRUE(ended.join().has_value());
  EXPECT_EQ(bulkhead::request_stop(ended.pid()), Delivery::kGone);
}

}  // namespace
