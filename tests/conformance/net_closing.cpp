// B19, C8: closing while others wait, and ending a runtime in the middle of it all. Nothing is
// left.
#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <string>
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

class NetClosing : public support::Network {};
ON_ONE_AND_SEVERAL_CORES(NetClosing);

// How long an end may take that waits for nobody.
constexpr std::chrono::seconds kPromptly{5};

// Sooner or later than the other side, according to the round.
void dawdle(int round) {
  for (int i = 0; i < round; ++i) bulkhead::this_actor::yield();
}

// B19
TEST_P(NetClosing, a_listener_closed_by_another_actor_ends_the_accept_that_waits) {
  const support::NoDescriptorIsLeft none_left;
  for (int round = 0; round < 50; ++round) {
    auto listener = *Listener::listen(Endpoint::loopback(0));
    in_background(0, [&] {
      const auto error = error_of(listener.accept(kDeadline));
      EXPECT_EQ(error.kind, ErrorKind::kClosed) << error.text;
    });
    in_background(1, [&] {
      dawdle(round);
      listener.close();
      EXPECT_FALSE(listener.is_open());
    });
    wait_for_idle();
  }
}

// B19
TEST_P(NetClosing, a_stream_closed_from_a_thread_outside_ends_a_read_and_a_write_that_wait) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  const std::string much(16 << 20, 'x');
  for (int round = 0; round < 20; ++round) {
    const Peer peer = Peer::connect(listener.local().port());
    Stream stream;
    in_actor([&] { stream = *listener.accept(kDeadline); });
    Event written_some;
    in_background(0, [&] {
      std::byte buffer[16];
      EXPECT_EQ(error_of(stream.read_some(buffer, kDeadline)).kind, ErrorKind::kClosed);
    });
    in_background(1, [&] {
      EXPECT_TRUE(stream.write_some(std::as_bytes(std::span(much)), kDeadline));
      written_some.set();
      EXPECT_EQ(error_of(stream.write_all(much, kDeadline)).kind, ErrorKind::kClosed);
    });
    EXPECT_TRUE(written_some.wait());
    stream.close();
    wait_for_idle();
  }
}

// B19
TEST_P(NetClosing, a_close_races_with_readers_and_the_number_is_never_read_by_the_wrong_one) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  std::atomic<int> wrong{0};
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) {
    Peer first = Peer::connect(listener.local().port());
    Stream stream;
    in_actor([&] { stream = *listener.accept(kDeadline); });
    Event ended;
    in_background(0, [&] {
      std::byte buffer[16];
      for (;;) {
        const auto got = stream.read_some(buffer, kDeadline);
        if (!got) break;
        if (*got == 0 || buffer[0] != std::byte{'1'}) ++wrong;
        if (*got == 0) break;
      }
      ended.set();
    });
    first.send("1");
    stream.close();
    // Whoever comes next is likely to get the same number.
    Peer second = Peer::connect(listener.local().port());
    second.send("2");
    in_actor(1, [&] {
      auto next = *listener.accept(kDeadline);
      EXPECT_EQ(read_text(next, 1), "2");
    });
    ASSERT_TRUE(ended.wait());
  }
  EXPECT_EQ(wrong, 0);
}

// B19
TEST_P(NetClosing, a_stream_whose_number_was_closed_behind_its_back_is_closed_when_it_is_reused) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  const Peer first = Peer::connect(listener.local().port());
  const Peer second = Peer::connect(listener.local().port());
  Stream lost;
  in_actor([&] { lost = *listener.accept(kDeadline); });
  Event told;
  in_background(1, [&] {
    std::byte buffer[16];
    EXPECT_EQ(error_of(lost.read_some(buffer, kDeadline)).kind, ErrorKind::kClosed);
    told.set();
  });
  Stream next;
  in_actor([&] {
    syscall(SYS_close, lost.descriptor().number());
    next = *listener.accept(kDeadline);
  });
  ASSERT_EQ(next.descriptor().number(), lost.descriptor().number());
  EXPECT_TRUE(told.wait());
  EXPECT_FALSE(lost.is_open());
  lost.close();
  second.send("2");
  in_actor([&] { EXPECT_EQ(read_text(next, 1), "2"); });
}

// --- ending a runtime ---

// Actors that wait in every way that there is, for what never comes.
struct Waiting {
  Listener listener = *Listener::listen(Endpoint::loopback(0));
  support::PlainListener silent{1};
  std::vector<Peer> crowd;
  int pipe_ends[2] = {-1, -1};
  std::atomic<int> begun{0};
  std::atomic<int> returned{0};

