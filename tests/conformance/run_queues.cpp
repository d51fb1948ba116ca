// C9: each kind of run queue, chosen by configuration. That all behaviours hold with each kind is
// tested by the other files here, with BULKHEAD_TEST_RUN_QUEUE; these are the ones of its own.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

using bulkhead::Config;
using bulkhead::RunQueue;
using bulkhead::Runtime;
using bulkhead::SpawnOptions;
using support::Log;
namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

class RunQueues : public testing::TestWithParam<std::tuple<RunQueue, std::size_t>> {
 protected:
  [[nodiscard]] static bool shared() { return is_shared(std::get<0>(GetParam())); }
  [[nodiscard]] static std::size_t cores() { return std::get<1>(GetParam()); }
  [[nodiscard]] static Config config() {
    Config config;
    config.run_queue = std::get<0>(GetParam());
    config.cores = cores();
    return config;
  }
  void wait_for_idle(Runtime& runtime) { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }
};

constexpr const char* kNames[] = {"partitioned", "mutex", "ring", "striped", "rounds"};

std::string name_of(const testing::TestParamInfo<RunQueues::ParamType>& info) {
  const std::size_t cores = std::get<1>(info.param);
  return std::string(kNames[static_cast<std::size_t>(std::get<0>(info.param))]) + "_" +
         std::to_string(cores) + (cores == 1 ? "_core" : "_cores");
}

using SharedRunQueues = RunQueues;  // a partitioned one shares only what is worth it: sharing.cpp
INSTANTIATE_TEST_SUITE_P(Kinds, SharedRunQueues,
                         testing::Combine(testing::Values(RunQueue::kMutex, RunQueue::kRing,
                                                          RunQueue::kStriped),
                                          testing::Values<std::size_t>(1, 2, 5)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Kinds, RunQueues,
                         testing::Combine(testing::Values(RunQueue::kPartitioned, RunQueue::kMutex,
                                                          RunQueue::kRing, RunQueue::kStriped,
                                                          RunQueue::kRounds),
                                          testing::Values<std::size_t>(1, 2, 5)),
                         name_of);

TEST(RunQueueSetting, refuses_what_is_none) {
  Config config;
  config.run_queue = static_cast<RunQueue>(5);
  try {
    const Runtime runtime(config);
    FAIL() << "it was accepted";
  } catch (const bulkhead::ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "bulkhead: Config::run_queue is 5; it must be one of RunQueue's values, 0 to 4");
  }
}

// Each of them keeps its core until all run: so each core has taken one from the queue, though none
// had a core of its own, and those who slept were woken.
TEST_P(SharedRunQueues, are_taken_from_by_all_cores) {
  Config with_no_watch = config();
  with_no_watch.hand_over_after = bulkhead::kForever;
  Runtime runtime(with_no_watch);
  runtime.start();
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> running{0};
    std::atomic<std::size_t> in_time{0};
    for (std::size_t i = 0; i < cores(); ++i) {
      runtime.spawn([&] {
        ++running;
        if (support::eventually([&] { return running == cores(); })) ++in_time;
      });
    }
    wait_for_idle(runtime);
    ASSERT_EQ(in_time, cores());
    if (round % 4 == 0) std::this_thread::sleep_for(2ms);  // they fall asleep
  }
}

// Likewise for children, and for those who are woken: they do not wait for the core that they were
// on.
TEST_P(SharedRunQueues, let_who_is_woken_go_on_on_any_core) {
  Config with_no_watch = config();
  with_no_watch.hand_over_after = bulkhead::kForever;
  Runtime runtime(with_no_watch);
  runtime.start();
  for (int round = 0; round < 10; ++round) {
    support::Event woken;
    std::atomic<bool> child_ran{false};
    std::atomic<bool> in_time{false};
    runtime.spawn([&] {
      bulkhead::spawn([&] {
        this_actor::sleep_for(1ms);
        child_ran = true;
        woken.set();
      });
      while (cores() == 1 && !child_ran) this_actor::sleep_for(1ms);  // it has no other one
      in_time = woken.wait();  // and keeps its core meanwhile
    });
    wait_for_idle(runtime);
    ASSERT_TRUE(in_time);
  }
}

// What the other files test with BULKHEAD_TEST_RUN_QUEUE does roam: an actor whose core is kept by
// another goes on on one that is free. With partitioned queues, and no sharing, it never does.
class Roaming : public support::Running {
 protected:
  Roaming() : Running(in_one_place()) {}

 private:
  static Config in_one_place() {
    Config config = Roaming::config();
    config.hand_over_after = bulkhead::kForever;
    config.share_work = false;
    return config;
  }
};
ON_ONE_AND_SEVERAL_CORES(Roaming);

TEST_P(Roaming, an_actor_goes_on_on_another_core_if_its_own_is_kept) {
  const bool elsewhere = roams() && cores() > 1;
  support::Event kept;
  support::Event moved;
  std::atomic<bool> in_time{false};
  std::size_t before = 0;
  std::size_t after = 0;
  runtime.spawn_with(on_core(0), [&] {
    before = this_actor::core();
    bulkhead::spawn_with(pinned_to(before), [&] {
      kept.set();
      if (elsewhere) in_time = moved.wait();
    });
    while (!kept.happened()) this_actor::yield();
    after = this_actor::core();
    moved.set();
  });
  wait_for_idle();
  EXPECT_EQ(after != before, elsewhere);
  EXPECT_EQ(in_time, elsewhere);
}

