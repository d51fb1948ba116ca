// What channels cost between actors on one core. bench/peers/go/channels measures the same in Go.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bulkhead/bulkhead.hpp"

namespace {

using bulkhead::ChannelError;
using bulkhead::make_channel;
using bulkhead::Receiver;
using bulkhead::Sender;

using Number = std::uint64_t;

/// Runs `body` as an actor of a runtime with one core, until nothing is under way.
template <class Body>
void on_one_core(Body body) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn(std::move(body));
  static_cast<void>(runtime.wait_for_idle(bulkhead::kForever));
}

// One actor, nobody waits.
void channel_send_and_receive(benchmark::State& state) {
  on_one_core([&state] {
    const auto [sender, receiver] = make_channel<Number>();
    Number number = 0;
    for (auto _ : state) {
      sender.send(number);
      number += receiver.recv().value();
    }
    benchmark::DoNotOptimize(number);
  });
}
BENCHMARK(channel_send_and_receive);

void channel_found_empty(benchmark::State& state) {
  on_one_core([&state] {
    const auto [sender, receiver] = make_channel<Number>();
    for (auto _ : state) {
      auto value = receiver.try_recv();
      benchmark::DoNotOptimize(value);
    }
  });
}
BENCHMARK(channel_found_empty);

// There and back between two actors, over channels of this capacity; who receives waits each time.
void channel_round_trip(benchmark::State& state) {
  on_one_core([&state] {
    const auto capacity = static_cast<std::size_t>(state.range(0));
    auto [there, pings] = make_channel<Number>(capacity);
    auto [back, pongs] = make_channel<Number>(capacity);
    bulkhead::spawn([pings = std::move(pings), back = std::move(back)] {
      for (const Number number : pings) back.send(number + 1);
    });
    Number number = 0;
    for (auto _ : state) {
      there.send(number);
      number = pongs.recv().value();
    }
  });
}
BENCHMARK(channel_round_trip)->Arg(0)->Arg(1);

// One receives from eight, over a channel that holds 1024.
void channel_many_to_one(benchmark::State& state) {
  on_one_core([&state] {
    constexpr int kProducers = 8;
    auto [sender, receiver] = make_channel<Number>(1024);
    for (int i = 0; i < kProducers; ++i) {
      bulkhead::spawn([sender = sender] {
        for (Number number = 0; sender.send(number); ++number) {
        }
      });
    }
    for (auto _ : state) benchmark::DoNotOptimize(receiver.recv().value());
  });
}
BENCHMARK(channel_many_to_one);

// Of eight channels, the last is ready.
void select_one_of_eight_ready(benchmark::State& state) {
  on_one_core([&state] {
    std::vector<bulkhead::Channel<Number>> c;
    for (int i = 0; i < 8; ++i) c.push_back(make_channel<Number>(1));
    Number sum = 0;
    const auto add = [&sum](const std::expected<Number, ChannelError>& number) { sum += *number; };
    const auto arm = [&c, &add](std::size_t i) { return on_receive(c[i].receiver, add); };
    for (auto _ : state) {
      c[7].sender.send(1);
      bulkhead::select(arm(0), arm(1), arm(2), arm(3), arm(4), arm(5), arm(6), arm(7));
    }
    benchmark::DoNotOptimize(sum);
  });
}
BENCHMARK(select_one_of_eight_ready);

// There and back, and both wait with a select over eight channels.
void select_round_trip(benchmark::State& state) {
  on_one_core([&state] {
    std::vector<bulkhead::Channel<Number>> c;
    for (int i = 0; i < 16; ++i) c.push_back(make_channel<Number>(0));
    const auto wait_among = [](std::vector<Receiver<Number>>& r) {
      Number number = 0;
      const auto arm = [&r, &number](std::size_t i) {
        return on_receive(r[i], [&number](const std::expected<Number, ChannelError>& received) {
          number = received.value_or(0);
        });
      };
      bulkhead::select(arm(0), arm(1), arm(2), arm(3), arm(4), arm(5), arm(6), arm(7));
      return number;
    };
    std::vector<Receiver<Number>> pings;
    std::vector<Receiver<Number>> pongs;
    for (std::size_t i = 0; i < 8; ++i) pings.push_back(c[i].receiver);
    for (std::size_t i = 8; i < 16; ++i) pongs.push_back(c[i].receiver);
    bulkhead::spawn([pings, back = c[15].sender, wait_among]() mutable {
      while (const Number number = wait_among(pings)) back.send(number);
    });
    const Sender<Number> there = c[7].sender;
    for (auto _ : state) {
      there.send(1);
      benchmark::DoNotOptimize(wait_among(pongs));
    }
    there.close();
  });
}
BENCHMARK(select_round_trip);

}  // namespace
