// B10: that a descriptor is ready comes as a message.
#include <bulkhead/stage.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "watch_support.hpp"

namespace {

namespace net = bulkhead::net;
namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using net::ErrorKind;
using net::Interest;
using net::Listener;
using net::Ready;
using net::Stream;
using net::Watch;
using support::error_of;
using support::Event;
using support::eventually;
using support::kDeadline;
using support::Look;
using support::Peer;
using support::read_now;
using support::Reader;
using namespace std::chrono_literals;

class Watches : public support::Watched {};
ON_ONE_AND_SEVERAL_CORES(Watches);

TEST_P(Watches, tell_of_what_comes_and_of_the_end) {
  auto [stream, peer] = connected();
  const auto reader = runtime.spawn_with<Reader>(on_core(1), std::move(stream), &log);
  for (std::size_t i = 0; i < 50; ++i) {
    peer.send("text" + std::to_string(i));
    ASSERT_TRUE(eventually([&] { return log.size() > 2 * i; }));
    EXPECT_EQ(log.entries().back(), "text" + std::to_string(i));
    reader.send(Look{});  // it waits for nothing
    ASSERT_TRUE(eventually([&] { return log.size() > 2 * i + 1; }));
  }
  peer.shutdown_write();
  ASSERT_TRUE(eventually([&] { return log.size() == 101; }));
  EXPECT_EQ(log.entries().back(), "");
  wait_for_idle();
  EXPECT_EQ(log.size(), 101u) << "it was closed";
}

// As long as there is something to be read.
TEST_P(Watches, tell_of_what_is_and_not_of_what_has_changed) {
  auto [stream, peer] = connected();
  peer.send("abcdefghij");
  runtime.spawn_with<Reader>(on_core(1), std::move(stream), &log, std::size_t{1});
  ASSERT_TRUE(eventually([&] { return log.size() == 10; }));
  std::string all;
  for (const auto& each : log.entries()) all += each;
  EXPECT_EQ(all, "abcdefghij");
  peer.send("k");
  EXPECT_TRUE(eventually([&] { return log.size() == 11; }));
}

TEST_P(Watches, tell_once_however_much_comes) {
  struct Slow {
    Slow(Stream its_stream, std::atomic<int>* its_count, Event* its_go)
        : stream(std::move(its_stream)), count(its_count), go(its_go) {}
    void started() {
      EXPECT_TRUE(net::watch(this, stream));
      go->wait();
    }
    void receive(Ready /*message*/) {
      ++*count;
      if (*count == 2) stream.close();
    }
    Stream stream;
    std::atomic<int>* count;
    Event* go;
  };
  auto [stream, peer] = connected();
  runtime.spawn_with<Slow>(on_core(1), std::move(stream), &counts[0], &go);
  for (int i = 0; i < 20; ++i) {
    peer.send("more");
    std::this_thread::sleep_for(1ms);
  }
  go.set();
  EXPECT_TRUE(peer.ended());
  wait_for_idle();
  EXPECT_EQ(counts[0], 2) << "the second one, since nothing was read";
}

TEST_P(Watches, change_their_interest) {
  class Changing {
   public:
    Changing(Stream stream, support::Log<std::string>* log)
        : stream_(std::move(stream)), log_(log) {}
    void started() { watch_ = *net::watch(this, stream_); }
    void receive(Look /*message*/) {
      log_->add("both");
      EXPECT_EQ(*net::watch(this, stream_, Interest::kBoth), watch_);
    }
    void receive(Ready ready) {
      log_->add(std::string(ready.readable ? "r" : "") + (ready.writable ? "w" : ""));
      if (ready.writable) {
        EXPECT_EQ(*net::watch(this, stream_, Interest::kReadable), watch_);
      }
      if (ready.readable) read_now(stream_);
    }

   private:
    Stream stream_;
    support::Log<std::string>* log_;
    Watch watch_;
  };
  auto [stream, peer] = connected();
  const auto changing = runtime.spawn_with<Changing>(on_core(1), std::move(stream), &log);
  wait_for_idle();
  changing.send(Look{});
  ASSERT_TRUE(eventually([&] { return log.size() == 2; }));
  peer.send("x");
  ASSERT_TRUE(eventually([&] { return log.size() == 3; }));
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<std::string>{"both", "w", "r"}));
}

