// B19: connections between actors, and what can go wrong with them. D1: plain blocking style.
#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
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

class NetStreams : public support::Network {
 protected:
  NetStreams() : listener(*Listener::listen(Endpoint::loopback(0))) {}

  [[nodiscard]] std::uint16_t port() const { return listener.local().port(); }

  /// Runs body(stream) in an actor whose stream is connected to a plain peer, which is returned.
  template <class Body>
  Peer with_peer(std::size_t core, Event& done, Body body) {
    in_background(core, [this, &done, body]() mutable {
      auto stream = listener.accept(kDeadline);
      ASSERT_TRUE(stream) << stream.error().text;
      body(*stream);
      stream->close();
      done.set();
    });
    return Peer::connect(port());
  }

  Listener listener;
};
ON_ONE_AND_SEVERAL_CORES(NetStreams);

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  return text;
}

// B19
TEST_P(NetStreams, two_actors_talk_over_a_connection_and_every_byte_arrives_in_order) {
  const std::string sent = pattern(3'000'000);
  std::string received;
  Event written;
  in_background(1, [&] {
    auto stream = Stream::connect(listener.local(), kDeadline);
    ASSERT_TRUE(stream) << stream.error().text;
    EXPECT_TRUE(stream->write_all(sent, kDeadline));
    EXPECT_TRUE(stream->shutdown_write());
    EXPECT_EQ(read_text(*stream, 100), "thank you");
    written.set();
  });
  in_actor([&] {
    auto stream = listener.accept(kDeadline);
    ASSERT_TRUE(stream) << stream.error().text;
    EXPECT_EQ(stream->peer().address(), Endpoint::loopback(0).address());
    EXPECT_EQ(*stream->local(), listener.local());
    received = read_text(*stream, sent.size() + 1);
    EXPECT_TRUE(stream->write_all("thank you", kDeadline));
  });
  EXPECT_TRUE(written.wait());
  EXPECT_TRUE(received == sent);
}

// B19
TEST_P(NetStreams, a_connect_to_where_nobody_listens_is_refused) {
  in_actor([&] {
    const Endpoint nobody = listener.local();
    listener.close();
    const auto error = error_of(Stream::connect(nobody, kDeadline));
    EXPECT_EQ(error.kind, ErrorKind::kRefused);
    EXPECT_EQ(error.code, ECONNREFUSED);
    EXPECT_NE(error.text.find(to_string(nobody)), std::string::npos) << error.text;
  });
}

// B19
TEST_P(NetStreams, an_address_that_cannot_be_connected_to_is_an_error) {
  in_actor([&] {
    EXPECT_EQ(error_of(Stream::connect(Endpoint::loopback(0), 10s)).kind, ErrorKind::kBadAddress);
    // A broadcast address.
    const auto error = error_of(Stream::connect(*Endpoint::parse("255.255.255.255:9"), 10s));
    EXPECT_TRUE(error.kind == ErrorKind::kDenied || error.kind == ErrorKind::kUnreachable)
        << error.text;
  });
}

