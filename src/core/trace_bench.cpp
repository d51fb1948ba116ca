// What an event of a trace costs its core (C16: less than 20 ns), and what a message costs with
// and without a trace.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "bulkhead/bulkhead.hpp"
#include "core/trace.hpp"

namespace {

using bulkhead::Pid;
using bulkhead::TraceOptions;
using bulkhead::core::TraceEvent;
using bulkhead::core::TraceSession;
using bulkhead::core::TraceTrack;

void note_events(benchmark::State& state, const TraceOptions& options, Pid other) {
  TraceSession session(options, bulkhead::sync::WhenFull::kOverwrite);
  TraceTrack track(session, 0, false);
  static constexpr bulkhead::ActorClass kClass{};
  for (auto _ : state) track.spawns(nullptr, other, kClass);
  state.SetItemsProcessed(state.iterations());
}

// As each core does.
void event(benchmark::State& state) { note_events(state, {}, Pid(1, 1)); }
BENCHMARK(event);

// Of which neither kind nor actor is wanted.
void event_of_no_kind(benchmark::State& state) { note_events(state, {.spawns = false}, Pid(1, 1)); }
BENCHMARK(event_of_no_kind);
void event_of_no_actor(benchmark::State& state) {
  note_events(state, {.actors = {Pid(1, 1), Pid(2, 1), Pid(3, 1)}}, Pid(4, 1));
}
BENCHMARK(event_of_no_actor);

// The look at the clock alone.
void cycles(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(bulkhead::machine::cycles());
}
BENCHMARK(cycles);
void clock_of_the_kernel(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(bulkhead::machine::now());
}
BENCHMARK(clock_of_the_kernel);

struct Sink {
  std::uint64_t sum = 0;
  void receive(std::uint64_t message) { sum += message; }
};

// Sent and handled on one core; 0: off, 1: a flight recorder, so that it is not the drain that is
// measured.
void message(benchmark::State& state) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  if (state.range(0) == 1) config.trace = bulkhead::TraceSettings{.flight_recorder = true};
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn([&state] {
    const auto sink = bulkhead::spawn<Sink>();
    std::uint64_t sent = 0;
    for (auto _ : state) {
      benchmark::DoNotOptimize(sink.send(sent));
      if (++sent % 64 == 0) bulkhead::this_actor::yield();
    }
    bulkhead::stop(sink.pid());
  });
  static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
}
BENCHMARK(message)->Arg(0)->Arg(1);

}  // namespace
