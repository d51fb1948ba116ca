// C9: what was wrong: a core kept that it was to pass on what its runtime's cores shared, into the
// next runtime, whose cores share nothing.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <thread>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

class CoresOfTheNextRuntime : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(CoresOfTheNextRuntime);

TEST_P(CoresOfTheNextRuntime, begin_anew) {
  constexpr int kRounds = 300 / support::kTimeFactor;
  for (int round = 0; round < kRounds; ++round) {
    bulkhead::Config settings = config();
    settings.run_queue = round % 2 == 0 ? bulkhead::RunQueue::kRing : bulkhead::RunQueue::kStriped;
    {
      bulkhead::Runtime shared(settings);
      shared.start();
      for (int i = 0; i < 30; ++i) {
        shared.spawn([i] {
          for (int k = 0; k < 20; ++k) this_actor::sleep_for(std::chrono::microseconds(10 + i));
        });
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100 + round));
    }
    settings.run_queue = bulkhead::RunQueue::kPartitioned;
    bulkhead::Runtime partitioned(settings);
    partitioned.start();
  }
}

}  // namespace
