// B19, C8: looking names up, on threads that are there only when needed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "net_support.hpp"
#include "support/process.hpp"

namespace {

namespace net = bulkhead::net;
using namespace std::chrono_literals;
using net::Endpoint;
using net::ErrorKind;
using support::error_of;
using support::kDeadline;

class NetLookups : public support::Network {};
ON_ONE_AND_SEVERAL_CORES(NetLookups);

std::size_t lookup_threads() { return support::threads_named("bulkhead-lookup"); }

// B19
TEST_P(NetLookups, localhost_is_this_machine) {
  in_actor([&] {
    const auto found = net::lookup("localhost", 80, kDeadline);
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_FALSE(found->empty());
    for (const Endpoint& each : *found) {
      EXPECT_TRUE(each == Endpoint::loopback(80) || each == Endpoint::loopback_v6(80))
          << to_string(each);
    }
  });
}

// B19
TEST_P(NetLookups, a_numeric_address_is_read_at_once) {
  in_actor([&] {
    EXPECT_EQ(*net::lookup("127.0.0.1", 1, 0s), std::vector{Endpoint::loopback(1)});
    EXPECT_EQ(*net::lookup("::1", 2, 0s), std::vector{Endpoint::loopback_v6(2)});
    EXPECT_EQ(*net::lookup("[::1]", 3, 0s), std::vector{Endpoint::loopback_v6(3)});
  });
  EXPECT_EQ(lookup_threads(), 0u);
}

// B19
TEST_P(NetLookups, a_name_that_nobody_has_is_an_error_that_names_it) {
  in_actor([&] {
    const auto error = error_of(net::lookup("no-such-host.invalid", 80, kDeadline));
    // Without a name server it cannot be known.
    EXPECT_TRUE(error.kind == ErrorKind::kNoSuchName || error.kind == ErrorKind::kLookupFailed)
        << error.text;
    EXPECT_EQ(error.text.find("look up no-such-host.invalid: "), 0u) << error.text;
  });
}

// B19
TEST_P(NetLookups, what_cannot_be_a_name_is_refused) {
  in_actor([&] {
    for (const std::string& nonsense :
         {std::string(), std::string(" "), std::string("a b"), std::string("a\nb"),
          std::string("a\0b", 3), std::string(255, 'a'), std::string("\x7f")}) {
      EXPECT_EQ(error_of(net::lookup(nonsense, 80, kDeadline)).kind, ErrorKind::kBadAddress);
    }
  });
}

// C8
TEST_P(NetLookups, one_that_takes_too_long_times_out_and_its_late_result_is_discarded) {
  for (int i = 0; i < 50; ++i) {
    in_actor(static_cast<std::size_t>(i), [&] {
      const auto found = net::lookup("localhost", 80, 0s);
      EXPECT_TRUE(found || found.error().kind == ErrorKind::kTimedOut) << found.error().text;
      // The next wait of the same actor is not ended by the late one.
      const auto start = support::Clock::now();
      bulkhead::this_actor::sleep_for(1ms);
      EXPECT_GE(support::Clock::now() - start, 1ms);
    });
  }
}

// B19
TEST_P(NetLookups, hundreds_at_a_time_share_a_few_threads_which_end_afterwards) {
  std::atomic<int> found{0};
  for (std::size_t i = 0; i < 300; ++i) {
    in_background(i, [&] {
      if (net::lookup("localhost", 80, kDeadline)) ++found;
    });
  }
  std::size_t most = 0;
  EXPECT_TRUE(support::eventually([&] {
    most = std::max(most, lookup_threads());
    return found == 300;
  }));
  EXPECT_LE(most, 8u);  // four, and the last moments of those whose places they have taken
  EXPECT_TRUE(support::eventually([] { return lookup_threads() == 0; }));
}

// C8
TEST_P(NetLookups, a_runtime_that_ends_meanwhile_does_not_wait_for_them) {
  const support::NoDescriptorIsLeft none_left;
  bulkhead::Runtime other(config());
  for (int i = 0; i < 10; ++i) {
    std::atomic<int> begun{0};
    other.start();
    for (std::size_t k = 0; k < 50; ++k) {
      other.spawn_with(on_core(k), [&] {
        ++begun;
        static_cast<void>(net::lookup("localhost", 80));
      });
    }
    EXPECT_TRUE(support::eventually([&] { return begun > 10; }));
    other.shutdown(0s);
  }
  EXPECT_TRUE(support::eventually([] { return lookup_threads() == 0; }));
}

// B19
TEST_P(NetLookups, a_stream_connects_to_a_name) {
  auto listener = *net::Listener::listen(Endpoint::loopback(0));
  const std::uint16_t port = listener.local().port();
  in_background(1, [&] { static_cast<void>(listener.accept(kDeadline)); });
  in_actor([&] {
    const auto stream = net::Stream::connect("localhost", port, kDeadline);
    EXPECT_TRUE(stream) << stream.error().text;
    const auto numeric = net::Stream::connect("127.0.0.1", port, kDeadline);
    EXPECT_TRUE(numeric) << numeric.error().text;
    EXPECT_FALSE(net::Stream::connect("not a name", port, kDeadline));
  });
  wait_for_idle();  // the listener is this frame's
}

}  // namespace
