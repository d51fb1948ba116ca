// C2, C14: a class takes messages in the middle of its handlers, out of turn.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/balance.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

struct Collect {
  int wanted;
  std::chrono::milliseconds patience;
  support::Live live;
};
struct Fail {
  support::Live live;
};
struct Part {
  int number;
  support::Live live;
};

/// Notes what it takes out of turn, negative, and what comes in turn.
class Collector {
 public:
  explicit Collector(support::Log<int>* log) : log_(log) {}

  void receive(Part part) { log_->add(part.number); }
  void receive(Collect collect) {
    const auto part = this_actor::take_for<Part>(
        this, collect.patience, [&](const Part& each) { return each.number == collect.wanted; });
    log_->add(part ? -part->number : 0);
  }
  void receive(Fail /*message*/) {
    static_cast<void>(this_actor::take_for<Part>(this, 0ms, [](const Part&) { return true; }));
    throw std::runtime_error("after it had taken one");
  }

 private:
  support::Log<int>* log_;
};

class Taking : public support::Running {
 protected:
  Taking() : Taking(support::OnCores::config()) {}
  explicit Taking(bulkhead::Config config) : support::Running(quiet(config, this)) {}
  static bulkhead::Config quiet(bulkhead::Config config, Taking* self) {
    config.on_death = [](const bulkhead::Death&) {};
    config.on_dead_letter = [self](const bulkhead::DeadLetter&) { ++self->letters; };
    return config;
  }
  void expect_all_settled() {
    wait_for_idle();
    support::expect_balanced(runtime.stats());
    EXPECT_EQ(support::Live::values(), 0);
  }

  support::Log<int> log;
  std::atomic<int> letters{0};
};
ON_ONE_AND_SEVERAL_CORES(Taking);

TEST_P(Taking, leaves_the_others_in_order) {
  const auto collector = runtime.spawn_with<Collector>(on_core(0), &log);
  runtime.spawn_with(on_core(0), [collector] {
    for (int i = 1; i <= 3; ++i) collector.send(Part{i, {}});
    collector.send(Collect{5, 10s, {}});
    for (int i = 4; i <= 6; ++i) collector.send(Part{i, {}});
  });
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 2, 3, -5, 4, 6}));
  expect_all_settled();
}

TEST_P(Taking, waits_for_one_that_comes_later) {
  const auto collector = runtime.spawn_with<Collector>(on_core(0), &log);
  collector.send(Collect{2, 60s, {}});
  std::this_thread::sleep_for(2ms);
  collector.send(Part{1, {}});
  std::this_thread::sleep_for(2ms);
  collector.send(Part{2, {}});
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{-2, 1}));
  expect_all_settled();
}

TEST_P(Taking, takes_none_when_time_is_up) {
  const auto collector = runtime.spawn_with<Collector>(on_core(0), &log);
  collector.send(Collect{2, 0ms, {}});
  collector.send(Collect{2, 5ms, {}});
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{0, 0}));
  expect_all_settled();
}

// The message that is being handled is lost with its handler, once; the one that was taken is not.
TEST_P(Taking, and_failing_loses_what_is_in_hand) {
  const auto collector = runtime.spawn_with<Collector>(on_core(0), &log);
  runtime.spawn_with(on_core(0), [collector] {
    collector.send(Fail{});
    collector.send(Part{1, {}});
  });
  wait_for_idle();
  EXPECT_EQ(letters, 1);
  expect_all_settled();
}

// One that waits so can be ended.
TEST_P(Taking, ends_when_the_actor_is_to_end) {
  const auto collector = runtime.spawn_with<Collector>(on_core(0), &log);
  collector.send(Collect{2, 60s, {}});
  collector.send(Part{1, {}});
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(bulkhead::request_stop(collector), bulkhead::Delivery::kQueued);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(letters, 2);
  expect_all_settled();
}

TEST_P(Taking, is_refused_elsewhere) {
  const auto error_of = [](auto call) -> std::string {
    try {
      call();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "none";
  };
  Collector outside(&log);
  const auto take = [&outside] {
    static_cast<void>(this_actor::take_for<Part>(&outside, 0ms, [](const Part&) { return true; }));
  };
  EXPECT_NE(error_of(take).find("take_for"), std::string::npos);
  std::string inside;
  runtime.spawn_with(on_core(0), [&] { inside = error_of(take); });
  wait_for_idle();
  EXPECT_NE(inside.find("outside its actor"), std::string::npos);
}

}  // namespace
