// C9: what was wrong with actors that roam.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/wait.hpp"

namespace {

using bulkhead::Config;
using bulkhead::RunQueue;
using bulkhead::Runtime;
using bulkhead::SpawnOptions;
using support::Event;
namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

class SharedQueueFaults : public testing::TestWithParam<RunQueue> {
 protected:
  /// No core goes on without a handler that keeps it.
  [[nodiscard]] static Config config(std::size_t cores) {
    Config config;
    config.run_queue = GetParam();
    config.cores = cores;
    config.hand_over_after = bulkhead::kForever;
    return config;
  }
  [[nodiscard]] static SpawnOptions pinned_to(std::size_t core) {
    SpawnOptions options;
    options.core = core;
    options.pinned = true;
    return options;
  }
  /// So that all who have nothing to do sleep.
  static void be_quiet() { std::this_thread::sleep_for(5ms); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, SharedQueueFaults,
                         testing::Values(RunQueue::kMutex, RunQueue::kRing, RunQueue::kStriped));

// A timer waited for the core on which it was started, though others slept.
TEST_P(SharedQueueFaults, a_timer_does_not_wait_for_the_core_that_it_was_started_on) {
  Runtime runtime(config(3));
  runtime.start();
  for (int round = 0; round < 3; ++round) {
    be_quiet();
    Event moved;
    std::atomic<bool> in_time{false};
    runtime.spawn([&] {
      bulkhead::spawn_with(pinned_to(this_actor::core()), [&] { in_time = moved.wait(); });
      this_actor::sleep_for(1ms);
      moved.set();
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_TRUE(in_time);
  }
}

// A core that slept for such a timer, and woke for one of its own, told nobody before it called a
// hook, in which it stayed. The timers of the pinned ones send to nobody.
TEST_P(SharedQueueFaults, nor_for_one_that_woke_for_a_timer_of_its_own_and_is_in_a_hook) {
  struct Sink {
    void receive(int /*message*/) {}
  };
  static thread_local int here = -1;  // the core, of which none changes its thread
  for (int round = 0; round < 6; ++round) {
    std::atomic<int> keeper{-1};
    Event awake;
    std::atomic<bool> in_time{true};
    Config three = config(3);
    three.on_dead_letter = [&](const bulkhead::DeadLetter&) {
      int mine = here;
      if (mine >= 0 && keeper.compare_exchange_strong(mine, -2)) in_time = awake.wait();
    };
    Runtime runtime(three);
    runtime.start();
    const auto sink = runtime.spawn<Sink>();
    bulkhead::stop(sink);
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    for (std::size_t core = 0; core < 3; ++core) {
      const auto delay = 20ms + (round % 2 == 0 ? core : 2 - core) * 10ms;
      runtime.spawn_with(pinned_to(core), [sink, core, delay] {
        here = static_cast<int>(core);
        bulkhead::send_after(delay, sink, 1);  // the last one, when the others sleep
        this_actor::sleep_for(1h);
      });
    }
    be_quiet();
    runtime.spawn([&] {
      keeper = static_cast<int>(this_actor::core());
      this_actor::sleep_for(60ms);
      awake.set();
    });
    ASSERT_TRUE(awake.wait());
    ASSERT_TRUE(in_time);
    runtime.shutdown(0ms);
  }
}

TEST_P(SharedQueueFaults, nor_does_that_of_a_message_of_which_the_sender_keeps_its_core) {
  struct Sink {
    Event* told;
    void receive(int /*message*/) { told->set(); }
  };
  Runtime runtime(config(2));
  runtime.start();
  for (int round = 0; round < 3; ++round) {
    Event told;
    std::atomic<bool> in_time{false};
    const auto sink = runtime.spawn<Sink>(&told);
    be_quiet();
    runtime.spawn([&] {
      bulkhead::send_after(1ms, sink, 1);
      in_time = told.wait();
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_TRUE(in_time);
  }
}

// Whichever core sleeps until the timer is due may be given something else to do.
TEST_P(SharedQueueFaults, nor_for_the_core_that_slept_for_it) {
  constexpr std::size_t kCores = 3;
  Runtime runtime(config(kCores));
  runtime.start();
  for (std::size_t busy = 0; busy < kCores; ++busy) {
    Event asleep;
    Event woken;
    std::atomic<int> in_time{0};
    runtime.spawn([&] {
      asleep.set();
      this_actor::sleep_for(20ms);
      woken.set();
    });
    ASSERT_TRUE(asleep.wait());
    be_quiet();
    for (std::size_t core = 0; core < kCores; ++core) {
      if (core == busy) continue;
      runtime.spawn_with(pinned_to(core), [&] { in_time += woken.wait() ? 1 : 0; });
    }
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(in_time, static_cast<int>(kCores) - 1);
  }
}

// A4: the next actor in the slot of one that had roamed was taken for the same, if it was made
// within the end of that: though it was pinned, it was at home on all cores.
TEST_P(SharedQueueFaults, a_slot_is_used_again_within_the_end_of_its_actor) {
  struct Pinned {
    std::vector<std::size_t>* cores;
    void receive(int /*message*/) { cores->push_back(this_actor::core()); }
  };
  struct Shared {
    Runtime* runtime = nullptr;
    std::vector<std::size_t> cores;
    bulkhead::Address<Pinned> pinned;
    Event made;
  };
  struct SpawnsAtItsEnd {
    Shared* shared = nullptr;
    explicit SpawnsAtItsEnd(Shared* to) : shared(to) {}
    SpawnsAtItsEnd(SpawnsAtItsEnd&& other) noexcept
        : shared(std::exchange(other.shared, nullptr)) {}
    ~SpawnsAtItsEnd() {
      if (shared == nullptr) return;
      shared->pinned = shared->runtime->spawn_with<Pinned>(pinned_to(1), &shared->cores);
      shared->made.set();
    }
  };
  Shared shared;
  std::optional<bulkhead::JoinHandle<SpawnsAtItsEnd>> handle;
  Config dropping = config(2);
  dropping.on_death = [&](const bulkhead::Death& /*death*/) { handle.reset(); };
  Runtime runtime(dropping);
  shared.runtime = &runtime;
  runtime.start();
  Event kept;
  runtime.spawn_with(pinned_to(0), [&] {
    kept.set();
    shared.made.wait();
  });
  ASSERT_TRUE(kept.wait());
  Event has_handle;
  handle = runtime.spawn_joinable([&] {  // on core 1
    has_handle.wait();
    return SpawnsAtItsEnd(&shared);
  });
  has_handle.set();
  ASSERT_TRUE(shared.made.wait());
  for (int i = 0; i < 10; ++i) {
    be_quiet();
    ASSERT_EQ(shared.pinned.send(i), bulkhead::Delivery::kQueued);
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }
  EXPECT_EQ(shared.cores, std::vector<std::size_t>(10, 1));
}

// A10: the core on which timers fired kept their records.
TEST_P(SharedQueueFaults, records_of_timers_go_back_to_where_they_are_taken) {
  struct Sink {
    std::atomic<int>* told;
    void receive(int /*message*/) { ++*told; }
  };
  constexpr int kRounds = 200;
  constexpr int kTimers = 1000;
  Runtime runtime(config(2));
  runtime.start();
  std::atomic<int> told{0};
  std::size_t before = 0;
  std::size_t after = 0;
  const auto sink = runtime.spawn<Sink>(&told);
  runtime.spawn([&] {
    for (int round = 1; round <= kRounds; ++round) {
      for (int i = 0; i < kTimers; ++i) bulkhead::send_after(0s, sink, i);
      if (!support::eventually([&] { return told == round * kTimers; })) return;  // keeps its core
      if (round == 20) before = support::resident_bytes();
    }
    after = support::resident_bytes();
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  ASSERT_EQ(told, kRounds * kTimers);
  EXPECT_LT(after, before + (std::size_t{8} << 20) * support::kMemoryFactor);
}

// A6: an actor that does not roam went to the core on which one that roams had sent to it, and
// which that had left again.
TEST_P(SharedQueueFaults, nobody_gathers_with_those_who_roam) {
  struct Sink {
    void receive(int /*message*/) {}
  };
  Runtime runtime(config(2));
  runtime.start();
  SpawnOptions begun;
  begun.core = 0;
  const auto sink = runtime.spawn_with<Sink>(begun);
  for (int round = 0; round < 50; ++round) {
    Event kept;
    Event over;
    runtime.spawn_with(pinned_to(0), [&] {
      kept.set();
      over.wait();
    });
    ASSERT_TRUE(kept.wait());
    runtime.spawn([&] {  // on core 1
      sink.send(1);
      over.set();
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    std::this_thread::sleep_for(2ms);  // it has stayed for long enough
  }
  EXPECT_EQ(runtime.stats().moved, 0u);
}

// A18, S5 of slot.hpp: an actor whose maker had gone on on another core was looked at by the first
// one, at a stop, while it was being made.
TEST_P(SharedQueueFaults, makers_that_move_are_ended_with_what_they_make) {
  struct Slow {
    Slow() { this_actor::yield(); }
    void receive(int /*message*/) {}
  };
  Runtime runtime(config(3));
  testing::internal::CaptureStderr();  // who was busy
  for (int round = 0; round < 30; ++round) {
    runtime.start();
    for (int i = 0; i < 20; ++i) {
      runtime.spawn([] {
        try {
          for (int j = 0; j < 1000; ++j) bulkhead::spawn<Slow>();
        } catch (const bulkhead::SpawnError&) {
        }
      });
    }
    std::this_thread::sleep_for(1ms);
    runtime.shutdown(0s);
    const bulkhead::Stats stats = runtime.stats();
    EXPECT_EQ(stats.actors_started, stats.actors_ended);
  }
  testing::internal::GetCapturedStderr();
}

}  // namespace