  Waiting() {
    EXPECT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
    for (int i = 0; i < 8; ++i) {
      crowd.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const sockaddr_in address = Peer::loopback(silent.port());
      connect(crowd.back().fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }

  void start(bulkhead::Runtime& runtime) {
    const auto spawn = [&](std::size_t core, auto body) {
      bulkhead::SpawnOptions options;
      options.core = core % runtime.cores();
      runtime.spawn_with(options, [this, body]() mutable {
        ++begun;
        body();
        ++returned;
      });
    };
    spawn(0, [this] {
      auto accepted = *listener.accept();
      ++begun;
      static_cast<void>(listener.accept());
    });
    spawn(1, [this] {
      auto stream = *Stream::connect(listener.local());
      ++begun;
      std::byte buffer[16];
      static_cast<void>(stream.read_some(buffer));
    });
    spawn(2, [this] {
      ++begun;
      static_cast<void>(Stream::connect(silent.endpoint()));
    });
    spawn(3, [this] {
      ++begun;
      static_cast<void>(net::wait_readable(pipe_ends[0]));
    });
    spawn(4, [this] {
      ++begun;
      static_cast<void>(net::wait_readable(pipe_ends[0], 1h));
    });
  }
  [[nodiscard]] bool all_wait() {
    return support::eventually([this] { return begun == 10; });
  }
};

class NetEnding : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(NetEnding);

// B19, C8
TEST_P(NetEnding,
       a_runtime_ends_promptly_while_actors_wait_and_leaves_no_descriptor_and_no_thread) {
  { bulkhead::Runtime(config()).start(); }
  const std::size_t threads = support::threads();
  const support::NoDescriptorIsLeft none_left;
  for (int round = 0; round < 10; ++round) {
    Waiting waiting;
    bulkhead::Runtime runtime(config());
    runtime.start();
    waiting.start(runtime);
    ASSERT_TRUE(waiting.all_wait());
    const auto start = support::Clock::now();
    runtime.shutdown(0s);
    EXPECT_LT(support::Clock::now() - start, kPromptly);
    // They were unwound. But to one of them the end of another one's stream may be news.
    EXPECT_LE(waiting.returned, 1);
    EXPECT_EQ(runtime.stats().actors(), 0u);
  }
  EXPECT_EQ(support::threads(), threads);
}

// C8
TEST_P(NetEnding, a_hundred_runtimes_in_a_row_leave_nothing) {
  const support::NoDescriptorIsLeft none_left;
  bulkhead::Runtime runtime(config());
  for (int i = 0; i < 100; ++i) {
    auto listener = *Listener::listen(Endpoint::loopback(0));
    runtime.start();
    runtime.spawn([&] {
      {
        auto stream = *listener.accept();
        EXPECT_EQ(read_text(stream, 2), "hi");
      }
      static_cast<void>(listener.accept());
    });
    const Peer peer = Peer::connect(listener.local().port());
    peer.send("hi");
    if (i % 2 == 0) {
      EXPECT_TRUE(peer.ended());
    }
    runtime.shutdown(0s);
  }
}

// B19
TEST_P(NetEnding, a_stream_outlives_its_runtime_and_serves_in_the_next_one) {
  const support::NoDescriptorIsLeft none_left;
  auto listener = *Listener::listen(Endpoint::loopback(0));
  const Peer peer = Peer::connect(listener.local().port());
  Stream stream;
  for (int i = 0; i < 5; ++i) {
    bulkhead::Runtime runtime(config());
    runtime.start();
    Event read;
    runtime.spawn([&] {
      if (!stream.is_open()) stream = *listener.accept(kDeadline);
      std::byte byte{};
      // The first read finds nothing, so that the descriptor is registered with this runtime's
      // poller.
      EXPECT_EQ(error_of(stream.read_some(std::span(&byte, 1), 1ms)).kind, ErrorKind::kTimedOut);
      read.set();
      EXPECT_EQ(*stream.read_some(std::span(&byte, 1), kDeadline), 1u);
    });
    ASSERT_TRUE(read.wait());
    peer.send("x");
    ASSERT_TRUE(runtime.wait_for_idle(kDeadline));
  }
  stream.close();
  EXPECT_TRUE(peer.ended());
}

// B19
TEST_P(NetEnding, a_stream_is_closed_by_an_actor_of_another_runtime_than_it_was_used_in) {
  const support::NoDescriptorIsLeft none_left;
  auto listener = *Listener::listen(Endpoint::loopback(0));
  const Peer peer = Peer::connect(listener.local().port());
  bulkhead::Runtime one(config());
  bulkhead::Runtime other(config());
  one.start();
  other.start();
  Stream stream;
  one.spawn([&] {
    stream = *listener.accept(kDeadline);
    std::byte byte{};
    static_cast<void>(stream.read_some(std::span(&byte, 1), 1ms));
  });
  ASSERT_TRUE(one.wait_for_idle(kDeadline));
  other.spawn([&] {
    std::byte byte{};
    static_cast<void>(stream.read_some(std::span(&byte, 1), 1ms));
    stream.close();
  });
  ASSERT_TRUE(other.wait_for_idle(kDeadline));
  EXPECT_TRUE(peer.ended());
}

// Says goodbye when it is destroyed, and waits for an answer that does not come.
class Polite {
 public:
  Polite(Listener& listener, Event& reading) : listener_(listener), reading_(reading) {}
  ~Polite() {
    static_cast<void>(stream_.write_all("bye", kDeadline));
    std::byte buffer[16];
    const auto got = stream_.read_some(buffer, kDeadline);
    EXPECT_TRUE(got ? *got == 0 : got.error().kind == ErrorKind::kStopped);
  }
  void started() {
    stream_ = *listener_.accept(kDeadline);
    reading_.set();
    std::byte buffer[16];
    static_cast<void>(stream_.read_some(buffer, kDeadline));
  }

 private:
  Listener& listener_;
  Event& reading_;
  Stream stream_;
};

// B19
TEST_P(NetEnding, a_destructor_can_still_write_and_is_told_that_there_is_no_waiting_any_more) {
  auto listener = *Listener::listen(Endpoint::loopback(0));
  bulkhead::Runtime runtime(config());
  runtime.start();
  Event reading;
  runtime.spawn<Polite>(listener, reading);
  const Peer peer = Peer::connect(listener.local().port());
  ASSERT_TRUE(reading.wait());
  const auto start = support::Clock::now();
  runtime.shutdown(0s);
  EXPECT_LT(support::Clock::now() - start, kPromptly);
  EXPECT_EQ(peer.receive(10), "bye");
}

}  // namespace
