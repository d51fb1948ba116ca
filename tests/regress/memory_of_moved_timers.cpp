// A10: what an actor keeps of its timers comes from the memory of the core on which it started the
// first. What was wrong: it was given to the core on which the actor ended.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using namespace std::chrono_literals;

struct Draw {};
struct End {};

class Owner {
 public:
  void started() { timer_ = bulkhead::send_after(1h, this_actor::address(this), End{}); }
  std::size_t receive(Draw /*message*/) { return this_actor::core(); }
  void receive(End /*message*/) { this_actor::stop(); }

 private:
  bulkhead::TimerRef timer_;
};

class MemoryOfMovedTimers : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(MemoryOfMovedTimers);

TEST_P(MemoryOfMovedTimers, goes_home) {
  std::atomic<std::size_t> moved{0};
  for (int round = 0; round < 5; ++round) {
    for (std::size_t core = 0; core < cores(); ++core) {
      runtime.spawn_with(pinned_to(core), [&moved, core] {
        std::vector<Address<Owner>> owners;
        for (std::size_t i = 0; i < 20; ++i) {
          owners.push_back(bulkhead::spawn_with<Owner>(on_core(core + 1)));
        }
        // Asks until they have come here.
        const auto end = support::Clock::now() + 300ms;
        std::size_t here = 0;
        while (here < owners.size() && support::Clock::now() < end) {
          here = 0;
          for (const auto& owner : owners) {
            if (owner.ask(Draw{}, support::kDeadline) == core) ++here;
          }
        }
        moved += here;
        for (const auto& owner : owners) owner.send(End{});
      });
    }
    wait_for_idle();
  }
  EXPECT_GT(moved, 0u);
  runtime.shutdown();
  EXPECT_EQ(runtime.stats().pool_bytes, 0u);
}

}  // namespace
