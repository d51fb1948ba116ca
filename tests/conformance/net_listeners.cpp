// B19: listening, accepting, and what stands against it.
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net_support.hpp"

namespace {

namespace net = bulkhead::net;
using namespace std::chrono_literals;
using net::Endpoint;
using net::ErrorKind;
using net::Listener;
using net::Stream;
using support::error_of;
using support::Event;
using support::kDeadline;
using support::Peer;
using support::read_text;

class NetListeners : public support::Network {};
ON_ONE_AND_SEVERAL_CORES(NetListeners);

// B19
TEST_P(NetListeners, port_0_lets_the_system_choose_one_and_says_which) {
  const auto one = *Listener::listen(Endpoint::loopback(0));
  const auto other = *Listener::listen(Endpoint::loopback(0));
  EXPECT_NE(one.local().port(), 0);
  EXPECT_NE(one.local().port(), other.local().port());
  EXPECT_EQ(one.local(), Endpoint::loopback(one.local().port()));
}

// B19
TEST_P(NetListeners, an_address_in_use_is_an_error_that_names_it) {
  const auto one = *Listener::listen(Endpoint::loopback(0));
  const auto error = error_of(Listener::listen(one.local()));
  EXPECT_EQ(error.kind, ErrorKind::kAddressInUse);
  EXPECT_EQ(error.code, EADDRINUSE);
  EXPECT_EQ(error.text.find("listen on " + to_string(one.local()) + ": the address is in use"), 0u)
      << error.text;
}

// B19
TEST_P(NetListeners, a_port_is_free_again_at_once_when_its_listener_has_closed) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  const Endpoint where = listener.local();
  // A connection that this side ends first keeps the port in TIME_WAIT.
  Peer peer = Peer::connect(where.port());
  in_actor([&] { static_cast<void>(listener.accept(kDeadline)); });
  EXPECT_TRUE(peer.ended());
  listener.close();
  EXPECT_TRUE(Listener::listen(where));
}

// B19
TEST_P(NetListeners, listeners_can_share_a_port) {
  const auto one = *Listener::listen(Endpoint::loopback(0), {.share_port = true});
  EXPECT_TRUE(Listener::listen(one.local(), {.share_port = true}));
  EXPECT_EQ(error_of(Listener::listen(one.local())).kind, ErrorKind::kAddressInUse);
}

// B19
TEST_P(NetListeners, what_cannot_be_listened_on_is_an_error) {
  // An address that is reserved for documentation is nobody's.
  const auto error = error_of(Listener::listen(*Endpoint::parse("203.0.113.7:0")));
  EXPECT_EQ(error.kind, ErrorKind::kAddressNotAvailable);
  EXPECT_EQ(error_of(Listener::listen(Endpoint::loopback(0), {.backlog = 0})).code, EINVAL);
}

// B19
TEST_P(NetListeners, ipv6_works_alike_or_is_said_to_be_missing) {
  auto made = Listener::listen(Endpoint::loopback_v6(0), {.v6_only = true});
  if (!made) {
    EXPECT_TRUE(made.error().kind == ErrorKind::kBadAddress ||
                made.error().kind == ErrorKind::kAddressNotAvailable)
        << made.error().text;
    return;
  }
  Listener listener = *std::move(made);
  in_background(1, [&] {
    auto stream = Stream::connect(listener.local(), kDeadline);
    ASSERT_TRUE(stream) << stream.error().text;
    EXPECT_TRUE(stream->write_all("six", kDeadline));
  });
  in_actor([&] {
    auto stream = *listener.accept(kDeadline);
    EXPECT_EQ(stream.peer().family(), Endpoint::Family::kV6);
    EXPECT_EQ(stream.peer().address(), Endpoint::loopback_v6(0).address());
    EXPECT_EQ(read_text(stream, 3), "six");
  });
}