TEST_P(Watches, of_one_that_can_be_written_to_are_told_until_they_end) {
  class Writer {
   public:
    Writer(Stream stream, std::atomic<int>* count) : stream_(std::move(stream)), count_(count) {}
    void started() { watch_ = *net::watch(this, stream_, Interest::kWritable); }
    void receive(Ready ready) {
      EXPECT_TRUE(ready.writable);
      if (++*count_ < 20) return;
      EXPECT_TRUE(net::unwatch(watch_));
      EXPECT_FALSE(net::unwatch(watch_));
    }

   private:
    Stream stream_;
    std::atomic<int>* count_;
    Watch watch_;
  };
  auto [stream, peer] = connected();
  runtime.spawn_with<Writer>(on_core(1), std::move(stream), &counts[0]);
  EXPECT_TRUE(eventually([&] { return counts[0] == 20; }));
  wait_for_idle();
  EXPECT_EQ(counts[0], 20);
}

TEST_P(Watches, that_are_ended_have_nothing_handled_that_is_in_the_mailbox) {
  class Ending {
   public:
    Ending(Stream stream, Event* done) : stream_(std::move(stream)), done_(done) {}
    void receive(Look /*message*/) {
      const Watch watch = *net::watch(this, stream_, Interest::kWritable);  // so it is told at once
      this_actor::sleep_for(2ms);
      EXPECT_TRUE(net::unwatch(watch));
      next_ = *net::watch(this, stream_);  // of which there is nothing to be told yet
      EXPECT_NE(next_, watch);
      done_->set();
    }
    void receive(Ready ready) {
      EXPECT_EQ(ready.watch, next_) << "that one was ended";
      stream_.close();
    }

   private:
    Stream stream_;
    Event* done_;
    Watch next_;
  };
  auto [stream, peer] = connected();
  runtime.spawn_with<Ending>(on_core(1), std::move(stream), &done).send(Look{});
  EXPECT_TRUE(done.wait());
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u) << "nothing was lost";
}

TEST_P(Watches, find_room_in_a_full_mailbox) {
  struct Full {
    Full(Stream its_stream, Event* its_go, Event* its_done)
        : stream(std::move(its_stream)), go(its_go), done(its_done) {}
    void started() {
      EXPECT_TRUE(net::watch(this, stream));
      go->wait();
    }
    void receive(Look /*message*/) {}
    void receive(Ready ready) {
      if (ready.readable) done->set();
      stream.close();
    }
    Stream stream;
    Event* go;
    Event* done;
  };
  auto [stream, peer] = connected();
  auto options = on_core(1);
  options.mailbox_bound = 2;
  const auto full = runtime.spawn_with<Full>(options, std::move(stream), &go, &done);
  while (full.send(Look{}) == bulkhead::Delivery::kQueued) {
  }
  peer.send("x");
  std::this_thread::sleep_for(2ms);
  go.set();
  EXPECT_TRUE(done.wait());
}

TEST_P(Watches, of_a_listener_tell_of_connections) {
  class Accepting {
   public:
    Accepting(Listener listener, std::atomic<int>* count)
        : listener_(std::move(listener)), count_(count) {}
    void started() { EXPECT_TRUE(net::watch(this, listener_)); }
    void receive(Ready /*message*/) {
      while (auto stream = listener_.accept(0s)) ++*count_;
    }

   private:
    Listener listener_;
    std::atomic<int>* count_;
  };
  const std::uint16_t port = listener.local().port();
  runtime.spawn_with<Accepting>(on_core(1), std::move(listener), &counts[0]);
  for (int i = 1; i <= 20; ++i) {
    const Peer peer = Peer::connect(port);
    ASSERT_TRUE(eventually([&] { return counts[0] == i; }));
  }
}

