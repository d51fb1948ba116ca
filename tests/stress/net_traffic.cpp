// B19, C8: connections under random traffic: many actors on many cores, streams that are handed on
// in the middle of it, timeouts that race with data, peers that break off, closes from elsewhere.
// In the end every byte is accounted for, and nothing is left.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"
#include "support/wait.hpp"

namespace {

namespace net = bulkhead::net;
using namespace std::chrono_literals;
using net::ErrorKind;
using net::Stream;
using support::kDeadline;
using support::Random;

struct Totals {
  std::atomic<std::uint64_t> echoed{0};    // bytes that came back right
  std::atomic<std::uint64_t> wrong{0};     // bytes that came back wrong
  std::atomic<std::uint64_t> lost{0};      // connections that broke where none should
  std::atomic<std::uint64_t> finished{0};  // clients
};

// Echoes for a while, then hands the stream on to the next server, until the peer ends.
void serve(Stream stream, std::uint64_t seed, std::size_t cores, Totals& totals) {
  Random random(seed);
  std::byte buffer[4096];
  for (std::uint32_t rounds = random.below(20) + 1; rounds > 0; --rounds) {
    const auto timeout = random.one_in(4) ? bulkhead::Timeout(random.below(300) * 1us)
                                          : bulkhead::Timeout(kDeadline);
    const std::size_t room = random.below(sizeof buffer) + 1;
    const auto got = stream.read_some(std::span(buffer).first(room), timeout);
    if (!got && got.error().kind == ErrorKind::kTimedOut) continue;
    if (!got || *got == 0) return;
    if (!stream.write_all(std::span(buffer).first(*got), kDeadline)) return;
  }
  bulkhead::SpawnOptions options;
  if (random.one_in(2)) options.core = random.below(static_cast<std::uint32_t>(cores));
  bulkhead::spawn_with(
      options, [stream = std::move(stream), next = random.seed(), cores, &totals]() mutable {
        serve(std::move(stream), next, cores, totals);
      });
}

std::byte at(std::uint64_t position) { return static_cast<std::byte>(position * 131 >> 3); }

// Writes and reads at the same time, with a writer of its own; checks what comes back.
void converse(const net::Endpoint& server, std::uint64_t seed, Totals& totals) {
  Random random(seed);
  auto connected = Stream::connect(server, kDeadline);
  if (!connected) {
    ++totals.lost;
    return;
  }
  auto stream = std::make_shared<Stream>(*std::move(connected));
  const std::uint64_t bytes = random.below(60'000) + 1;
  const bool breaks_off = random.one_in(5);
  bulkhead::spawn([stream, bytes, seed = random.seed()] {
    Random pieces(seed);
    std::vector<std::byte> piece;
    for (std::uint64_t sent = 0; sent < bytes; sent += piece.size()) {
      piece.resize(std::min<std::uint64_t>(pieces.below(9000) + 1, bytes - sent));
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = at(sent + i);
      if (!stream->write_all(piece, kDeadline)) return;
    }
    static_cast<void>(stream->shutdown_write());
  });
  std::byte buffer[2048];
  std::uint64_t received = 0;
  for (;;) {
    const auto timeout = random.one_in(3) ? bulkhead::Timeout(random.below(200) * 1us)
                                          : bulkhead::Timeout(kDeadline);
    const auto got = stream->read_some(buffer, timeout);
    if (!got && got.error().kind == ErrorKind::kTimedOut) continue;
    if (!got) ++totals.lost;
    if (!got || *got == 0) break;
    for (std::size_t i = 0; i < *got; ++i) {
      if (buffer[i] != at(received + i)) ++totals.wrong;
    }
    received += *got;
    if (breaks_off && received > bytes / 2) {
      stream->close();  // its writer may be in the middle of a write
      return;
    }
  }
  if (received != bytes) ++totals.lost;
  totals.echoed += received;
}

class NetTraffic : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(NetTraffic);

// B19, C8
TEST_P(NetTraffic, every_byte_comes_back_while_streams_wander_and_timeouts_race) {
  Random random(support::seed_of_test());
  const std::size_t descriptors = support::open_descriptors();
  {
    bulkhead::Runtime runtime(config());
    runtime.start();
    auto listener = *net::Listener::listen(net::Endpoint::loopback(0));
    Totals totals;
    runtime.spawn([&, seed = random.seed()] {
      Random seeds(seed);
      while (auto stream = listener.accept()) {
        bulkhead::spawn_with(on_core(seeds.below(16)),
                             [stream = *std::move(stream), next = seeds.seed(), &totals]() mutable {
                               serve(std::move(stream), next, cores(), totals);
                             });
      }
    });
    const auto end = support::Clock::now() + support::stress_time() / 3;
    std::uint64_t clients = 0;
    while (support::Clock::now() < end || clients < 100) {
      for (int i = 0; i < 20; ++i, ++clients) {
        runtime.spawn_with(on_core(random.below(16)), [&, seed = random.seed()] {
          converse(listener.local(), seed, totals);
          ++totals.finished;
        });
      }
      ASSERT_TRUE(support::eventually([&] { return totals.finished + 40 > clients; }));
    }
    ASSERT_TRUE(support::eventually([&] { return totals.finished == clients; }));
    EXPECT_EQ(totals.wrong, 0u);
    EXPECT_EQ(totals.lost, 0u);
    EXPECT_GT(totals.echoed, 0u);
    listener.close();
    ASSERT_TRUE(runtime.wait_for_idle(kDeadline));
    EXPECT_EQ(runtime.stats().actors(), 0u);
    EXPECT_EQ(runtime.stats().actors_failed, 0u);
  }
  EXPECT_TRUE(support::eventually([&] { return support::open_descriptors() == descriptors; }));
}

// C8
TEST_P(NetTraffic, runtimes_end_in_the_middle_of_it_and_leave_nothing) {
  Random random(support::seed_of_test());
  const std::size_t descriptors = support::open_descriptors();
  const auto end = support::Clock::now() + support::stress_time() / 3;
  do {
    bulkhead::Runtime runtime(config());
    runtime.start();
    auto listener = *net::Listener::listen(net::Endpoint::loopback(0));
    Totals totals;
    runtime.spawn([&, seed = random.seed()] {
      Random seeds(seed);
      while (auto stream = listener.accept()) {
        bulkhead::spawn_with(on_core(seeds.below(16)),
                             [stream = *std::move(stream), next = seeds.seed(), &totals]() mutable {
                               serve(std::move(stream), next, cores(), totals);
                             });
      }
    });
    const std::uint32_t clients = random.below(60);
    for (std::uint32_t i = 0; i < clients; ++i) {
      runtime.spawn_with(on_core(random.below(16)), [&, seed = random.seed()] {
        converse(listener.local(), seed, totals);
        ++totals.finished;
      });
    }
    const std::uint32_t enough = random.below(clients + 1);
    ASSERT_TRUE(support::eventually([&] { return totals.finished >= enough; }));
    EXPECT_EQ(totals.wrong, 0u);
    testing::internal::CaptureStderr();  // the names of those at work
    runtime.shutdown(0s);
    static_cast<void>(testing::internal::GetCapturedStderr());
    EXPECT_EQ(runtime.stats().actors(), 0u);
  } while (support::Clock::now() < end);
  EXPECT_TRUE(support::eventually([&] { return support::open_descriptors() == descriptors; }));
}

}  // namespace