// B19
TEST_P(NetStreams, a_connect_that_nobody_answers_times_out) {
  // The queue of a listener that does not accept fills up, and the kernel falls silent.
  const support::PlainListener silent(1);
  std::vector<Peer> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Peer::loopback(silent.port());
    connect(crowd.back().fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  in_actor([&] {
    const auto start = support::Clock::now();
    const auto error = error_of(Stream::connect(silent.endpoint(), 50ms));
    EXPECT_EQ(error.kind, ErrorKind::kTimedOut) << error.text;
    EXPECT_GE(support::Clock::now() - start, 50ms);
  });
}

// B19
TEST_P(NetStreams, a_connection_that_the_peer_breaks_off_is_an_error_for_reader_and_writer) {
  Event done;
  Event reading;
  Peer peer = with_peer(0, done, [&](Stream& stream) {
    std::byte buffer[16];
    reading.set();
    EXPECT_EQ(error_of(stream.read_some(buffer, kDeadline)).kind, ErrorKind::kReset);
    const auto error = error_of(stream.write_all("hello", kDeadline));
    EXPECT_TRUE(error.kind == ErrorKind::kClosedByPeer || error.kind == ErrorKind::kReset)
        << error.text;
  });
  EXPECT_TRUE(reading.wait());
  peer.reset();
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, a_writer_that_waits_hears_of_a_broken_connection) {
  Event done;
  Event full;
  Peer peer = with_peer(0, done, [&](Stream& stream) {
    const std::string much = pattern(1 << 20);
    while (stream.write_some(std::as_bytes(std::span(much)), 0s)) {
    }
    full.set();
    const auto error = error_of(stream.write_all(much, kDeadline));
    EXPECT_TRUE(error.kind == ErrorKind::kClosedByPeer || error.kind == ErrorKind::kReset)
        << error.text;
  });
  EXPECT_TRUE(full.wait());
  peer.reset();
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, each_side_can_end_its_half_and_go_on_with_the_other) {
  Event done;
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    EXPECT_EQ(read_text(stream, 100), "question");
    EXPECT_TRUE(stream.write_all("answer", kDeadline));
    EXPECT_TRUE(stream.shutdown_write());
    std::byte buffer[16];
    EXPECT_EQ(*stream.read_some(buffer, kDeadline), 0u);  // as often as one asks
    EXPECT_EQ(error_of(stream.write_some(buffer, kDeadline)).kind, ErrorKind::kClosedByPeer);
  });
  peer.send("question");
  peer.shutdown_write();
  EXPECT_EQ(peer.receive(100), "answer");
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, an_end_that_comes_together_with_the_last_bytes_is_seen) {
  for (int i = 0; i < 50; ++i) {
    Event done;
    Event wait_first;
    const Peer peer = with_peer(static_cast<std::size_t>(i), done, [&](Stream& stream) {
      EXPECT_TRUE(i % 2 != 0 || wait_first.wait());
      std::byte buffer[1024];
      std::size_t got = 0;
      for (std::size_t part = 1; part != 0; got += part)
        part = *stream.read_some(buffer, kDeadline);
      EXPECT_EQ(got, 5u);
    });
    peer.send("hel");
    peer.send("lo");
    peer.shutdown_write();
    wait_first.set();
    ASSERT_TRUE(done.wait());
  }
}

// B19
TEST_P(NetStreams, a_read_from_a_silent_peer_times_out_and_can_be_repeated) {
  Event done;
  Event timed_out;
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    std::byte buffer[16];
    const auto start = support::Clock::now();
    const auto error = error_of(stream.read_some(buffer, 20ms));
    EXPECT_EQ(error.kind, ErrorKind::kTimedOut);
    EXPECT_NE(error.text.find("read from 127.0.0.1"), std::string::npos) << error.text;
    EXPECT_GE(support::Clock::now() - start, 20ms);
    timed_out.set();
    EXPECT_EQ(*stream.read_some(buffer, kDeadline), 4u);
  });
  EXPECT_TRUE(timed_out.wait());
  peer.send("late");
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, a_write_to_a_peer_that_never_reads_times_out_and_tells_how_much_was_taken) {
  Event done;
  std::size_t taken = 0;
  const std::string much = pattern(32 << 20);
  Event check;
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    const auto error = error_of(stream.write_all(much, 100ms));
    EXPECT_EQ(error.kind, ErrorKind::kTimedOut);
    taken = error.done;
    EXPECT_GT(taken, 0u);
    EXPECT_LT(taken, much.size());
    check.set();
  });
  EXPECT_TRUE(check.wait());
  const std::string received = peer.receive(much.size());
  EXPECT_EQ(received.size(), taken);
  EXPECT_TRUE(received == much.substr(0, taken));
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, a_write_goes_on_when_a_slow_peer_reads_on) {
  Event done;
  const std::string much = pattern(16 << 20);
  const Peer peer =
      with_peer(0, done, [&](Stream& stream) { EXPECT_TRUE(stream.write_all(much, kDeadline)); });
  std::string received;
  while (received.size() < much.size()) {
    const std::string part = peer.receive(1 << 18);
    if (part.empty()) break;
    received += part;
  }
  EXPECT_TRUE(received == much);
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, a_timeout_of_zero_tries_once_and_does_not_wait) {
  Event done;
  Event sent;
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    std::byte buffer[16];
    EXPECT_EQ(error_of(stream.read_some(buffer, 0s)).kind, ErrorKind::kTimedOut);
    EXPECT_EQ(error_of(stream.read_some(buffer, 0s)).kind, ErrorKind::kTimedOut);
    EXPECT_EQ(*stream.write_some(std::as_bytes(std::span("x")), 0s), 2u);
    EXPECT_TRUE(sent.wait());  // in this way the core does not look at its poller meanwhile
    EXPECT_EQ(*stream.read_some(buffer, 0s), 3u);
  });
  EXPECT_EQ(peer.receive(2), std::string("x\0", 2));
  peer.send("now");
  sent.set();
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, a_negative_timeout_is_refused_and_a_huge_one_works) {
  Event done;
  Event first;
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    std::byte buffer[16];
    EXPECT_THROW(static_cast<void>(stream.read_some(buffer, -1ms)), std::invalid_argument);
    EXPECT_EQ(*stream.read_some(buffer, std::chrono::hours(24 * 365 * 290)), 1u);
    first.set();
    EXPECT_EQ(*stream.read_some(buffer, bulkhead::kForever), 1u);
  });
  peer.send("1");
  EXPECT_TRUE(first.wait());
  peer.send("2");
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetStreams, what_is_closed_or_empty_fails_with_closed) {
  in_actor([&] {
    std::byte buffer[16];
    Stream none;
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(error_of(none.read_some(buffer)).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(none.write_all("x")).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(none.shutdown_write()).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(none.local()).kind, ErrorKind::kClosed);

    auto stream = *Stream::connect(listener.local(), kDeadline);
    EXPECT_TRUE(stream.is_open());
    Stream moved = std::move(stream);
    EXPECT_FALSE(stream.is_open());  // NOLINT: that is the point
    EXPECT_TRUE(moved.is_open());
    moved.close();
    moved.close();
    EXPECT_FALSE(moved.is_open());
    EXPECT_EQ(error_of(moved.read_some(buffer)).kind, ErrorKind::kClosed);
    EXPECT_EQ(error_of(moved.set_no_delay(net::NoDelay::kOff)).kind, ErrorKind::kClosed);
  });
}

