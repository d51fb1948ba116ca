// B19: lines and pieces out of a stream, with a bounded buffer.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "net_support.hpp"

namespace {

namespace net = bulkhead::net;
using namespace std::chrono_literals;
using net::Endpoint;
using net::ErrorKind;
using net::LineReader;
using support::error_of;
using support::Event;
using support::kDeadline;
using support::Peer;

class NetLines : public support::Network {
 protected:
  /// Runs body(reader) in an actor, the other end of whose stream is returned.
  template <class Body>
  Peer with_peer(std::size_t most, Event& done, Body body) {
    in_background(0, [this, most, &done, body] {
      LineReader reader(*listener.accept(kDeadline), most);
      body(reader);
      done.set();
    });
    return Peer::connect(listener.local().port());
  }

  net::Listener listener = *net::Listener::listen(Endpoint::loopback(0));
};
ON_ONE_AND_SEVERAL_CORES(NetLines);

// B19
TEST_P(NetLines, lines_come_out_as_they_were_sent_however_the_bytes_arrive) {
  Event done;
  const Peer peer = with_peer(100, done, [](LineReader& reader) {
    const std::string longest(99, 'x');
    for (const std::string_view expected :
         {std::string_view("one"), std::string_view("two"), std::string_view(), std::string_view(),
          std::string_view("with \r inside"), std::string_view(longest)}) {
      const auto line = reader.read_line(kDeadline);
      ASSERT_TRUE(line) << line.error().text;
      EXPECT_EQ(*line, expected);
    }
    const auto error = error_of(reader.read_line(kDeadline));
    EXPECT_EQ(error.kind, ErrorKind::kClosedByPeer);
    EXPECT_EQ(error.done, 8u);  // of a line without an end
    EXPECT_EQ(error.code, 0) << "the end of a stream is no error of the system";
    EXPECT_EQ(error.text.find("EPIPE"), error.text.npos) << error.text;
  });
  const std::string sent =
      "one\ntwo\r\n\n\r\nwith \r inside\n" + std::string(99, 'x') + "\nthe rest";
  for (std::size_t i = 0; i < sent.size(); i += 3) peer.send(std::string_view(sent).substr(i, 3));
  peer.shutdown_write();
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetLines, a_line_longer_than_the_limit_is_an_error_and_is_not_buffered) {
  Event done;
  const Peer peer = with_peer(64, done, [](LineReader& reader) {
    EXPECT_EQ(*reader.read_line(kDeadline), std::string(63, 'a'));
    for (int i = 0; i < 3; ++i) {
      const auto error = error_of(reader.read_line(kDeadline));
      EXPECT_EQ(error.kind, ErrorKind::kTooLong);
      EXPECT_LE(reader.buffered(), 64u);
      EXPECT_NE(error.text.find("64 bytes"), std::string::npos) << error.text;
    }
    EXPECT_EQ(error_of(reader.read_exact(65, kDeadline)).kind, ErrorKind::kTooLong);
  });
  peer.send(std::string(63, 'a') + "\n" + std::string(100'000, 'b'));
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetLines, pieces_of_a_given_size_and_lines_can_be_mixed) {
  Event done;
  const Peer peer = with_peer(5000, done, [](LineReader& reader) {
    EXPECT_EQ(*reader.read_line(kDeadline), "5000");
    EXPECT_EQ(support::text_of(*reader.read_exact(5000, kDeadline)), std::string(5000, 'p'));
    EXPECT_EQ(reader.read_exact(0, kDeadline)->size(), 0u);
    EXPECT_EQ(*reader.read_line(kDeadline), "end");
    EXPECT_TRUE(reader.stream().write_all("bye", kDeadline));
    EXPECT_EQ(error_of(reader.read_exact(1, kDeadline)).kind, ErrorKind::kClosedByPeer);
  });
  peer.send("5000\n" + std::string(5000, 'p') + "end\n");
  EXPECT_EQ(peer.receive(3), "bye");
  peer.shutdown_write();
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetLines, a_call_that_timed_out_can_be_repeated_and_has_lost_nothing) {
  Event done;
  Event timed_out;
  const Peer peer = with_peer(100, done, [&](LineReader& reader) {
    while (reader.buffered() < 5) {
      EXPECT_EQ(error_of(reader.read_line(1ms)).kind, ErrorKind::kTimedOut);
    }
    timed_out.set();
    EXPECT_EQ(*reader.read_line(kDeadline), "hello world");
  });
  peer.send("hello");
  EXPECT_TRUE(timed_out.wait());
  peer.send(" world\n");
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetLines, a_limit_of_no_bytes_is_refused) {
  Event done;
  const Peer peer = with_peer(1, done, [](LineReader& reader) {
    EXPECT_EQ(*reader.read_line(kDeadline), "");
    EXPECT_EQ(error_of(reader.read_line(kDeadline)).kind, ErrorKind::kTooLong);
    try {
      const LineReader none(std::move(reader.stream()), 0);
      ADD_FAILURE() << "it was made";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("LineReader"), std::string::npos) << error.what();
    }
  });
  peer.send("\nx");
  EXPECT_TRUE(done.wait());
}

// B19
TEST_P(NetLines, the_time_limit_holds_for_a_line_as_a_whole) {
  Event done;
  const Peer peer = with_peer(1'000'000, done, [](LineReader& reader) {
    EXPECT_EQ(error_of(reader.read_line(30ms)).kind, ErrorKind::kTimedOut);
  });
  while (!done.happened()) {
    peer.send("x");  // never a whole line
    std::this_thread::yield();
  }
}

}  // namespace
