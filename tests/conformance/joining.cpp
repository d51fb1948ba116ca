// C4: joining: who waits for an actor's end learns how it ended, and gets what it returned or
// threw.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using bulkhead::JoinHandle;
using namespace std::chrono_literals;

class Joining : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Joining);

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST_P(Joining, gives_what_the_body_returned) {
  auto nothing = runtime.spawn_joinable_with(on_core(1), [] {});
  auto number = runtime.spawn_joinable_with(on_core(1), [] {
    this_actor::sleep_for(1ms);
    return 42;
  });
  auto moved = runtime.spawn_joinable([] { return std::make_unique<int>(7); });
  EXPECT_TRUE(nothing.join().has_value());
  EXPECT_EQ(number.join(), 42);
  EXPECT_EQ(**moved.join(), 7);
}

TEST_P(Joining, hands_over_the_exception_that_ended_it) {
  auto failing = runtime.spawn_joinable([]() -> int {
    this_actor::yield();
    throw Broken("as planned");
  });
  const auto outcome = failing.join();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind(), Exit::Kind::kPanic);
  EXPECT_EQ(outcome.error().message(), "as planned");
  EXPECT_THROW(std::rethrow_exception(outcome.error().failure()), Broken);
}

TEST_P(Joining, tells_that_it_was_stopped_or_shut_down) {
  auto stopped = runtime.spawn_joinable_with(on_core(1), [] { this_actor::sleep_for(1h); });
  EXPECT_EQ(bulkhead::request_stop(stopped.pid()), bulkhead::Delivery::kQueued);
  EXPECT_EQ(stopped.join().error(), Exit::stopped());
  auto shut_down = runtime.spawn_joinable_with(on_core(1), [] { this_actor::sleep_for(1h); });
  runtime.shutdown(0s);
  EXPECT_EQ(shut_down.join().error(), Exit::shutdown());
}

TEST_P(Joining, works_between_actors_and_lets_their_cores_run) {
  auto outer = runtime.spawn_joinable_with(on_core(0), [] {
    std::vector<JoinHandle<int>> handles;
    for (int i = 0; i < 100; ++i) {
      bulkhead::SpawnOptions options = on_core(static_cast<std::size_t>(i));
      handles.push_back(bulkhead::spawn_joinable_with(options, [i] {
        if (i % 3 == 0) this_actor::yield();
        if (i % 7 == 0) this_actor::sleep_for(100us);
        return i;
      }));
    }
    int sum = 0;
    for (auto& handle : handles) sum += handle.join().value();
    return sum;
  });
  EXPECT_EQ(outer.join(), 4950);
}

TEST_P(Joining, comes_after_all_of_the_actor_is_gone) {
  for (int i = 0; i < 50; ++i) {
    auto holder = runtime.spawn_joinable_with(
        on_core(1), [live = std::make_unique<support::Live>(1)] { this_actor::yield(); });
    EXPECT_TRUE(holder.join().has_value());
    EXPECT_EQ(support::Live::alive(), 0);
    const bulkhead::Stats stats = runtime.stats();
    EXPECT_EQ(stats.actors_started, stats.actors_ended);
  }
}

TEST_P(Joining, for_a_limited_time_can_be_tried_again) {
  std::atomic<bool> go{false};
  auto slow = runtime.spawn_joinable_with(on_core(1), [&go] {
    while (!go) this_actor::sleep_for(1ms);
    return 1;
  });
  EXPECT_FALSE(slow.join_for(0s).has_value());
  EXPECT_FALSE(slow.join_for(3ms).has_value());
  EXPECT_TRUE(slow.joinable());
  go = true;
  const auto outcome = slow.join_for(support::kDeadline);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(*outcome, 1);
  EXPECT_FALSE(slow.joinable());
  EXPECT_THROW(slow.join_for(-1s), std::invalid_argument);
}

TEST_P(Joining, twice_or_of_nobody_is_an_error) {
  auto once = runtime.spawn_joinable([] {});
  EXPECT_TRUE(once.join().has_value());
  EXPECT_THROW(static_cast<void>(once.join()), std::logic_error);
  JoinHandle<int> nobody;
  EXPECT_FALSE(nobody.joinable());
  EXPECT_THROW(static_cast<void>(nobody.join()), std::logic_error);
}

TEST_P(Joining, oneself_is_an_error) {
  auto mine = std::make_shared<JoinHandle<std::string>>();
  std::atomic<bool> ready{false};
  *mine = runtime.spawn_joinable_with(on_core(1), [mine, &ready]() -> std::string {
    while (!ready) this_actor::yield();
    try {
      static_cast<void>(mine->join());
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  });
  ready = true;
  EXPECT_NE(mine->join()->find("cannot join itself"), std::string::npos);
}

TEST_P(Joining, a_handle_that_is_let_go_leaves_the_actor_alone) {
  std::atomic<bool> done{false};
  static_cast<void>(runtime.spawn_joinable_with(on_core(1), [&done] {
    this_actor::sleep_for(2ms);
    done = true;
    return std::make_unique<support::Live>(1);
  }));
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_TRUE(done);
  EXPECT_EQ(support::Live::alive(), 0);
}

// A joiner that gives up leaves nothing behind that the other's end could trip over.
TEST_P(Joining, joiners_that_are_stopped_while_they_wait_do_no_harm) {
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> go{false};
    auto handle = std::make_shared<JoinHandle<int>>(runtime.spawn_joinable_with(on_core(1), [&go] {
      while (!go) this_actor::yield();
      return 3;
    }));
    std::atomic<bool> waits{false};
    auto joiner = runtime.spawn_joinable_with(on_core(0), [handle, &waits] {
      waits = true;
      static_cast<void>(handle->join());
    });
    EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
    bulkhead::request_stop(joiner.pid());
    if (i % 2 == 0) go = true;  // at the same time
    EXPECT_TRUE(i % 2 == 0 || !joiner.join().has_value());
    go = true;
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  }
}

TEST_P(Joining, what_cannot_be_spawned_leaves_nothing) {
  runtime.shutdown();
  EXPECT_THROW(static_cast<void>(runtime.spawn_joinable(
                   [live = std::make_unique<support::Live>(1)] { return 1; })),
               bulkhead::SpawnError);
  EXPECT_EQ(support::Live::alive(), 0);
}

}  // namespace