// B19
TEST_P(NetListeners, an_accept_that_nobody_connects_to_times_out) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  in_actor([&] {
    EXPECT_EQ(error_of(listener.accept(0s)).kind, ErrorKind::kTimedOut);
    const auto start = support::Clock::now();
    const auto error = error_of(listener.accept(20ms));
    EXPECT_EQ(error.kind, ErrorKind::kTimedOut);
    EXPECT_GE(support::Clock::now() - start, 20ms);
    EXPECT_NE(error.text.find(to_string(listener.local())), std::string::npos) << error.text;
  });
}

// B19
TEST_P(NetListeners, a_second_accept_at_the_same_time_is_refused) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  Event done;
  Event first;
  in_background(0, [&] {
    first.set();
    auto stream = listener.accept(kDeadline);
    while (!stream) {  // the other one may be at it for a moment
      EXPECT_EQ(stream.error().kind, ErrorKind::kBusy);
      stream = listener.accept(kDeadline);
    }
    done.set();
  });
  in_actor(1, [&] {
    while (!first.happened()) bulkhead::this_actor::yield();
    net::Error second{ErrorKind::kTimedOut, 0, 0, {}};
    while (second.kind == ErrorKind::kTimedOut) {
      second = error_of(listener.accept(0s));
      bulkhead::this_actor::yield();
    }
    EXPECT_EQ(second.kind, ErrorKind::kBusy) << second.text;
  });
  const Peer peer = Peer::connect(listener.local().port());
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetListeners, a_peer_that_has_gone_before_it_is_accepted_disturbs_nobody) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  for (int i = 0; i < 10; ++i) Peer::connect(listener.local().port()).reset();
  const Peer peer = Peer::connect(listener.local().port());
  peer.send("here");
  in_actor([&] {
    for (;;) {
      auto stream = listener.accept(kDeadline);
      ASSERT_TRUE(stream) << stream.error().text;
      if (read_text(*stream, 4) == "here") return;
    }
  });
}

// B19
TEST_P(NetListeners, accept_takes_connections_that_came_before_and_in_a_burst) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  std::vector<Peer> peers;
  for (int i = 0; i < 200; ++i) peers.push_back(Peer::connect(listener.local().port()));
  in_actor([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(listener.accept(kDeadline));
    EXPECT_EQ(error_of(listener.accept(0s)).kind, ErrorKind::kTimedOut);
  });
}

// Takes all descriptors of the process but one, until it is destroyed.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 512;
    setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = dup(0); fd >= 0; fd = dup(0)) taken_.push_back(fd);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() {
    for (const int fd : taken_) close(fd);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

// B19
TEST_P(NetListeners, without_descriptors_accept_fails_and_shedding_tells_the_peers) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  std::vector<Peer> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(Peer::connect(listener.local().port()));
  in_actor([&] {
    const NoDescriptors none;
    for (int i = 0; i < 2; ++i) {
      const auto error = error_of(listener.accept(kDeadline));
      EXPECT_EQ(error.kind, ErrorKind::kTooManyFiles) << error.text;
    }
    EXPECT_EQ(error_of(Stream::connect(listener.local(), kDeadline)).kind,
              ErrorKind::kTooManyFiles);
    EXPECT_EQ(error_of(Listener::listen(Endpoint::loopback(0))).kind, ErrorKind::kTooManyFiles);
    EXPECT_EQ(*listener.shed(2), 2u);
    EXPECT_EQ(*listener.shed(), 1u);
    EXPECT_EQ(*listener.shed(), 0u);
  });
  for (const Peer& each : peers) EXPECT_TRUE(each.ended());
  const Peer peer = Peer::connect(listener.local().port());
  in_actor([&] { EXPECT_TRUE(listener.accept(kDeadline)); });
}

// B19
TEST_P(NetListeners, what_is_closed_or_empty_fails_with_closed) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  listener.close();
  Listener none;
  in_actor([&] {
    EXPECT_EQ(error_of(listener.accept()).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(none.accept()).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(none.shed()).kind, ErrorKind::kClosed);
  });
  EXPECT_FALSE(none.is_open());
}

}  // namespace