// Who takes its messages itself has handled one when it takes the next.
TEST_P(Watches, tell_green_threads_again_when_they_have_read) {
  auto [stream, peer] = connected();
  using Box = bulkhead::Mailbox<Ready>;
  shared = std::move(stream);
  runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    EXPECT_TRUE(net::watch(this_actor::address(&mailbox), shared));
    for (;;) {
      EXPECT_TRUE(mailbox.next<Ready>().readable);
      if (read_now(shared, 1).empty()) return;  // the test is over
      ++counts[0];
    }
  });
  for (int i = 1; i <= 50; ++i) {
    peer.send("x");
    ASSERT_TRUE(eventually([&] { return counts[0] == i; }));
  }
  wait_for_idle();
  EXPECT_EQ(counts[0], 50) << "told once for each byte";
}

// Those who wait by other means are told as well.
TEST_P(Watches, do_not_disturb_who_reads_the_same) {
  auto [stream, peer] = connected();
  struct Telling {
    Telling(Stream* its_stream, std::atomic<int>* its_count)
        : stream(its_stream), count(its_count) {}
    void started() { EXPECT_TRUE(net::watch(this, *stream)); }
    void receive(Ready /*message*/) {
      ++*count;
      this_actor::sleep_for(100us);
    }
    Stream* stream;
    std::atomic<int>* count;
  };
  shared = std::move(stream);
  std::atomic<std::size_t> read{0};
  runtime.spawn_with<Telling>(on_core(1), &shared, &counts[0]);
  in_background(0, [&] {
    while (read < 100) read += support::read_text(shared, 1).size();
  });
  for (std::size_t i = 0; i < 100; ++i) {
    peer.send("x");
    ASSERT_TRUE(eventually([&] { return read > i; }));
  }
  runtime.shutdown(0s);
}

TEST_P(Watches, are_refused_to_others_and_of_what_is_closed) {
  auto [stream, peer] = connected();
  struct Watching {
    explicit Watching(Stream* its_stream) : stream(its_stream) {}
    ~Watching() { EXPECT_EQ(error_of(net::watch(this, *stream)).kind, ErrorKind::kStopped); }
    bool receive(Look /*message*/) {
      EXPECT_THROW(static_cast<void>(net::watch(this, *stream, Interest(0))),
                   std::invalid_argument);
      EXPECT_THROW(static_cast<void>(net::watch(this, *stream, Interest(4))),
                   std::invalid_argument);
      EXPECT_EQ(error_of(net::watch(this, Stream())).kind, ErrorKind::kClosed);
      EXPECT_FALSE(net::unwatch(Watch()));
      EXPECT_FALSE(net::unwatch(Watch(1u << 31, 1)));
      return true;
    }
    void receive(Ready /*message*/) {}
    Stream* stream;
  };
  shared = std::move(stream);
  const auto watching = runtime.spawn_with<Watching>(on_core(1), &shared);
  EXPECT_EQ(watching.ask(Look{}), true);
  EXPECT_THROW(static_cast<void>(net::watch(watching, shared)), std::logic_error);
  EXPECT_THROW(static_cast<void>(net::unwatch(Watch())), std::logic_error);
  in_actor(
      [&] { EXPECT_THROW(static_cast<void>(net::watch(watching, shared)), std::logic_error); });
  bulkhead::stop(watching);
  wait_for_idle();
}

