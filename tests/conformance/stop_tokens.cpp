// C11: std::stop_token tells code of others that an actor is asked to stop.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stop_token.hpp>

#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using namespace std::chrono_literals;

class StopTokens : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(StopTokens);

TEST_P(StopTokens, tell_work_elsewhere_to_end) {
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  auto searcher = runtime.spawn_joinable_with(on_core(1), [&] {
    bulkhead::blocking([&, token = this_actor::stop_token()] {
      begun = true;
      while (!token.stop_requested()) std::this_thread::sleep_for(100us);
      ended = true;
    });
  });
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  bulkhead::request_stop(searcher.pid());
  EXPECT_EQ(searcher.join().error(), Exit::stopped());
  EXPECT_TRUE(support::eventually([&] { return ended.load(); }));
}

TEST_P(StopTokens, call_back_when_the_actor_is_unwound) {
  std::atomic<bool> waits{false};
  std::atomic<int> called{0};
  auto sleeper = runtime.spawn_joinable_with(on_core(1), [&] {
    const std::stop_callback callback(this_actor::stop_token(), [&] { ++called; });
    waits = true;
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  EXPECT_EQ(called, 0);
  bulkhead::request_stop(sleeper.pid());
  EXPECT_EQ(sleeper.join().error(), Exit::stopped());
  EXPECT_EQ(called, 1);
}

TEST_P(StopTokens, are_told_of_a_shutdown_and_not_of_a_normal_end) {
  std::stop_token of_one_shut_down;
  std::stop_token of_one_that_ends;
  std::atomic<bool> waits{false};
  auto quick =
      runtime.spawn_joinable_with(on_core(1), [&] { of_one_that_ends = this_actor::stop_token(); });
  EXPECT_TRUE(quick.join().has_value());
  EXPECT_FALSE(of_one_that_ends.stop_requested());
  EXPECT_FALSE(of_one_that_ends.stop_possible());
  auto slow = runtime.spawn_joinable_with(on_core(1), [&] {
    of_one_shut_down = this_actor::stop_token();
    waits = true;
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  runtime.shutdown(0s);
  EXPECT_EQ(slow.join().error(), Exit::shutdown());
  EXPECT_TRUE(of_one_shut_down.stop_requested());
}

TEST_P(StopTokens, are_told_by_an_arm_that_hears_the_request) {
  std::atomic<bool> waits{false};
  auto polite = runtime.spawn_joinable_with(on_core(1), [&] {
    const std::stop_token token = this_actor::stop_token();
    EXPECT_FALSE(token.stop_requested());
    waits = true;
    bulkhead::select(bulkhead::on_stop([] {}));
    return token.stop_requested();
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  bulkhead::request_stop(polite.pid());
  EXPECT_EQ(polite.join(), true);
}

TEST_P(StopTokens, outside_actors_there_are_none) {
  EXPECT_THROW(static_cast<void>(this_actor::stop_token()), std::logic_error);
}

}  // namespace
