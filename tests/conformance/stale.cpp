// A23, C3: pids of the dead stay dead, however often their slots are used again.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::Pid;
using namespace std::chrono_literals;

class Stale : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Stale);

// Every message names who it is for.
struct For {
  Pid receiver;
};
struct Question {
  Pid receiver;
};

class Named {
 public:
  explicit Named(std::atomic<long>* misdelivered) : misdelivered_(misdelivered) {}
  void started() { self_ = this_actor::pid(); }
  void receive(For message) {
    if (message.receiver != self_) ++*misdelivered_;
  }
  Pid receive(Question question) {
    if (question.receiver != self_) ++*misdelivered_;
    return self_;
  }

 private:
  std::atomic<long>* misdelivered_;
  Pid self_;
};

// A23
TEST_P(Stale, a_slot_that_is_used_again_has_another_pid) {
  std::atomic<long> misdelivered{0};
  std::unordered_set<Pid> pids;
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 2000; ++i) {
    const auto named = runtime.spawn_with<Named>(on_core(1), &misdelivered);
    EXPECT_TRUE(pids.insert(named.pid()).second) << to_string(named.pid());
    slots.insert(named.pid().index());
    bulkhead::stop(named);
    if (i % 100 == 0) wait_for_idle();
  }
  wait_for_idle();
  EXPECT_EQ(pids.size(), 2000u);
}

// A23
TEST_P(Stale, sends_never_reach_a_later_actor_of_the_same_slot) {
  std::atomic<long> misdelivered{0};
  std::atomic<long> gone{0};
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [&] {
      std::vector<Address<Named>> old;
      for (int i = 0; i < 300; ++i) {
        const auto named = bulkhead::spawn<Named>(&misdelivered);
        bulkhead::stop(named);
        old.push_back(named);
        if (i % 10 == 9) this_actor::sleep_for(50us);
        for (std::size_t k = old.size() > 40 ? old.size() - 40 : 0; k < old.size(); ++k) {
          if (old[k].send(For{old[k].pid()}) == Delivery::kGone) ++gone;
        }
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(misdelivered, 0);
  EXPECT_GT(gone, 0);
}

// A23: senders everywhere hold pids that die, and whose slots are used again, under their hands.
TEST_P(Stale, a_storm_of_births_and_deaths_misdelivers_nothing) {
  const std::uint64_t seed = support::seed_of_test();
  std::atomic<long> misdelivered{0};
  std::atomic<bool> done{false};
  std::mutex lock;
  std::vector<Address<Named>> known(64);
  const auto pick = [&](support::Random& random) {
    const std::lock_guard guard(lock);
    return known[random.below(64)];
  };
  const auto send_to = [&](support::Random& random) {
    const auto named = pick(random);
    if (!named) return;
    if (random.one_in(10)) {
      const auto answer = named.ask(Question{named.pid()}, 5ms);
      if (answer.has_value()) {
        EXPECT_EQ(*answer, named.pid());
      }
    } else {
      named.send(For{named.pid()});
    }
  };
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(on_core(core), [&, core] {
      support::Random random(seed + core);
      while (!done) {
        const auto named = bulkhead::spawn<Named>(&misdelivered);
        Address<Named> old;
        {
          const std::lock_guard guard(lock);
          old = std::exchange(known[random.below(64)], named);
        }
        if (old) bulkhead::stop(old);
        send_to(random);
        this_actor::yield();
      }
    });
  }
  std::vector<std::thread> senders;
  for (std::uint64_t t = 0; t < 2; ++t) {
    senders.emplace_back([&, t] {
      support::Random random(seed + 100 + t);
      while (!done) send_to(random);
    });
  }
  std::this_thread::sleep_for(support::stress_time() / 3);
  done = true;
  for (std::thread& sender : senders) sender.join();
  wait_for_idle();
  EXPECT_EQ(misdelivered, 0);
  const auto stats = runtime.stats();
  std::uint64_t dropped = 0;
  for (const auto count : stats.dropped) dropped += count;
  dropped -= stats.dropped_for(bulkhead::DropCause::kLateReply);
  EXPECT_EQ(stats.sent, stats.handled + dropped - stats.refused);
}

// --- how many there can be ---

class Limit : public support::OnCores {
 protected:
  static constexpr std::size_t kMost = 1000;
  Limit() : runtime(limited()) { runtime.start(); }
  static bulkhead::Config limited() {
    bulkhead::Config config = support::OnCores::config();
    config.max_actors = kMost;
    return config;
  }
  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }

  // Spawns until there is no more room.
  template <class Spawn>
  static std::size_t fill(Spawn spawn, std::string* error) {
    for (std::size_t made = 0;; ++made) {
      try {
        spawn();
      } catch (const bulkhead::SpawnError& full) {
        *error = full.what();
        return made;
      }
    }
  }

  bulkhead::Runtime runtime;
  std::atomic<long> misdelivered{0};
};
ON_ONE_AND_SEVERAL_CORES(Limit);