// B19
TEST_P(NetStreams, an_empty_buffer_is_an_error_and_an_empty_message_is_written) {
  in_actor([&] {
    auto stream = *Stream::connect(listener.local(), kDeadline);
    const std::string peer = to_string(stream.peer());
    const net::Error reading = error_of(stream.read_some({}));
    EXPECT_EQ(reading.code, EINVAL);
    EXPECT_EQ(reading.text, "read from " + peer + ": there is no room to read into");
    const net::Error writing = error_of(stream.write_some({}));
    EXPECT_EQ(writing.code, EINVAL);
    EXPECT_EQ(writing.text, "write to " + peer + ": there are no bytes to write");
    EXPECT_TRUE(stream.write_all(std::string_view()));
    EXPECT_TRUE(stream.set_no_delay(net::NoDelay::kOff));
    EXPECT_TRUE(stream.set_no_delay(net::NoDelay::kOn));
  });
}

// D1
TEST_P(NetStreams, outside_actors_what_waits_is_a_logic_error_that_names_the_function) {
  Stream stream;
  std::byte buffer[16];
  EXPECT_THROW(static_cast<void>(stream.read_some(buffer)), std::logic_error);
  EXPECT_THROW(static_cast<void>(stream.write_all("x")), std::logic_error);
  EXPECT_THROW(static_cast<void>(listener.accept()), std::logic_error);
  EXPECT_THROW(static_cast<void>(net::lookup("localhost", 1)), std::logic_error);
  try {
    static_cast<void>(Stream::connect(listener.local()));
    FAIL() << "nothing was thrown";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("net::Stream::connect"), std::string::npos)
        << error.what();
  }
}

// B19
TEST_P(NetStreams, a_reader_and_a_writer_share_a_stream_and_a_second_reader_is_refused) {
  Event done;
  Event reader_waits;
  std::atomic<int> finished{0};
  const Peer peer = with_peer(0, done, [&](Stream& stream) {
    in_background(0, [&] {
      std::byte buffer[16];
      reader_waits.set();
      auto got = stream.read_some(buffer, kDeadline);
      while (!got) {  // the other one may be at it for a moment
        EXPECT_EQ(got.error().kind, ErrorKind::kBusy);
        got = stream.read_some(buffer, kDeadline);
      }
      EXPECT_EQ(*got, 5u);
      ++finished;
    });
    while (!reader_waits.happened()) bulkhead::this_actor::yield();
    std::byte buffer[16];
    net::Error second{ErrorKind::kTimedOut, 0, 0, {}};
    while (second.kind == ErrorKind::kTimedOut) {
      second = error_of(stream.read_some(buffer, 0s));
      bulkhead::this_actor::yield();
    }
    EXPECT_EQ(second.kind, ErrorKind::kBusy) << second.text;
    EXPECT_TRUE(stream.write_all("go on", kDeadline));
    EXPECT_TRUE(stream.local());
    while (finished == 0) bulkhead::this_actor::yield();
  });
  EXPECT_EQ(peer.receive(5), "go on");
  peer.send("hello");
  EXPECT_TRUE(done.wait());
}

}  // namespace
