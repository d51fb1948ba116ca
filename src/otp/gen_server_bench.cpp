// What servers cost. bench/peers/erlang measures the same in Erlang.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>

#include "bulkhead/otp.hpp"

namespace {

using bulkhead::ServerRef;

struct Get {};
struct Add {
  int n;
};
struct Later {
  using Answer = int;
};
struct Tick {};

class Counter : public bulkhead::GenServer {
 public:
  int handle_call(Get /*message*/) { return count_; }
  void handle_call(Later /*message*/, bulkhead::From<int> from) { from.reply(count_); }
  void handle_cast(Add add) { count_ += add.n; }
  void handle_info(Tick /*message*/) { ++count_; }

 private:
  int count_ = 0;
};

// The same by hand: what is left is the price of a server.
class Plain {
 public:
  int receive(Get /*message*/) { return count_; }

 private:
  int count_ = 0;
};

template <class Body>
void on_cores(std::size_t cores, Body body) {
  bulkhead::Config config;
  config.cores = cores;
  config.gather = false;
  config.share_work = false;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn(std::move(body));
  static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
}

bulkhead::ServerOptions on_core(std::size_t core) {
  bulkhead::ServerOptions options;
  options.spawn = {.core = core, .pinned = true};
  return options;
}

void ask_of_a_plain_actor(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto plain = bulkhead::spawn<Plain>();
    for (auto _ : state) benchmark::DoNotOptimize(plain.ask(Get{}));
  });
}
BENCHMARK(ask_of_a_plain_actor);

void ask_of_a_plain_actor_on_another_core(benchmark::State& state) {
  on_cores(2, [&state] {
    const auto plain = bulkhead::spawn_with<Plain>({.core = 1, .pinned = true});
    for (auto _ : state) benchmark::DoNotOptimize(plain.ask(Get{}));
  });
}
BENCHMARK(ask_of_a_plain_actor_on_another_core)->UseRealTime();

void call_on_the_same_core(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto server = *bulkhead::start_server<Counter>({});
    for (auto _ : state) benchmark::DoNotOptimize(server.call(Get{}));
  });
}
BENCHMARK(call_on_the_same_core);

void call_that_is_answered_by_its_from(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto server = *bulkhead::start_server<Counter>({});
    for (auto _ : state) benchmark::DoNotOptimize(server.call(Later{}));
  });
}
BENCHMARK(call_that_is_answered_by_its_from);

void call_from_another_core(benchmark::State& state) {
  on_cores(2, [&state] {
    const auto server = *bulkhead::start_server<Counter>(on_core(1));
    for (auto _ : state) benchmark::DoNotOptimize(server.call(Get{}));
  });
}
BENCHMARK(call_from_another_core)->UseRealTime();

// In rounds of a thousand, so that no backlog grows.
void cast(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto server = *bulkhead::start_server<Counter>({});
    int sent = 0;
    for (auto _ : state) {
      server.cast(Add{1});
      if (++sent % 1000 == 0) static_cast<void>(server.call(Get{}));
    }
  });
}
BENCHMARK(cast);

void info(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto server = *bulkhead::start_server<Counter>({});
    int sent = 0;
    for (auto _ : state) {
      server.info(Tick{});
      if (++sent % 1000 == 0) static_cast<void>(server.call(Get{}));
    }
  });
}
BENCHMARK(info);

void request_and_its_answer(benchmark::State& state) {
  on_cores(1, [&state] {
    const auto server = *bulkhead::start_server<Counter>({});
    for (auto _ : state) benchmark::DoNotOptimize(server.send_request(Get{}).wait());
  });
}
BENCHMARK(request_and_its_answer);

void start_and_stop(benchmark::State& state) {
  on_cores(1, [&state] {
    for (auto _ : state) {
      const auto server = *bulkhead::start_server<Counter>({});
      benchmark::DoNotOptimize(server.stop());
    }
  });
}
BENCHMARK(start_and_stop);

}  // namespace
