// B10: how watches end.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/trap_cases.hpp"
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

// A message whose destructor does something, once.
std::atomic<void (*)()> at_its_end{nullptr};
struct Late {
  bool there = true;
  Late() = default;
  Late(Late&& other) noexcept : there(std::exchange(other.there, false)) {}
  Late& operator=(Late&&) = delete;
  ~Late() {
    if (!there) return;
    if (auto* what = at_its_end.exchange(nullptr)) what();
  }
};

}  // namespace

template <>
inline constexpr bool bulkhead::kSendable<Late> = true;
template <>
struct bulkhead::Crossing<Late> {
  static Late cross(const Late& /*from*/) { return {}; }
  static void let_go(Late& from) noexcept { from.there = false; }
};

namespace {

class WatchesEnding : public support::Watched {};
ON_ONE_AND_SEVERAL_CORES(WatchesEnding);

TEST_P(WatchesEnding, end_when_it_is_closed_by_whomever) {
  struct Watching {
    explicit Watching(Stream* its_stream) : stream(its_stream) {}
    void started() { EXPECT_TRUE(net::watch(this, *stream)); }
    void receive(Ready /*message*/) { ADD_FAILURE() << "nothing was sent"; }
    bool receive(Look /*message*/) {
      const auto again = net::watch(this, *stream);
      EXPECT_EQ(error_of(again).kind, ErrorKind::kClosed);
      return true;
    }
    Stream* stream;
  };
  for (const bool by_thread : {false, true}) {
    auto [stream, peer] = connected();
    shared = std::move(stream);
    const auto watching = runtime.spawn_with<Watching>(on_core(1), &shared);
    wait_for_idle();
    if (by_thread) {
      shared.close();
    } else {
      in_actor([&] { shared.close(); });
    }
    EXPECT_TRUE(peer.ended());
    EXPECT_EQ(watching.ask(Look{}), true);
    bulkhead::stop(watching);
    wait_for_idle();
  }
}

TEST_P(WatchesEnding, leave_no_message_of_what_is_closed_to_be_handled) {
  struct Closing {
    explicit Closing(Stream its_stream) : stream(std::move(its_stream)) {}
    void receive(Look /*message*/) {
      EXPECT_TRUE(net::watch(this, stream, net::Interest::kWritable));  // so it is told at once
      this_actor::sleep_for(2ms);
      stream.close();
    }
    void receive(Ready /*message*/) { ADD_FAILURE() << "it was closed"; }
    Stream stream;
  };
  auto [stream, peer] = connected();
  runtime.spawn_with<Closing>(on_core(1), std::move(stream)).send(Look{});
  EXPECT_TRUE(peer.ended());
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u) << "nothing was lost";
}

// The watch of a number that was closed says nothing of its next owner.
TEST_P(WatchesEnding, end_before_the_number_is_used_again) {
  struct Watching {
    explicit Watching(Stream* its_stream) : stream(its_stream) {}
    void started() { EXPECT_TRUE(net::watch(this, *stream)); }
    void receive(Ready /*message*/) { ADD_FAILURE() << "it was closed"; }
    Stream* stream;
  };
  for (std::size_t i = 0; i < 20; ++i) {
    auto [stream, peer] = connected();
    shared = std::move(stream);
    runtime.spawn_with<Watching>(on_core(1), &shared);
    wait_for_idle();
    shared.close();
    auto [next, next_peer] = connected();
    next_peer.send("hello");
    const auto reader = runtime.spawn_with<Reader>(on_core(2), std::move(next), &log);
    ASSERT_TRUE(eventually([&] { return log.size() == i + 1; }));
    bulkhead::stop(reader);
    wait_for_idle();
  }
}

TEST_P(WatchesEnding, belong_to_who_has_watched_it_last) {
  struct Watching {
    Watching(Stream* its_stream, std::atomic<int>* its_count)
        : stream(its_stream), count(its_count) {}
    bool receive(Look /*message*/) {
      watch = *net::watch(this, *stream);
      return true;
    }
    bool receive(std::string /*message*/) { return net::unwatch(watch); }
    void receive(Ready /*message*/) {
      ++*count;
      read_now(*stream);
    }
    Stream* stream;
    std::atomic<int>* count;
    Watch watch;
  };
  auto [stream, peer] = connected();
  shared = std::move(stream);
  const auto first = runtime.spawn_with<Watching>(on_core(0), &shared, &counts[0]);
  const auto second = runtime.spawn_with<Watching>(on_core(1), &shared, &counts[1]);
  EXPECT_EQ(first.ask(Look{}), true);
  peer.send("x");
  EXPECT_TRUE(eventually([&] { return counts[0] == 1; }));
  wait_for_idle();
  EXPECT_EQ(second.ask(Look{}), true);
  wait_for_idle();
  peer.send("x");
  EXPECT_TRUE(eventually([&] { return counts[1] == 1; }));
  EXPECT_EQ(first.ask(std::string()), false) << "it has ended";
  EXPECT_EQ(second.ask(std::string()), true);
  peer.send("x");
  wait_for_idle();
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[1], 1);
  bulkhead::stop(first);
  bulkhead::stop(second);
  wait_for_idle();
}

