// B18: identities and counters that are started near their limits.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "bulkhead/stage.hpp"
#include "core/inside.hpp"
#include "core/send_timers.hpp"
#include "core/slab.hpp"
#include "support/wait.hpp"

namespace bulkhead {
namespace {

using namespace std::chrono_literals;

StageConfig config_for(std::size_t actors, std::size_t timers) {
  StageConfig config;
  config.actors = actors;
  config.timers = timers;
  config.log.format = LogFormat::kOff;
  return config;
}

struct Go {};

struct Child {
  void receive(Go /*message*/) { ++count; }
  int count = 0;
};

class Watching {
 public:
  explicit Watching(std::vector<Pid>& downs) : downs_(downs) {}
  void receive(Pid child) { this_actor::monitor(child); }
  void receive(const Down& down) { downs_.push_back(down.actor); }

 private:
  std::vector<Pid>& downs_;
};

TEST(NearLimits, a_slot_whose_generation_is_spent_has_no_further_actor) {
  Stage stage(config_for(2, 0));
  std::vector<Pid> downs;
  const auto watching = stage.spawn<Watching>(downs);
  const auto first = stage.spawn<Child>();
  stop(first);
  EXPECT_EQ(stage.run(0ms), Stage::End::kDeadline);
  core::Slab::at(first.pid().index()).generation.store(UINT32_MAX, std::memory_order_relaxed);
  const auto last = stage.spawn<Child>();
  EXPECT_EQ(last.pid(), Pid(first.pid().index(), UINT32_MAX));
  watching.send(last.pid());
  last.send(Go{});
  EXPECT_EQ(first.send(Go{}), Delivery::kGone);
  EXPECT_EQ(stage.run(0ms), Stage::End::kDeadline);
  ASSERT_NE(stage.node(last), nullptr);
  EXPECT_EQ(stage.node(last)->count, 1);
  stop(last);
  EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
  EXPECT_EQ(downs, std::vector<Pid>{last.pid()});
  EXPECT_EQ(last.send(Go{}), Delivery::kGone);
  EXPECT_EQ(stage.node(last), nullptr);
  EXPECT_THROW(static_cast<void>(stage.spawn<Child>()), SpawnError);
}

TEST(NearLimits, a_timer_whose_generation_is_spent_is_not_used_again) {
  struct Timing {
    void receive(Go /*message*/) {
      const auto start = [this] { return send_after(1h, this_actor::address(this), 1); };
      const TimerRef first = start();
      EXPECT_TRUE(cancel(first));
      auto* record = core::RecordSlab<core::SendTimer>::process().find(first.index());
      record->generation.store(UINT32_MAX - 3, std::memory_order_relaxed);
      const TimerRef last = start();
      EXPECT_EQ(last.index(), first.index());
      EXPECT_FALSE(cancel(first));
      EXPECT_TRUE(cancel(last));
      EXPECT_FALSE(cancel(last));
      EXPECT_THROW(static_cast<void>(start()), CapacityError);
      done = true;
    }
    void receive(int /*message*/) { ADD_FAILURE() << "it was cancelled"; }
    bool done = false;
  };
  Stage stage(config_for(1, 1));
  const auto timing = stage.spawn<Timing>();
  timing.send(Go{});
  EXPECT_EQ(stage.run(0ms), Stage::End::kDeadline);
  EXPECT_TRUE(stage.node(timing)->done);
}

// What is idle is known by the sums of what was sent and handled, on all cores.
TEST(NearLimits, counts_may_go_past_their_end) {
  Config config;
  config.cores = 2;
  Runtime runtime(config);
  runtime.start();
  for (std::size_t i = 0; i < 2; ++i) {
    SpawnOptions pinned;
    pinned.core = i;
    pinned.pinned = true;
    runtime.spawn_with(pinned, [] {
      const core::BrieflyInside inside;
      core::Counts& counts = inside.core()->counts;
      const std::uint64_t most = UINT64_MAX - 10 - counts.sent.read();
      counts.sent.raise(most);
      counts.handled.raise(most);
    });
  }
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  SpawnOptions other;
  other.core = 1;
  const auto here = runtime.spawn<Child>();
  const auto there = runtime.spawn_with<Child>(other);
  runtime.spawn([here, there] {
    for (int i = 0; i < 100; ++i) {
      here.send(Go{});
      there.send(Go{});
    }
  });
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  stop(here);
  stop(there);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

}  // namespace
}  // namespace bulkhead
