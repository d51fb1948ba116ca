// C16: traces and flight recorders that begin and end at any moment, from several threads, while
// actors work, and while the runtime stops.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/balance.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"
#include "support/traced.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Work {
  int left;
};

// Sends on, asks, spawns, gives way and ends.
class Worker {
 public:
  explicit Worker(std::atomic<bool>* over) : over_(over) {}

  void receive(Work work) {
    if (*over_ || work.left == 0) return bulkhead::this_actor::stop();
    const auto next = bulkhead::spawn<Worker>(over_);
    static_cast<void>(next.send(Work{work.left - 1}));
    if (work.left % 3 == 0) bulkhead::this_actor::yield();
    if (work.left % 5 == 0) bulkhead::this_actor::sleep_for(20us);
    auto joined = bulkhead::spawn_joinable([left = work.left] { return left; });
    EXPECT_EQ(joined.join().value_or(-1), work.left);
    bulkhead::this_actor::stop();
  }

 private:
  std::atomic<bool>* over_;
};

class TracesUnderLoad : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(TracesUnderLoad);

// Begins and ends traces until it is over. How many whole ones there were.
int trace_at_random(bulkhead::Runtime& runtime, const std::atomic<bool>& over, std::uint64_t seed) {
  support::Random random(seed);
  int whole = 0;
  while (!over) {
    auto text = std::make_unique<support::TraceText>();
    bulkhead::TraceOptions options;
    options.events_per_core = std::size_t{16} << random.below(10);
    options.runs = !random.one_in(8);
    options.sends = !random.one_in(4);
    options.wakes = !random.one_in(4);
    switch (random.below(6)) {
      case 0:
        static_cast<void>(runtime.start_flight_recorder(options));
        break;
      case 1:
        runtime.stop_flight_recorder();
        break;
      case 2:
        for (const std::string& line : runtime.last_events({.most = 1000})) {
          EXPECT_TRUE(line.starts_with("-")) << line;
        }
        break;
      case 3:
        static_cast<void>(runtime.tracing());
        break;
      default: {
        const bool began = runtime.start_trace(text->sink(), options).has_value();
        if (random.one_in(2)) {
          std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
        }
        if (!began) break;
        const auto stopped = runtime.stop_trace();
        if (!stopped) {  // the runtime has stopped meanwhile
          EXPECT_EQ(stopped.error().kind, bulkhead::TraceError::Kind::kNotOn);
        }
        const support::Traced traced(text->text());
        traced.expect_balanced();
        ++whole;
      }
    }
  }
  return whole;
}

// C16
TEST_P(TracesUnderLoad, begin_and_end_from_several_threads) {
  const std::size_t threads = support::threads();
  const std::size_t descriptors = support::open_descriptors();
  const auto end = Clock::now() + support::stress_time();
  support::Random random(support::seed_of_test());
  std::atomic<int> whole{0};
  do {
    std::atomic<bool> over{false};
    std::atomic<bool> tracers_over{false};
    bulkhead::Runtime runtime(config());
    runtime.start();
    for (std::size_t i = 0; i < 2 * cores(); ++i) {
      static_cast<void>(runtime.spawn_with<Worker>(on_core(i), &over).send(Work{1 << 20}));
    }
    std::vector<std::thread> tracers;
    for (int i = 0; i < 3; ++i) {
      tracers.emplace_back(
          [&, seed = random.seed()] { whole += trace_at_random(runtime, tracers_over, seed); });
    }
    for (int i = 0; i < 200; ++i) {  // of a thread outside
      static_cast<void>(runtime.spawn<Worker>(&over).send(Work{3}));
      std::this_thread::sleep_for(1ms);
    }
    over = true;
    runtime.shutdown();  // with them at it
    tracers_over = true;
    for (std::thread& tracer : tracers) tracer.join();
    support::expect_balanced(runtime.stats());
  } while (Clock::now() < end);
  EXPECT_GT(whole, 0);
  EXPECT_EQ(support::threads(), threads);
  EXPECT_EQ(support::open_descriptors(), descriptors);
}

}  // namespace
