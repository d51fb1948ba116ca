// B3, B19: the streams of isolated actors: handed over with what spawns them and with messages, and
// closed when their owner traps.
#include <gtest/gtest.h>
#include <bulkhead/net.hpp>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace net = bulkhead::net;
namespace this_actor = bulkhead::this_actor;
using bulkhead::SpawnOptions;
using namespace std::chrono_literals;

SpawnOptions isolated(SpawnOptions options = {}) {
  options.isolated = bulkhead::Isolation{};
  return options;
}

/// Has been given a stream, and says so.
class Taker {
 public:
  void receive(net::Stream stream) {
    stream_ = std::move(stream);
    static_cast<void>(stream_.write_all("taken"));
  }

 private:
  net::Stream stream_;
};

/// Echoes; 'X' is a bug, and 'G' gives the stream away.
class Connection {
 public:
  explicit Connection(net::Stream stream) : stream_(std::move(stream)) {}
  void started() {
    std::array<std::byte, 100> buffer;
    for (;;) {
      const auto count = stream_.read_some(buffer, 5s);
      if (!count || *count == 0) break;
      if (buffer[0] == std::byte{'X'}) std::abort();
      if (buffer[0] == std::byte{'G'}) {
        SpawnOptions options = isolated();
        const auto taker = bulkhead::spawn_with<Taker>(options);
        taker.send(std::move(stream_));
        EXPECT_FALSE(stream_.is_open());
        std::abort();  // which is not to close what is the taker's
      }
      static_cast<void>(stream_.write_all(std::span(buffer).first(*count)));
    }
    this_actor::stop();
  }

 private:
  net::Stream stream_;
};

class IsolatedStreams : public support::Running {
 protected:
  IsolatedStreams() : listener_(*net::Listener::listen(net::Endpoint::loopback(0))) {
    at = listener_.local();
    runtime.spawn_with(on_core(0), [this] {
      for (;;) {
        auto stream = listener_.accept();
        if (!stream) return;
        bulkhead::spawn_with<Connection>(isolated(on_core(next_++)), *std::move(stream));
      }
    });
  }
  ~IsolatedStreams() override {
    listener_.close();
    runtime.shutdown(5s);
  }

  // What comes back for what is sent; empty when the connection is closed.
  static std::string exchange(net::Stream& stream, std::string_view text) {
    if (!stream.write_all(text)) return {};
    std::array<std::byte, 100> buffer;
    const auto count = stream.read_some(buffer, 5s);
    return count ? std::string(reinterpret_cast<const char*>(buffer.data()), *count)
                 : std::string();
  }
  template <class Body>
  void as_client(Body body) {
    support::Event done;
    runtime.spawn_with(on_core(1), [&] {
      body();
      done.set();
    });
    ASSERT_TRUE(done.wait());
  }

  net::Endpoint at;

 private:
  net::Listener listener_;
  std::size_t next_ = 0;
};

TEST_P(IsolatedStreams, are_the_actors_they_were_given_to) {
  as_client([&] {
    auto stream = net::Stream::connect(at);
    ASSERT_TRUE(stream.has_value());
    EXPECT_EQ(exchange(*stream, "hello"), "hello");
    EXPECT_EQ(exchange(*stream, "again"), "again");
  });
}

TEST_P(IsolatedStreams, are_closed_when_their_owner_traps_and_no_other_is) {
  as_client([&] {
    auto other = net::Stream::connect(at);
    ASSERT_TRUE(other.has_value());
    for (int round = 0; round < 50; ++round) {
      auto stream = net::Stream::connect(at);
      ASSERT_TRUE(stream.has_value());
      EXPECT_EQ(exchange(*stream, "X"), "");
      EXPECT_EQ(exchange(*other, "still here"), "still here");
    }
  });
  EXPECT_EQ(runtime.stats().actors_trapped, 50u);
}

TEST_P(IsolatedStreams, go_along_with_messages) {
  as_client([&] {
    for (int round = 0; round < 20; ++round) {
      auto stream = net::Stream::connect(at);
      ASSERT_TRUE(stream.has_value());
      EXPECT_EQ(exchange(*stream, "G"), "taken");
    }
  });
}

TEST_P(IsolatedStreams, leave_no_descriptor_behind) {
  as_client([&] { static_cast<void>(net::Stream::connect(at)); });
  const std::size_t before = support::open_descriptors();
  as_client([&] {
    for (int round = 0; round < 100; ++round) {
      auto stream = net::Stream::connect(at);
      ASSERT_TRUE(stream.has_value());
      EXPECT_EQ(exchange(*stream, "X"), "");
    }
  });
  EXPECT_TRUE(support::eventually([&] { return support::open_descriptors() <= before; }));
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(IsolatedStreams);