// Over a wall, also while the watch looks.
TEST_P(WatchesEnding, end_when_it_is_handed_over) {
  struct Taking {
    bool receive(Stream given) {
      stream = std::move(given);
      return stream.is_open();
    }
    Stream stream;
  };
  struct Watching {
    explicit Watching(Address<Taking> its_taking) : taking(its_taking) {}
    bool receive(Stream stream) {
      EXPECT_TRUE(net::watch(this, stream, net::Interest::kWritable));  // so it is told at once
      this_actor::sleep_for(100us);
      const auto taken = taking.ask(std::move(stream), kDeadline);
      return taken && *taken;
    }
    void receive(Ready /*message*/) { ADD_FAILURE() << "it is over"; }
    Address<Taking> taking;
  };
  auto isolated = on_core(0);
  isolated.isolated.emplace();
  const auto taking = runtime.spawn_with<Taking>(isolated);
  const auto watching = runtime.spawn_with<Watching>(on_core(1), taking);
  for (int i = 0; i < 50; ++i) {
    auto [stream, peer] = connected();
    EXPECT_EQ(watching.ask(std::move(stream), kDeadline), true);
  }
  bulkhead::stop(watching);
  bulkhead::stop(taking);
  wait_for_idle();
}

// What it watches may be garbage, which is found where a trap is contained.
TEST_P(WatchesEnding, begin_with_a_trap_if_there_is_no_stream) {
  struct Trapping {
    void receive(Look /*message*/) { static_cast<void>(net::watch(this, *nowhere)); }
    void receive(Ready /*message*/) {}
    // (Not null, which UndefinedBehaviorSanitizer would see.)
    Stream* volatile nowhere = static_cast<Stream*>(support::no_mans_page);
  };
  auto options = on_core(1);
  options.isolated.emplace();
  runtime.spawn_with<Trapping>(options).send(Look{});
  EXPECT_TRUE(eventually([&] { return runtime.stats().actors_trapped == 1; }));
}

struct Restarted {
  void receive(Look /*message*/) {
    bulkhead::send_after(1h, this_actor::address(this), Late());
    std::abort();
  }
  void receive(Late&& /*message*/) {}
  void receive(Ready /*message*/) { ADD_FAILURE() << "it is over"; }
  int receive(int timers) {
    for (int i = 0; i < timers; ++i) bulkhead::send_after(1h, this_actor::address(this), Look{});
    const auto watch = net::watch(this, *its_stream);
    EXPECT_TRUE(watch && net::unwatch(*watch));
    return timers;
  }
  static inline Stream* its_stream = nullptr;
  static inline Address<Restarted> its_address;
};

// As what it was ends, the destructor of a message that was to be sent begins a watch.
TEST_P(WatchesEnding, that_begin_while_all_end_are_ended) {
  auto [stream, peer] = connected();
  shared = std::move(stream);
  Restarted::its_stream = &shared;
  auto options = on_core(1);
  options.isolated.emplace();
  options.restart.emplace();
  const auto restarted = runtime.spawn_with<Restarted>(options);
  Restarted::its_address = restarted;
  for (int i = 0; i < 3; ++i) {
    at_its_end = [] {
      static_cast<void>(net::watch(Restarted::its_address, *Restarted::its_stream));
    };
    restarted.send(Look{});
    EXPECT_TRUE(eventually([] { return at_its_end == nullptr; }));
    wait_for_idle();
    EXPECT_EQ(restarted.ask(3, kDeadline), 3);
  }
  bulkhead::stop(restarted);
  wait_for_idle();
}

TEST_P(WatchesEnding, end_with_their_actor) {
  auto [stream, peer] = connected();
  shared = std::move(stream);
  struct Watching {
    explicit Watching(Stream* its_stream) : stream(its_stream) {}
    void started() { EXPECT_TRUE(net::watch(this, *stream)); }
    void receive(Ready /*message*/) {}
    Stream* stream;
  };
  for (int round = 0; round < 50; ++round) {
    const auto watching = runtime.spawn_with<Watching>(on_core(1), &shared);
    if (round % 2 == 0) std::this_thread::sleep_for(200us);
    if (round % 3 == 0) peer.send("x");
    bulkhead::stop(watching);
  }
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u) << "nothing was lost";
  peer.send("y");
  runtime.spawn_with<Reader>(on_core(0), std::move(shared), &log);
  EXPECT_TRUE(eventually([&] {
    const auto entries = log.entries();
    return !entries.empty() && entries.back().ends_with('y');
  }));
}

// An isolated actor that traps when it is told, and is made anew in place: the watch is gone.
TEST_P(WatchesEnding, end_with_a_trap) {
  class Trapping {
   public:
    void receive(Stream stream) {
      stream_ = std::move(stream);
      EXPECT_TRUE(net::watch(this, stream_));
    }
    void receive(Ready /*message*/) {
      std::vector<char> garbage(1000, 'x');
      std::abort();
    }
    bool receive(Look /*message*/) { return stream_.is_open(); }

   private:
    Stream stream_;
  };
  auto options = on_core(1);
  options.isolated.emplace();
  options.restart.emplace();
  const auto trapping = runtime.spawn_with<Trapping>(options);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    auto [stream, peer] = connected();
    trapping.send(std::move(stream));
    peer.send("x");
    EXPECT_TRUE(peer.ended());
    std::expected<bool, bulkhead::AskError> open(true);  // an ask may be dropped by the restart
    EXPECT_TRUE(eventually([&] { return (open = trapping.ask(Look{})).has_value(); }));
    EXPECT_EQ(open, false);
    EXPECT_EQ(runtime.stats().actors_trapped, i);
  }
  failures_expected = 0;
}

}  // namespace
