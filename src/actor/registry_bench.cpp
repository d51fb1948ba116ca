// What names and process groups cost. bench/peers/erlang/registry_erlang.erl measures the same in
// Erlang.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bulkhead/otp.hpp"

namespace {

struct Named {
  void receive(int /*message*/) {}
};

bulkhead::Config on_cores(std::size_t cores) {
  bulkhead::Config config;
  config.cores = cores;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  config.on_death = [](const bulkhead::Death&) {};
  return config;
}

template <class Body>
void on_one_core(Body body) {
  bulkhead::Runtime runtime(on_cores(1));
  runtime.start();
  static_cast<void>(runtime.register_name("session-registry", runtime.spawn<Named>()));
  runtime.spawn(std::move(body));
  static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
}

void whereis(benchmark::State& state) {
  on_one_core([&state] {
    for (auto _ : state) benchmark::DoNotOptimize(bulkhead::whereis("session-registry"));
  });
}
BENCHMARK(whereis);

void whereis_typed(benchmark::State& state) {
  on_one_core([&state] {
    for (auto _ : state) benchmark::DoNotOptimize(bulkhead::whereis<Named>("session-registry"));
  });
}
BENCHMARK(whereis_typed);

void named_address(benchmark::State& state) {
  on_one_core([&state] {
    const bulkhead::NamedAddress<Named> address("session-registry");
    for (auto _ : state) benchmark::DoNotOptimize(address.pid());
  });
}
BENCHMARK(named_address);

// Names that nobody has are looked for under a lock.
void whereis_nobody(benchmark::State& state) {
  on_one_core([&state] {
    for (auto _ : state) benchmark::DoNotOptimize(bulkhead::whereis("nobody-is-called-so"));
  });
}
BENCHMARK(whereis_nobody);

// So many that the copies do not suffice: from the table, under a lock.
void whereis_of_many(benchmark::State& state) {
  const auto many = static_cast<std::size_t>(state.range(0));
  on_one_core([&state, many] {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < many; ++i) {
      names.push_back("session-" + std::to_string(i));
      static_cast<void>(bulkhead::register_name(names.back(), bulkhead::spawn<Named>()));
    }
    std::size_t next = 0;
    for (auto _ : state) {
      benchmark::DoNotOptimize(bulkhead::whereis(names[next]));
      next = (next + 7919) % many;
    }
  });
}
BENCHMARK(whereis_of_many)->Arg(50)->Arg(1000)->Arg(100'000);

void register_and_unregister(benchmark::State& state) {
  on_one_core([&state] {
    const auto actor = bulkhead::spawn<Named>();
    for (auto _ : state) {
      static_cast<void>(bulkhead::register_name("comes-and-goes", actor));
      bulkhead::unregister_name("comes-and-goes");
    }
  });
}
BENCHMARK(register_and_unregister);

void from_outside(benchmark::State& state) {
  bulkhead::Runtime runtime(on_cores(1));
  runtime.start();
  static_cast<void>(runtime.register_name("session-registry", runtime.spawn<Named>()));
  for (auto _ : state) benchmark::DoNotOptimize(runtime.whereis("session-registry"));
}
BENCHMARK(from_outside);

// So many cores look up the same name all the time; for each of them, in the best of many rounds.
void whereis_on_cores(benchmark::State& state) {
  const auto cores = static_cast<std::size_t>(state.range(0));
  constexpr int kLookUps = 100'000;
  bulkhead::Runtime runtime(on_cores(cores));
  runtime.start();
  static_cast<void>(runtime.register_name("session-registry", runtime.spawn<Named>()));
  double best = 1e9;
  for (auto _ : state) {
    std::vector<bulkhead::JoinHandle<double>> all;
    for (std::size_t i = 0; i < cores; ++i) {
      all.push_back(runtime.spawn_joinable_with({.core = i, .pinned = true}, [] {
        const auto begun = std::chrono::steady_clock::now();
        for (int k = 0; k < kLookUps; ++k) {
          benchmark::DoNotOptimize(bulkhead::whereis("session-registry"));
        }
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun)
            .count();
      }));
    }
    double sum = 0;
    for (auto& each : all) sum += each.join().value();
    best = std::min(best, sum / static_cast<double>(cores) / kLookUps);
  }
  state.counters["ns_per_look_up"] = best;
}
BENCHMARK(whereis_on_cores)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

// A group of ten. bench/peers/erlang/registry_erlang.erl: pg:get_members, pg:join and leave.
void group_members(benchmark::State& state) {
  on_one_core([&state] {
    for (int i = 0; i < 10; ++i) {
      static_cast<void>(bulkhead::join_group("workers", bulkhead::spawn<Named>().pid()));
    }
    for (auto _ : state) benchmark::DoNotOptimize(bulkhead::group_members("workers"));
  });
}
BENCHMARK(group_members);

void join_and_leave_a_group(benchmark::State& state) {
  on_one_core([&state] {
    const bulkhead::Pid actor = bulkhead::spawn<Named>().pid();
    static_cast<void>(bulkhead::join_group("others", actor));
    for (auto _ : state) {
      static_cast<void>(bulkhead::join_group("others", actor));
      static_cast<void>(bulkhead::leave_group("others", actor));
    }
  });
}
BENCHMARK(join_and_leave_a_group);

}  // namespace
