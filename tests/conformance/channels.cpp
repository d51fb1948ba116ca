// C6: channels, in one thread outside that needs no runtime.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::ChannelError;
using bulkhead::make_channel;
using bulkhead::Receiver;
using bulkhead::Sender;
using support::Live;
using support::Log;
using namespace std::chrono_literals;

TEST(Channels, values_come_out_in_the_order_sent) {
  const auto [sender, receiver] = make_channel<int>();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(sender.send(i).has_value());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(receiver.recv(), i);
  EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
}

TEST(Channels, a_bounded_one_takes_so_many_and_leaves_the_next_with_its_sender) {
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    const auto [sender, receiver] = make_channel<std::string>(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      std::string value = "value " + std::to_string(i);
      ASSERT_TRUE(sender.try_send(value).has_value());
    }
    std::string more = "one too many, long enough for the heap";
    const std::string as_it_was = more;
    EXPECT_EQ(sender.try_send(more).error(), ChannelError::kFull);
    EXPECT_EQ(more, as_it_was);
    EXPECT_EQ(sender.send_for(more, 0s).error(), ChannelError::kTimedOut);
    EXPECT_EQ(sender.send_for(more, 1ms).error(), ChannelError::kTimedOut);
    EXPECT_EQ(sender.send_until(more, std::chrono::system_clock::now() + 1ms).error(),
              ChannelError::kTimedOut);
    EXPECT_EQ(more, as_it_was);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(receiver.recv(), "value " + std::to_string(i));
    }
    EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
  }
}

TEST(Channels, what_is_queued_is_received_after_the_close) {
  auto [sender, receiver] = make_channel<int>();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.send(i).has_value());
  sender.close();
  sender.close();
  int value = 7;
  EXPECT_EQ(sender.send(3).error(), ChannelError::kClosed);
  EXPECT_EQ(sender.try_send(value).error(), ChannelError::kClosed);
  EXPECT_EQ(sender.send_for(value, 1s).error(), ChannelError::kClosed);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(receiver.recv(), i);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(receiver.recv().error(), ChannelError::kClosed);
    EXPECT_EQ(receiver.try_recv().error(), ChannelError::kClosed);
    EXPECT_EQ(receiver.recv_for(1h).error(), ChannelError::kClosed);
  }
}

TEST(Channels, it_is_closed_when_the_last_sender_is_gone) {
  auto [sender, receiver] = make_channel<int>(4);
  Sender<int> second = sender;
  Sender<int> third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT: looks at what was moved from
  EXPECT_EQ(third, sender);
  sender = {};
  EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
  ASSERT_TRUE(third.send(1).has_value());
  third = Sender<int>();
  EXPECT_EQ(receiver.recv(), 1);
  EXPECT_EQ(receiver.recv().error(), ChannelError::kClosed);
}

TEST(Channels, values_are_destroyed_when_the_last_receiver_is_gone) {
  const long before = Live::values();
  auto [sender, receiver] = make_channel<Live>();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(sender.send(Live(i)).has_value());
  {
    const Receiver<Live> second = receiver;
    receiver = {};
    EXPECT_EQ(second.recv()->value(), 0);
    EXPECT_EQ(Live::values(), before + 9);
  }
  EXPECT_EQ(Live::values(), before);
  Live kept(5);
  EXPECT_EQ(sender.try_send(kept).error(), ChannelError::kClosed);
  EXPECT_EQ(sender.send_for(kept, bulkhead::kForever).error(), ChannelError::kClosed);
  EXPECT_EQ(kept.value(), 5);
}

TEST(Channels, values_that_are_left_at_the_end_are_destroyed) {
  const long before = Live::values();
  for (const bool receiver_last : {false, true}) {
    auto [sender, receiver] = make_channel<Live>(8);
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.send(Live(i)).has_value());
    if (receiver_last) {
      sender = {};
    } else {
      receiver = {};
    }
  }
  EXPECT_EQ(Live::values(), before);
}

TEST(Channels, a_handle_that_is_empty_says_so) {
  const Sender<int> sender;
  const Receiver<int> receiver;
  int value = 1;
  EXPECT_THROW(sender.send(1), std::logic_error);
  EXPECT_THROW(static_cast<void>(sender.try_send(value)), std::logic_error);
  EXPECT_THROW(static_cast<void>(sender.send_for(value, 1s)), std::logic_error);
  EXPECT_THROW(sender.close(), std::logic_error);
  EXPECT_THROW(static_cast<void>(receiver.recv()), std::logic_error);
  EXPECT_THROW(static_cast<void>(receiver.try_recv()), std::logic_error);
  EXPECT_THROW(static_cast<void>(receiver.recv_for(1s)), std::logic_error);
  EXPECT_THROW(static_cast<void>(receiver.begin()), std::logic_error);
  EXPECT_THROW(static_cast<void>(make_channel<int>().receiver.recv_for(-1s)),
               std::invalid_argument);
}