// Many connections, whose bytes come in any order; some are closed, given away, or watched anew
// meanwhile. Every byte is read.
TEST_P(Watches, lose_no_byte_of_many_connections) {
  constexpr std::size_t kStreams = 40;
  struct Take {
    Stream stream;
  };
  class Collector {
   public:
    explicit Collector(std::atomic<std::size_t>* read) : read_(read) {}
    void receive(Address<Collector> next) { next_ = next; }
    void receive(Take take) {
      const auto watch = net::watch(this, take.stream);
      ASSERT_TRUE(watch);
      streams_.emplace_back(*watch, std::move(take.stream));
    }
    void receive(Ready ready) {
      const auto found = std::find_if(streams_.begin(), streams_.end(),
                                      [&](const auto& each) { return each.first == ready.watch; });
      if (found == streams_.end()) return;  // it was given away
      *read_ += read_now(found->second, 1 + *read_ % 7).size();
      switch (++told_ % 11) {
        case 0:
          next_.send(Take{std::move(found->second)});
          streams_.erase(found);
          break;
        case 1:
          EXPECT_TRUE(net::unwatch(ready.watch));
          found->first = *net::watch(this, found->second);
          break;
        default:
          break;
      }
    }

   private:
    std::atomic<std::size_t>* read_;
    Address<Collector> next_;
    std::vector<std::pair<Watch, Stream>> streams_;
    unsigned told_ = 0;
  };
  std::atomic<std::size_t> read{0};
  const auto first = runtime.spawn_with<Collector>(on_core(0), &read);
  const auto second = runtime.spawn_with<Collector>(on_core(1), &read);
  first.send(second);
  second.send(first);
  std::vector<Peer> peers;
  for (std::size_t i = 0; i < kStreams; ++i) {
    auto [stream, peer] = connected();
    (i % 2 == 0 ? first : second).send(Take{std::move(stream)});
    peers.push_back(std::move(peer));
  }
  std::size_t sent = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::string text(1 + i * 7 % 13, 'x');
    peers[i * i % kStreams].send(text);
    sent += text.size();
  }
  EXPECT_TRUE(eventually([&] { return read == sent; })) << read << " of " << sent;
  bulkhead::stop(first);
  bulkhead::stop(second);
  wait_for_idle();
}

TEST(WatchesOfStages, are_bounded_and_come_back) {
  bulkhead::StageConfig config;
  config.actors = 1;
  config.timers = 1;
  config.log.format = bulkhead::LogFormat::kOff;
  bulkhead::Stage stage(config);
  auto listener = *Listener::listen(net::Endpoint::loopback(0));
  auto other = *Listener::listen(net::Endpoint::loopback(0));
  struct Watching {
    void receive(Look /*message*/) {
      const auto watch = net::watch(this, *listener);
      ASSERT_TRUE(watch);
      EXPECT_EQ(error_of(net::watch(this, *other)).kind, ErrorKind::kNoMemory);
      EXPECT_EQ(*net::watch(this, *listener), *watch);
      if (count % 2 == 0) {
        EXPECT_TRUE(net::unwatch(*watch));
        EXPECT_TRUE(net::watch(this, *listener));
      }
    }
    void receive(Ready ready) {
      ++count;
      EXPECT_TRUE(listener->accept(0s));
      if (count % 3 != 0) {
        EXPECT_TRUE(net::unwatch(ready.watch));
        EXPECT_TRUE(net::watch(this, *listener));
      }
    }
    Listener* listener;
    Listener* other;
    int count = 0;
  };
  const auto watching = stage.spawn<Watching>(&listener, &other);
  for (int i = 1; i <= 100; ++i) {
    watching.send(Look{});
    EXPECT_EQ(stage.run(0s), bulkhead::Stage::End::kDeadline);
    const Peer peer = Peer::connect(listener.local().port());
    for (int tries = 0; stage.node(watching)->count < i && tries < 1000; ++tries) {
      EXPECT_EQ(stage.run(1ms), bulkhead::Stage::End::kDeadline);
    }
    ASSERT_EQ(stage.node(watching)->count, i);
  }
}

}  // namespace
