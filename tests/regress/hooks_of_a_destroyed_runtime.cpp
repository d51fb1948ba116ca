// A thread outside may send at any time, also while a runtime is being destroyed. What was wrong:
// its dead-letter hook was called while, and after, it was destroyed.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using bulkhead::Address;
using support::Door;
using namespace std::chrono_literals;

class HooksOfADestroyedRuntime : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(HooksOfADestroyedRuntime);

// A18
TEST_P(HooksOfADestroyedRuntime, are_not_called_any_more) {
  std::atomic<std::uint64_t> address{0};
  std::atomic<bool> done{false};
  std::atomic<int> late{0};
  static_cast<void>(support::stderr_of([&] {
    std::vector<std::thread> senders;
    for (int t = 0; t < 3; ++t) {
      senders.emplace_back([&] {
        while (!done) {
          const std::uint64_t word = address;
          const Address<Door> door(bulkhead::Pid(static_cast<std::uint32_t>(word),
                                                 static_cast<std::uint32_t>(word >> 32)));
          door.send(Door::Open{});
          static_cast<void>(door.ask(Door::Waiting{}, 1ms));
        }
      });
    }
    for (int round = 0; round < 100; ++round) {
      const auto alive = std::make_shared<std::atomic<bool>>(true);
      {
        bulkhead::Config config = support::OnCores::config();
        config.on_dead_letter = [alive, &late](const bulkhead::DeadLetter&) {
          if (!*alive) ++late;
        };
        bulkhead::Runtime runtime(config);
        runtime.start();
        const auto door = runtime.spawn_with<Door>(on_core(1));
        address = std::uint64_t{door.pid().generation()} << 32 | door.pid().index();
        const auto before = runtime.stats().handled;
        EXPECT_TRUE(support::eventually([&] { return runtime.stats().handled > before + 10; }));
      }
      *alive = false;
    }
    done = true;
    for (std::thread& sender : senders) sender.join();
  }));
  EXPECT_EQ(late, 0);
}

}  // namespace
