// B19: streams in messages, and many of them: who has the stream has the connection.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net_support.hpp"

namespace {

namespace net = bulkhead::net;
using net::Endpoint;
using net::Listener;
using net::Stream;
using support::Event;
using support::kDeadline;
using support::Peer;
using support::read_text;

class NetMovedStreams : public support::Network {
 protected:
  [[nodiscard]] std::uint16_t port() const { return listener.local().port(); }

  Listener listener = *Listener::listen(Endpoint::loopback(0));
};
ON_ONE_AND_SEVERAL_CORES(NetMovedStreams);

struct Baton {
  Stream stream;
  int hops_left;
};

// Reads a byte, and passes the stream on.
class Runner {
 public:
  Runner(std::vector<bulkhead::Address<Runner>>& ring, std::string& read, Event& done)
      : ring_(ring), read_(read), done_(done) {}

  void receive(Baton baton) {
    std::byte byte{};
    const auto got = baton.stream.read_some(std::span(&byte, 1), kDeadline);
    ASSERT_TRUE(got) << got.error().text;
    read_ += static_cast<char>(byte);
    if (baton.hops_left == 0) {
      done_.set();
      return;
    }
    const auto next = static_cast<std::size_t>(baton.hops_left) % ring_.size();
    --baton.hops_left;
    ring_[next].send(std::move(baton));
  }

 private:
  std::vector<bulkhead::Address<Runner>>& ring_;
  std::string& read_;
  Event& done_;
};

// B19
TEST_P(NetMovedStreams, a_stream_sent_in_messages_goes_from_core_to_core_and_loses_nothing) {
  static_assert(bulkhead::Sendable<Stream> && bulkhead::Sendable<Listener>);
  constexpr int kHops = 300;
  std::vector<bulkhead::Address<Runner>> ring;
  std::string read;
  Event done;
  for (std::size_t i = 0; i < 7; ++i) {
    ring.push_back(runtime.spawn_with<Runner>(pinned_to(i), ring, read, done));
  }
  in_background(0, [&] { ring[0].send(Baton{*listener.accept(kDeadline), kHops}); });
  const Peer peer = Peer::connect(port());
  std::string sent;
  for (int i = 0; i <= kHops; ++i) sent += static_cast<char>('a' + i % 26);
  // Some bytes are there before they are waited for, some come later.
  for (std::size_t i = 0; i < sent.size();) {
    const std::size_t part = std::min(sent.size() - i, i % 5 + 1);
    peer.send(std::string_view(sent).substr(i, part));
    i += part;
    if (i % 3 == 0) std::this_thread::yield();
  }
  EXPECT_TRUE(done.wait());
  EXPECT_EQ(read, sent);
  EXPECT_TRUE(peer.ended());  // it was closed with the last message
}

// B19
TEST_P(NetMovedStreams, a_stream_in_a_message_that_is_dropped_is_closed) {
  std::vector<bulkhead::Address<Runner>> ring;
  std::string read;
  Event never;
  in_background(0, [&] {
    auto stream = *listener.accept(kDeadline);
    const auto target = bulkhead::spawn<Runner>(ring, read, never);
    bulkhead::stop(target);
    while (target.send(Baton{Stream(), 0}) == bulkhead::Delivery::kQueued) {
      bulkhead::this_actor::yield();
    }
    EXPECT_EQ(target.send(Baton{std::move(stream), 0}), bulkhead::Delivery::kGone);
  });
  const Peer peer = Peer::connect(port());
  EXPECT_TRUE(peer.ended());
}

// B19
TEST_P(NetMovedStreams, an_actor_that_fails_closes_its_connection_and_no_other) {
  const support::NoDescriptorIsLeft none_left;
  failures_expected = 10;
  in_background(0, [&] {
    for (int i = 0; i < 20; ++i) {
      bulkhead::spawn([stream = *listener.accept(kDeadline)]() mutable {
        for (;;) {
          const std::string text = read_text(stream, 1);
          if (text.empty()) return;
          if (text == "X") bulkhead::panic("it began with X");
          EXPECT_TRUE(stream.write_all(text, kDeadline));
        }
      });
    }
  });
  std::vector<Peer> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(Peer::connect(port()));
  for (std::size_t i = 0; i < 20; ++i) peers[i].send(i % 2 == 0 ? "X" : "a");
  for (std::size_t i = 0; i < 20; ++i) {
    if (i % 2 == 0) {
      EXPECT_TRUE(peers[i].ended());
    } else {
      EXPECT_EQ(peers[i].receive(1), "a");
    }
  }
  for (std::size_t i = 1; i < 20; i += 2) {
    peers[i].send("b");
    EXPECT_EQ(peers[i].receive(1), "b");
  }
}

// B19
TEST_P(NetMovedStreams, thousands_of_connections_come_and_go_and_leave_nothing) {
  const support::NoDescriptorIsLeft none_left;
  constexpr int kClients = 20;
  constexpr int kEach = 150;
  std::atomic<int> served{0};
  std::atomic<int> answered{0};
  in_background(0, [&] {
    for (std::size_t i = 0; i < kClients * kEach; ++i) {
      auto stream = listener.accept(kDeadline);
      ASSERT_TRUE(stream) << stream.error().text;
      bulkhead::spawn_with(on_core(i), [&served, stream = *std::move(stream)]() mutable {
        EXPECT_TRUE(stream.write_all(read_text(stream, 4), kDeadline));
        ++served;
      });
    }
  });
  for (std::size_t i = 0; i < kClients; ++i) {
    in_background(i, [&] {
      for (int k = 0; k < kEach; ++k) {
        auto stream = Stream::connect(listener.local(), kDeadline);
        ASSERT_TRUE(stream) << stream.error().text;
        EXPECT_TRUE(stream->write_all("ping", kDeadline));
        if (read_text(*stream, 4) == "ping") ++answered;
      }
    });
  }
  EXPECT_TRUE(support::eventually([&] { return answered == kClients * kEach; }));
  EXPECT_TRUE(support::eventually([&] { return served == kClients * kEach; }));
  wait_for_idle();
}

}  // namespace
