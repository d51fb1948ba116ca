// What a timer costs its core.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "core/timer_wheel.hpp"

namespace {

using bulkhead::core::Timer;
using bulkhead::core::TimerWheel;
using bulkhead::machine::Nanoseconds;

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kTurn = 10'000;
constexpr std::size_t kTimersPerTurn = 64;

std::vector<Nanoseconds> random_delays(std::size_t count) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<Nanoseconds> delay(kSecond, 100 * kSecond);
  std::vector<Nanoseconds> delays(count);
  for (Nanoseconds& one : delays) one = delay(random);
  return delays;
}

void file(TimerWheel& wheel, Nanoseconds now) {
  wheel.advance(now, [](Timer&) {});
}

// The fate of most timeouts: over before their core looks at the clock.
void timer_cancelled_within_a_turn(benchmark::State& state) {
  TimerWheel wheel;
  Timer timer;
  for (auto _ : state) {
    wheel.start(timer, kSecond);
    wheel.cancel(timer);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(timer_cancelled_within_a_turn);

// Started, filed by the next turn, and cancelled, while so many others are pending.
void timer_filed_and_cancelled(benchmark::State& state) {
  TimerWheel wheel;
  const auto pending = static_cast<std::size_t>(state.range(0));
  std::vector<Timer> others(pending);
  const std::vector<Nanoseconds> delays = random_delays(pending + kTimersPerTurn);
  for (std::size_t i = 0; i < pending; ++i) wheel.start(others[i], delays[i]);
  file(wheel, 1);
  std::vector<Timer> timers(kTimersPerTurn);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kTimersPerTurn; ++i) wheel.start(timers[i], delays[pending + i]);
    file(wheel, 1);
    for (Timer& timer : timers) wheel.cancel(timer);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kTimersPerTurn));
}
BENCHMARK(timer_filed_and_cancelled)->Arg(0)->Arg(1'000'000);

// From its start to its firing, through the levels of the wheel.
void timer_fired(benchmark::State& state) {
  TimerWheel wheel;
  const std::vector<Nanoseconds> delays = random_delays(static_cast<std::size_t>(state.range(0)));
  std::vector<Timer> timers(delays.size());
  Nanoseconds now = 0;
  std::size_t fired = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < delays.size(); ++i) wheel.start(timers[i], delays[i] / 1000);
    for (fired = 0; fired < delays.size(); now += kTurn) {
      wheel.advance(now, [&fired](Timer&) { ++fired; });
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(timer_fired)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
