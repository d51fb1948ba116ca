/// What the tests of watches share.
#pragma once

#include <bulkhead/net/watch.hpp>

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "net_support.hpp"
#include "support/log.hpp"

namespace support {

/// A listener, and connections to it.
class Watched : public Network {
 protected:
  Watched() : listener(*bulkhead::net::Listener::listen(bulkhead::net::Endpoint::loopback(0))) {}

  /// A connection: the actor's side, and the test's.
  struct Pair {
    bulkhead::net::Stream stream;
    Peer peer;
  };
  Pair connected() {
    Peer peer = Peer::connect(listener.local().port());
    std::optional<bulkhead::net::Stream> stream;
    in_actor([&] { stream = *listener.accept(kDeadline); });
    return {*std::move(stream), std::move(peer)};
  }

  bulkhead::net::Listener listener;
  // What actors use until the end.
  bulkhead::net::Stream shared;
  Log<std::string> log;
  std::atomic<int> counts[2] = {};
  Event go;
  Event done;
};

/// Reads what is there, `most` bytes at a time at most.
inline std::string read_now(bulkhead::net::Stream& stream, std::size_t most = 100) {
  std::string text(most, '\0');
  const auto got =
      stream.read_some(std::as_writable_bytes(std::span(text)), std::chrono::seconds(0));
  text.resize(got ? *got : 0);
  return text;
}

struct Look {};

/// Reads whenever it is told.
class Reader {
 public:
  Reader(bulkhead::net::Stream stream, Log<std::string>* log, std::size_t most = 100)
      : stream_(std::move(stream)), log_(log), most_(most) {}
  void started() {
    const auto watch = bulkhead::net::watch(this, stream_);
    ASSERT_TRUE(watch) << watch.error().text;
    watch_ = *watch;
  }
  void receive(bulkhead::net::Ready ready) {
    EXPECT_EQ(ready.watch, watch_);
    EXPECT_FALSE(ready.writable);
    if (!ready.readable) return;
    std::string text = read_now(stream_, most_);
    if (text.empty()) stream_.close();
    log_->add(std::move(text));
  }
  void receive(Look /*message*/) { log_->add("look"); }

 private:
  bulkhead::net::Stream stream_;
  Log<std::string>* log_;
  std::size_t most_;
  bulkhead::net::Watch watch_;
};

}  // namespace support