TEST_P(RunQueues, who_was_given_a_core_or_a_thread_stays_there) {
  Runtime runtime(config());
  runtime.start();
  Log<bool> right;
  constexpr int kRounds = 30;
  for (std::size_t core = 0; core < cores(); ++core) {
    SpawnOptions pinned;
    pinned.core = core;
    pinned.pinned = true;
    runtime.spawn_with(pinned, [&right, core] {
      for (int i = 0; i < kRounds; ++i) {
        right.add(this_actor::core() == core);
        if (i % 3 == 0) {
          this_actor::sleep_for(100us);
        } else {
          this_actor::yield();
        }
      }
    });
  }
  SpawnOptions own;
  own.own_thread = true;
  runtime.spawn_with(own, [&right] {
    const auto thread = std::this_thread::get_id();
    for (int i = 0; i < kRounds; ++i) {
      this_actor::sleep_for(100us);
      right.add(std::this_thread::get_id() == thread);
    }
  });
  wait_for_idle(runtime);
  EXPECT_EQ(right.entries(), std::vector<bool>((cores() + 1) * kRounds, true));
}

// More than any ring has room for.
TEST_P(RunQueues, has_room_for_all_who_are_ready) {
  Runtime runtime(config());
  runtime.start();
  constexpr int kActors = 20'000;
  std::atomic<int> done{0};
  SpawnOptions options;
  options.core = 0;
  runtime.spawn_with(options, [&] {
    for (int i = 0; i < kActors; ++i) bulkhead::spawn([&done] { ++done; });
  });
  wait_for_idle(runtime);
  EXPECT_EQ(done, kActors);
}

class Timed {
 public:
  struct Kick {
    int number;
  };
  Timed(Log<int>* log, std::atomic<int>* timeouts) : log_(log), timeouts_(timeouts) {}

  [[nodiscard]] bulkhead::Timeout receive_timeout() const { return 300us; }
  void receive(bulkhead::ReceiveTimeout /*timeout*/) {
    if (last_ != 9) return;
    ++*timeouts_;
    this_actor::stop();
  }
  void started() {
    for (int i = 0; i < 10; ++i) {
      bulkhead::send_after(i * 200us, this_actor::address<Timed>(), Kick{i});
      cancelled_.push_back(bulkhead::send_after(1h, this_actor::address<Timed>(), Kick{1000 + i}));
    }
  }
  void receive(Kick kick) {
    log_->add(kick.number);
    last_ = kick.number;
    if (kick.number == 5) {
      for (const bulkhead::TimerRef timer : cancelled_) EXPECT_TRUE(bulkhead::cancel(timer));
    }
    this_actor::sleep_for(50us);  // and goes on elsewhere
  }

 private:
  Log<int>* log_;
  std::atomic<int>* timeouts_;
  int last_ = 0;
  std::vector<bulkhead::TimerRef> cancelled_;
};

// An actor starts and cancels timers, and is timed, on whichever core it is.
TEST_P(RunQueues, timers_go_along) {
  Runtime runtime(config());
  runtime.start();
  constexpr int kActors = 10;
  Log<int> logs[kActors];
  std::atomic<int> timeouts{0};
  for (Log<int>& log : logs) runtime.spawn<Timed>(&log, &timeouts);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(timeouts, kActors);
  for (const Log<int>& log : logs) {
    EXPECT_EQ(log.entries(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

// A18, in all states at once, and then once more.
TEST_P(RunQueues, a_shutdown_ends_everybody_and_a_start_begins_anew) {
  Runtime runtime(config());
  struct Idle {
    support::Live live{1};
    void receive(int /*message*/) { this_actor::yield(); }
  };
  for (int life = 0; life < 3; ++life) {
    runtime.start();
    std::vector<bulkhead::Address<Idle>> idle;
    for (int i = 0; i < 200; ++i) idle.push_back(runtime.spawn<Idle>());
    for (int i = 0; i < 100; ++i) {
      runtime.spawn([live = support::Live(1)] { this_actor::sleep_for(bulkhead::kForever); });
      runtime.spawn([live = support::Live(1)] {
        for (;;) this_actor::yield();
      });
    }
    for (const auto& actor : idle) actor.send(1);
    runtime.shutdown(1ms);
    EXPECT_EQ(support::Live::alive(), 0);
    const bulkhead::Stats stats = runtime.stats();
    EXPECT_EQ(stats.actors_started, stats.actors_ended);
  }
}

// Runtimes of different kinds, beside each other.
TEST_P(RunQueues, actors_of_different_runtimes_ask_each_other) {
  struct Doubler {
    int receive(int number) const { return 2 * number; }
  };
  Runtime here(config());
  Config other = config();
  other.run_queue = shared() ? RunQueue::kPartitioned : RunQueue::kMutex;
  Runtime there(other);
  here.start();
  there.start();
  const auto doubler = there.spawn<Doubler>();
  std::atomic<int> right{0};
  for (int i = 0; i < 50; ++i) {
    here.spawn([&right, doubler, i] {
      const auto answer = doubler.ask(i, bulkhead::kForever);
      if (answer && *answer == 2 * i) ++right;
    });
  }
  wait_for_idle(here);
  EXPECT_EQ(right, 50);
  here.shutdown();
  there.shutdown();
}

}  // namespace
