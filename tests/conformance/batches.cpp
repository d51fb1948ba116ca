// A8: long queues are worked off in batches of 64 to 1024 messages, as the backlog asks for.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using namespace std::chrono_literals;

// How many messages in a row one actor handled before another one of its core had its turn.
struct Runs {
  const void* last = nullptr;
  std::vector<std::uint32_t> lengths;

  void note(const void* actor) {
    if (actor != last) {
      lengths.push_back(0);
      last = actor;
    }
    ++lengths.back();
  }
};

class Quick {
 public:
  explicit Quick(Runs* runs) : runs_(runs) {}
  void receive(int /*message*/) { runs_->note(this); }

 private:
  Runs* runs_;
};

class Slow {
 public:
  explicit Slow(Runs* runs) : runs_(runs) {}
  void receive(int /*message*/) {
    runs_->note(this);
    support::burn(10us);
  }

 private:
  Runs* runs_;
};

class Batches : public support::Running {
 protected:
  Batches() : support::Running(undisturbed()) {}
  // On a busy machine a handler may be left as stuck, and the other actor has several turns then.
  static bulkhead::Config undisturbed() {
    bulkhead::Config config = support::OnCores::config();
    config.hand_over_after = bulkhead::kForever;
    return config;
  }
  // Two actors of one core with long queues, which are there before the first message is handled.
  template <class A>
  Runs runs_of(int messages) {
    Runs runs;
    const bulkhead::SpawnOptions here = pinned_to(1);
    const auto one = runtime.spawn_with<A>(here, &runs);
    const auto other = runtime.spawn_with<A>(here, &runs);
    support::Event held;
    support::Event go;
    runtime.spawn_with(here, [&] {
      const bulkhead::NoPreempt holds_the_core;
      held.set();
      go.wait();
    });
    EXPECT_TRUE(held.wait());
    for (int i = 0; i < messages; ++i) {
      one.send(i);
      other.send(i);
    }
    go.set();
    wait_for_idle();
    return runs;
  }
};
ON_ONE_AND_SEVERAL_CORES(Batches);

// A8
TEST_P(Batches, grow_while_handlers_are_quick) {
  // Another process may stretch a batch now and then, so that it counts as slow. Sanitizers make so
  // many messages slow that few batches grow to the full.
  const std::uint32_t grown = support::kTimeFactor > 1 ? 128 : 1024;
  Runs runs;
  EXPECT_TRUE(support::eventually([&] {
    runs = runs_of<Quick>(50'000);
    return *std::ranges::max_element(runs.lengths) >= grown;
  }));
  for (std::size_t i = 0; i + 2 < runs.lengths.size(); ++i) {
    ASSERT_GE(runs.lengths[i], 64u) << i;
    ASSERT_LE(runs.lengths[i], 1024u) << i;
  }
}

// A8
TEST_P(Batches, stay_small_while_handlers_are_slow) {
  const Runs runs = runs_of<Slow>(1000);
  EXPECT_LE(*std::ranges::max_element(runs.lengths), 128u);
  EXPECT_GE(runs.lengths.size(), 2000u / 128) << "each had its turn, time and again";
}

}  // namespace
