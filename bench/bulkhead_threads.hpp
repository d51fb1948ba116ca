// Bulkhead's works that green threads do with each other: channels, select, locks, joining.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

/// n round trips between two green threads, over two channels without a place.
inline Result channel(const Request& request) {
  System system(request.cores);
  const auto n = request.n;
  const auto began = Clock::now();
  auto [to_ping, from_pong] = ::bulkhead::make_channel<std::uint64_t>(0);
  auto [to_pong, from_ping] = ::bulkhead::make_channel<std::uint64_t>(0);
  auto pong = system->spawn_joinable([n, in = from_ping, out = to_ping] {
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto got = in.recv();
      require(got.has_value(), "ping is received");
      require_equal(*got, i, "ping");
      require(out.send(*got + 1).has_value(), "pong is sent");
    }
  });
  auto ping = system->spawn_joinable([n, in = from_pong, out = to_pong] {
    for (std::uint64_t i = 0; i < n; ++i) {
      require(out.send(i).has_value(), "ping is sent");
      const auto got = in.recv();
      require(got.has_value(), "pong is received");
      require_equal(*got, i + 1, "pong");
    }
  });
  require(ping.join().has_value() && pong.join().has_value(), "both come to their end");
  return Result(n, Clock::now() - began);
}

/// Eight producers with a channel each, and one consumer that selects over all.
inline Result select_eight(const Request& request) {
  constexpr std::size_t kPlaces = 128;
  System system(request.cores);
  const auto n = request.n;
  const auto began = Clock::now();
  std::array<::bulkhead::Receiver<std::uint64_t>, kProducers> in;
  std::array<::bulkhead::Sender<std::uint64_t>, kProducers> kept;  // or they would be closed
  for (std::uint64_t i = 0; i < kProducers; ++i) {
    auto [sender, receiver] = ::bulkhead::make_channel<std::uint64_t>(kPlaces);
    in[i] = std::move(receiver);
    kept[i] = sender;
    system->spawn([n, i, to = std::move(sender)] {
      for (std::uint64_t value = i; value < n; value += kProducers) {
        require(to.send(value).has_value(), "a message is sent");
      }
    });
  }
  auto consumer = system->spawn_joinable([n, &in] {
    std::uint64_t sum = 0;
    std::uint64_t received = 0;
    const auto take = [&](const auto& value) {
      require(value.has_value(), "a message is received");
      sum += *value;
      ++received;
    };
    while (received < n) {
      ::bulkhead::select(on_receive(in[0], take), on_receive(in[1], take), on_receive(in[2], take),
                         on_receive(in[3], take), on_receive(in[4], take), on_receive(in[5], take),
                         on_receive(in[6], take), on_receive(in[7], take));
    }
    return sum;
  });
  const auto sum = consumer.join();
  const auto elapsed = Clock::now() - began;
  require(sum.has_value(), "the consumer comes to its end");
  require_equal(*sum, sum_below(n), "sum of the messages");
  return Result(n, elapsed).extra("queue_bound", static_cast<double>(kPlaces));
}

/// A counter under a lock.
inline Result run_lock(const Request& request, std::uint64_t workers) {
  System system(request.cores);
  ::bulkhead::Mutex mutex;
  std::uint64_t counter = 0;
  std::vector<::bulkhead::JoinHandle<void>> all;
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < workers; ++i) {
    SpawnOptions options;
    options.core = i % request.cores;
    all.push_back(system->spawn_joinable_with(
        options,
        [times = request.n / workers + (i < request.n % workers ? 1 : 0), &mutex, &counter] {
          for (std::uint64_t k = 0; k < times; ++k) {
            const auto guard = mutex.lock();
            ++counter;
          }
        }));
  }
  for (auto& worker : all) require(worker.join().has_value(), "a worker comes to its end");
  const auto elapsed = Clock::now() - began;
  require_equal(counter, request.n, "count under the lock");
  return Result(request.n, elapsed);
}

inline Result lock(const Request& request) { return run_lock(request, 1); }
inline Result lock_contended(const Request& request) { return run_lock(request, 8); }

/// Makes a green thread and waits for its end, n times.
inline Result spawn_join(const Request& request) {
  System system(request.cores);
  auto spawner = system->spawn_joinable([n = request.n] {
    std::uint64_t sum = 0;
    const auto began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) {
      sum += ::bulkhead::spawn_joinable([i] { return i; }).join().value();
    }
    const auto elapsed = Clock::now() - began;
    require_equal(sum, sum_below(n), "sum of what was returned");
    return elapsed;
  });
  const auto elapsed = spawner.join();
  require(elapsed.has_value(), "the spawner comes to its end");
  return Result(request.n, *elapsed);
}

}  // namespace bench
