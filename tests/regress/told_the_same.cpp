// A18: what one way of asking told, another told otherwise: a thread and an actor that send to
// a runtime that has stopped, a wait on no descriptor with no time and with some, statistics that
// belong together; and time spans of an odd unit were cut.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <ratio>
#include <stdexcept>

#include "support/on_cores.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;

struct Sink {
  void receive(int /*message*/) {}
  void receive(std::array<long, 4> /*message*/) {}
  long receive(long number) { return number; }
};

// How many ways of sending tell something else than that the receiver's runtime does not run.
struct Sender {
  int receive(Address<Sink> sink) {
    int wrong = 0;
    if (sink.send(1) != Delivery::kStopped) ++wrong;
    if (sink.send(std::array<long, 4>{}) != Delivery::kStopped) ++wrong;
    const auto answer = sink.ask(1L);
    if (answer || answer.error() != AskError::kStopped) ++wrong;
    if (stop(sink.pid()) != Delivery::kStopped) ++wrong;
    return wrong;
  }
};

using ToldTheSame = support::Running;
ON_ONE_AND_SEVERAL_CORES(ToldTheSame);

TEST_P(ToldTheSame, who_sends_to_a_stopped_runtime) {
  // First, so that no slot of the other runtime's is used again.
  const auto sender = runtime.spawn_with<Sender>(on_core(1));
  EXPECT_EQ(sender.ask(Address<Sink>()), 4);
  Runtime stopped({.cores = 1});
  stopped.start();
  const auto sink = stopped.spawn<Sink>();
  stopped.shutdown();
  EXPECT_EQ(sink.send(1), Delivery::kStopped);
  EXPECT_EQ(sender.ask(sink), 0);
  const Stats stats = stopped.stats();
  EXPECT_EQ(stats.stopped_sends, 1u);
  EXPECT_EQ(stats.refused, stats.dropped_for(DropCause::kStopped));
}

TEST_P(ToldTheSame, who_waits_on_no_descriptor) {
  std::atomic<int> wrong{0};
  runtime.spawn([&] {
    for (const Timeout timeout : {Timeout(0s), Timeout(1s), kForever}) {
      const auto readable = net::wait_readable(-1, timeout);
      if (readable || readable.error().kind != net::ErrorKind::kClosed) ++wrong;
      const auto writable = net::wait_writable(-7, timeout);
      if (writable || writable.error().kind != net::ErrorKind::kClosed) ++wrong;
    }
  });
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
}

TEST(Timeouts, of_odd_units_are_not_cut) {
  using Odd = std::chrono::duration<long, std::ratio<7, 9>>;
  EXPECT_EQ(Timeout(Odd(2'000'000'000)).nanoseconds(), 1'555'555'555'555'555'555);
  EXPECT_EQ(Timeout(Odd(9)).nanoseconds(), 7'000'000'000);
  using Tiny = std::chrono::duration<unsigned long, std::ratio<1, 3'000'000'000>>;
  EXPECT_EQ(Timeout(Tiny(18'000'000'000'000'000'000u)).nanoseconds(), 6'000'000'000'000'000'000);
  EXPECT_THROW(Timeout(Odd(20'000'000'000)), std::invalid_argument);
  EXPECT_THROW(Timeout(Odd(-1)), std::invalid_argument);
}

}  // namespace