TEST(Channels, a_wait_for_nothing_ends_in_time_and_never_early) {
  const auto [sender, receiver] = make_channel<int>();
  const auto start = support::Clock::now();
  EXPECT_EQ(receiver.recv_for(5ms).error(), ChannelError::kTimedOut);
  EXPECT_EQ(receiver.recv_until(support::Clock::now() + 5ms).error(), ChannelError::kTimedOut);
  EXPECT_GE(support::Clock::now() - start, 10ms);
  EXPECT_EQ(receiver.recv_for(0s).error(), ChannelError::kTimedOut);
  EXPECT_EQ(receiver.recv_until(support::Clock::time_point::min()).error(),
            ChannelError::kTimedOut);
  ASSERT_TRUE(sender.send(1).has_value());
  EXPECT_EQ(receiver.recv_until(support::Clock::time_point::max()), 1);
}

// Throws when it is moved for the n-th time.
class Touchy {
 public:
  Touchy(int value, int moves) : value_(value), moves_(moves) {}
  Touchy(Touchy&& other) : value_(other.value_), moves_(other.moves_ - 1) {
    if (moves_ < 0) throw std::runtime_error("moved too often");
  }
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
  int moves_;
};

TEST(Channels, a_move_that_throws_leaves_the_channel_sound) {
  for (int moves = 0; moves < 6; ++moves) {
    const auto [sender, receiver] = make_channel<Touchy>(2);
    bool sent = false;
    try {
      sent = sender.send(Touchy(1, moves)).has_value();
    } catch (const std::runtime_error&) {
    }
    ASSERT_TRUE(sender.send(Touchy(2, 100)).has_value());
    if (sent) {
      try {
        EXPECT_EQ(receiver.recv()->value(), 1);
      } catch (const std::runtime_error&) {
      }
    }
    EXPECT_EQ(receiver.recv()->value(), 2);
    EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
    // On its way back.
    ASSERT_TRUE(sender.send(Touchy(3, 100)).has_value());
    ASSERT_TRUE(sender.send(Touchy(4, 100)).has_value());
    Touchy back(5, moves);
    try {
      EXPECT_EQ(sender.send_for(back, 1ms).error(), ChannelError::kTimedOut);
      EXPECT_EQ(back.value(), 5);
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(receiver.recv()->value(), 3);
    EXPECT_EQ(receiver.recv()->value(), 4);
  }
}

struct alignas(64) Wide {
  unsigned char bytes[5000];
};

TEST(Channels, values_of_any_size_and_alignment) {
  const auto [sender, receiver] = make_channel<Wide>();
  const auto wide = std::make_unique<Wide>();
  std::fill(std::begin(wide->bytes), std::end(wide->bytes), 0x5a);
  ASSERT_TRUE(sender.send(*wide).has_value());
  const auto back = receiver.recv();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*back) % 64, 0u);
  EXPECT_TRUE(std::ranges::all_of(back->bytes, [](unsigned char byte) { return byte == 0x5a; }));
  const auto [owners, owned] = make_channel<std::unique_ptr<int>>();
  ASSERT_TRUE(owners.send(std::make_unique<int>(3)).has_value());
  EXPECT_EQ(**owned.recv(), 3);
}

TEST(Channels, a_range_ends_with_the_channel) {
  auto [sender, receiver] = make_channel<std::string>(100);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(sender.send(std::to_string(i)).has_value());
  sender = {};
  int next = 0;
  for (std::string& value : receiver) {
    EXPECT_EQ(value, std::to_string(next++));
    value += " is mine to change";
  }
  for (const auto& value : receiver) ADD_FAILURE() << value;
  EXPECT_EQ(next, 50);
}

TEST(Channels, errors_have_words) {
  for (const auto error : {ChannelError::kClosed, ChannelError::kTimedOut, ChannelError::kEmpty,
                           ChannelError::kFull, ChannelError::kStopped}) {
    EXPECT_NE(to_string(error), "unknown");
  }
}

}  // namespace
