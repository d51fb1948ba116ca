// A6: actors that talk to each other gather on one core.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using namespace std::chrono_literals;

struct Token {
  std::uint32_t hops_left;
};
struct Follow {
  bulkhead::Pid next;
};
struct Where {};

// A place in a ring, or in a pipeline that ends where there is no next.
class Station {
 public:
  void receive(Follow message) { next_ = Address<Station>(message.next); }
  void receive(Token token) {
    if (token.hops_left > 0 && next_) next_.send(Token{token.hops_left - 1});
  }
  std::size_t receive(Where /*message*/) { return this_actor::core(); }

 private:
  Address<Station> next_;
};

class Gathering : public support::OnCores {
 protected:
  // Alone: with sharing, an idle core might take one of them now and then, and keep it for a while.
  static bulkhead::Config alone() {
    bulkhead::Config config = partitioned();
    config.share_work = false;
    return config;
  }
  static bulkhead::Config partitioned() {
    bulkhead::Config config = support::OnCores::config();
    config.run_queue = bulkhead::RunQueue::kPartitioned;
    return config;
  }
  Gathering() : Gathering(alone()) {}
  explicit Gathering(const bulkhead::Config& config) : runtime(config) { runtime.start(); }

  // One station after the other, each on the next core.
  std::vector<Address<Station>> stations(std::size_t count, bool pinned = false) {
    std::vector<Address<Station>> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(runtime.spawn_with<Station>(pinned ? pinned_to(i) : begun_on(i)));
    }
    return made;
  }

  static void link(const std::vector<Address<Station>>& stations, bool ring) {
    for (std::size_t i = 0; i + 1 < stations.size(); ++i) {
      stations[i].send(Follow{stations[i + 1].pid()});
    }
    if (ring) stations.back().send(Follow{stations.front().pid()});
  }

  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }

  // How many stations are on the core that has most of them. A question from outside does not move.
  std::size_t together(const std::vector<Address<Station>>& stations) {
    std::vector<std::size_t> on(cores(), 0);
    for (const auto& station : stations) ++on[station.ask(Where{}, support::kDeadline).value()];
    return *std::ranges::max_element(on);
  }

  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(Gathering);

// A6
TEST_P(Gathering, a_ring_spread_over_all_cores_settles_on_one) {
  const auto ring = stations(50);
  link(ring, true);
  wait_for_idle();
  ring[0].send(Token{50 * 20});
  wait_for_idle();
  EXPECT_EQ(together(ring), ring.size());
  const auto moved = runtime.stats().moved;
  if (cores() > 1) {
    EXPECT_GT(moved, 0u);
  }
  ring[0].send(Token{50 * 20});
  wait_for_idle();
  EXPECT_EQ(runtime.stats().moved, moved) << "once together they stay";
}

// A6
TEST_P(Gathering, a_ring_settles_in_its_first_round) {
  const auto ring = stations(20);
  link(ring, true);
  wait_for_idle();
  ring[0].send(Token{20});
  wait_for_idle();
  EXPECT_EQ(together(ring), ring.size());
}

// A6
TEST_P(Gathering, a_pipeline_settles_on_one_core) {
  const auto pipeline = stations(20);
  link(pipeline, false);
  wait_for_idle();
  for (int i = 0; i < 20; ++i) {
    pipeline[0].send(Token{20});
    wait_for_idle();
  }
  EXPECT_EQ(together(pipeline), pipeline.size());
}

// A6
TEST_P(Gathering, pinned_actors_do_not_gather) {
  const auto ring = stations(20, true);
  link(ring, true);
  wait_for_idle();
  ring[0].send(Token{20 * 20});
  wait_for_idle();
  EXPECT_EQ(together(ring), (ring.size() + cores() - 1) / cores());
  EXPECT_EQ(runtime.stats().moved, 0u);
}

class GatheringAndSharing : public Gathering {
 protected:
  GatheringAndSharing() : Gathering(partitioned()) {}
};
ON_ONE_AND_SEVERAL_CORES(GatheringAndSharing);

// A6, A4
TEST_P(GatheringAndSharing, a_ring_settles_on_one_core_in_the_end) {
  const auto ring = stations(50);
  link(ring, true);
  EXPECT_TRUE(support::eventually([&] {
    ring[0].send(Token{50 * 20});
    return runtime.wait_for_idle(support::kDeadline) && together(ring) == ring.size();
  }));
}

class GatheringOff : public Gathering {
 protected:
  static bulkhead::Config off() {
    bulkhead::Config config = alone();
    config.gather = false;
    return config;
  }
  GatheringOff() : Gathering(off()) {}
};
ON_ONE_AND_SEVERAL_CORES(GatheringOff);

// A6
TEST_P(GatheringOff, nobody_moves) {
  const auto ring = stations(20);
  link(ring, true);
  wait_for_idle();
  ring[0].send(Token{20 * 20});
  wait_for_idle();
  EXPECT_EQ(together(ring), (ring.size() + cores() - 1) / cores());
  EXPECT_EQ(runtime.stats().moved, 0u);
}

// A6: a message from a thread outside asks nobody over.
TEST_P(Gathering, threads_outside_draw_nobody) {
  const auto spread = stations(10);
  for (int i = 0; i < 100; ++i) {
    for (const auto& station : spread) station.send(Token{0});
  }
  wait_for_idle();
  EXPECT_EQ(together(spread), (spread.size() + cores() - 1) / cores());
}

}  // namespace
