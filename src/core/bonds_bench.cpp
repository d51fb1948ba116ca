// What links and monitors cost, on one core. bench/peers/erlang measures the same in Erlang.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

#include "bulkhead/bulkhead.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Down;
using bulkhead::Pid;
using Box = bulkhead::Mailbox<Down>;

struct Other {
  void receive(int /*message*/) {}
};

struct Linked {
  Pid other;
  explicit Linked(Pid pid) : other(pid) {}
  void started() { this_actor::link(other); }
  void receive(int /*message*/) {}
};

template <class Body>
void on_one_core(Body body) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  config.on_death = [](const bulkhead::Death&) {};
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn<Box>(std::move(body));
  static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
}

void monitor_and_demonitor(benchmark::State& state) {
  on_one_core([&state](Box& /*mailbox*/) {
    const auto other = bulkhead::spawn<Other>();
    for (auto _ : state) {
      benchmark::DoNotOptimize(this_actor::demonitor(this_actor::monitor(other)));
    }
  });
}
BENCHMARK(monitor_and_demonitor);

void link_and_unlink(benchmark::State& state) {
  on_one_core([&state](Box& /*mailbox*/) {
    const auto other = bulkhead::spawn<Other>();
    for (auto _ : state) {
      this_actor::link(other);
      this_actor::unlink(other);
    }
  });
}
BENCHMARK(link_and_unlink);

// From the spawn to the handled Down.
void spawn_monitored_and_down(benchmark::State& state) {
  on_one_core([&state](Box& mailbox) {
    bulkhead::MonitorRef monitor;
    for (auto _ : state) {
      bulkhead::spawn_with({.monitor = &monitor}, [] {});
      benchmark::DoNotOptimize(mailbox.next<Down>());
    }
  });
}
BENCHMARK(spawn_monitored_and_down);

// One exit takes along so many that are linked to it; for each of them.
void link_storm(benchmark::State& state) {
  const auto many = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    bulkhead::Config config;
    config.cores = 1;
    config.hand_over_after = bulkhead::kForever;
    config.on_death = [](const bulkhead::Death&) {};
    bulkhead::Runtime runtime(config);
    runtime.start();
    const auto hub = runtime.spawn<Other>();
    runtime.spawn([hub, many] {
      for (std::size_t i = 0; i < many; ++i) bulkhead::spawn<Linked>(hub.pid());
    });
    static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
    state.ResumeTiming();
    static_cast<void>(bulkhead::kill(hub));
    static_cast<void>(runtime.wait_for_end(bulkhead::kForever));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(many));
}
BENCHMARK(link_storm)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