// C3
TEST_P(Limit, is_met_exactly_by_threads_outside_and_named) {
  std::string error;
  const std::size_t made =
      fill([this] { runtime.spawn_with<Named>(on_core(1), &misdelivered); }, &error);
  EXPECT_EQ(made, kMost);
  EXPECT_NE(error.find("max_actors"), std::string::npos) << error;
  EXPECT_NE(error.find("1000"), std::string::npos) << error;
  EXPECT_EQ(runtime.stats().actors(), kMost);
}

// C3: also where the other cores have kept places of actors that ended, for their next spawns.
TEST_P(Limit, is_met_exactly_by_actors_and_named) {
  for (std::size_t i = 0; i < kMost / 2; ++i) runtime.spawn_with(on_core(i), [] {});
  wait_for_idle();
  std::atomic<std::size_t> made{0};
  runtime.spawn([this, &made] {
    std::string error;
    made = fill([this] { bulkhead::spawn<Named>(&misdelivered); }, &error) + 1;
    EXPECT_NE(error.find("max_actors"), std::string::npos) << error;
  });
  wait_for_idle();
  EXPECT_EQ(made, kMost);
}

// C3
TEST_P(Limit, is_met_exactly_by_actors_that_spawn_on_other_cores) {
  for (std::size_t i = 0; i < kMost / 2; ++i) runtime.spawn_with(on_core(i), [] {});
  wait_for_idle();
  std::atomic<std::size_t> made{0};
  runtime.spawn([this, &made] {
    std::string error;
    std::size_t next = 0;
    made = fill([&] { bulkhead::spawn_with<Named>(on_core(next++), &misdelivered); }, &error) + 1;
  });
  wait_for_idle();
  EXPECT_EQ(made, kMost);
}

// C3: who may not wait for the others is refused at once.
TEST_P(Limit, is_told_within_no_preempt) {
  std::atomic<std::size_t> made{0};
  runtime.spawn([this, &made] {
    const bulkhead::NoPreempt whole;
    std::string error;
    made = fill([this] { bulkhead::spawn<Named>(&misdelivered); }, &error) + 1;
    EXPECT_NE(error.find("max_actors"), std::string::npos) << error;
  });
  wait_for_idle();
  EXPECT_LE(made, kMost);
}

// C3
TEST_P(Limit, is_there_again_when_the_actors_have_ended) {
  std::string error;
  for (int round = 0; round < 5; ++round) {
    std::vector<Address<Named>> all;
    const std::size_t made =
        fill([&] { all.push_back(runtime.spawn_with<Named>(on_core(all.size()), &misdelivered)); },
             &error);
    EXPECT_EQ(made, kMost) << "round " << round;
    for (const auto& named : all) bulkhead::stop(named);
    wait_for_idle();
    ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
  }
}

// C3: short-lived ones before do not take anything away.
TEST_P(Limit, counts_the_living_only) {
  for (std::size_t i = 0; i < 5 * kMost; ++i) {
    runtime.spawn_with(on_core(i), [] {});
    if (i % 100 == 99) wait_for_idle();
  }
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
  std::string error;
  EXPECT_EQ(fill([this] { runtime.spawn_with<Named>(on_core(0), &misdelivered); }, &error), kMost);
}

// C3: a constructor that throws gives its place back.
TEST_P(Limit, is_not_worn_away_by_constructors_that_throw) {
  struct Unmakable {
    Unmakable() { throw 1; }
    void receive(int /*message*/) {}
  };
  for (std::size_t i = 0; i < 3 * kMost; ++i) {
    EXPECT_THROW(runtime.spawn_with<Unmakable>(on_core(i)), int);
    if (i % 100 == 99) wait_for_idle();
  }
  runtime.spawn([] {
    for (std::size_t i = 0; i < 3 * kMost; ++i) {
      EXPECT_THROW(bulkhead::spawn<Unmakable>(), int);
    }
  });
  wait_for_idle();
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors() == 0; }));
  std::string error;
  EXPECT_EQ(fill([this] { runtime.spawn<Named>(&misdelivered); }, &error), kMost);
}

// C3
TEST(Pids, are_values) {
  EXPECT_FALSE(Pid());
  EXPECT_TRUE(Pid(0, 1));
  EXPECT_EQ(Pid(3, 4), Pid(3, 4));
  EXPECT_NE(Pid(3, 4), Pid(3, 5));
  EXPECT_LT(Pid(3, 4), Pid(4, 1));
  EXPECT_EQ(to_string(Pid()), "<none>");
  EXPECT_EQ(to_string(Pid(3, 4)), "<3.4>");
  EXPECT_EQ(sizeof(Pid), 8u);
  std::unordered_set<Pid> pids;
  for (std::uint32_t i = 0; i < 1000; ++i) pids.insert(Pid(i, 1000 - i));
  EXPECT_EQ(pids.size(), 1000u);
}

}  // namespace
