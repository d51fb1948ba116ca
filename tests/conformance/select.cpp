// C6: select over channels and time, where nobody has to wait long.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "select_support.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::after;
using bulkhead::ChannelError;
using bulkhead::make_channel;
using bulkhead::on_receive;
using bulkhead::on_send;
using bulkhead::Receiver;
using bulkhead::select;
using bulkhead::select_for;
using bulkhead::SelectArm;
using bulkhead::Sender;
using bulkhead::try_select;
using support::Live;
using support::Log;
using namespace std::chrono_literals;

TEST(Select, the_first_of_those_that_are_ready_is_chosen) {
  auto [sender_1, first] = make_channel<int>();
  auto [sender_2, second] = make_channel<int>();
  std::optional<Received> one;
  std::optional<Received> two;
  for (int i = 0; i < 3; ++i) {
    sender_1.send(i);
    sender_2.send(i + 10);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(select(on_receive(first, keep(one)), on_receive(second, keep(two))), 0u);
    EXPECT_EQ(one, Received(i));
    EXPECT_FALSE(two.has_value());
  }
  EXPECT_EQ(select(on_receive(first, keep(one)), on_receive(second, keep(two))), 1u);
  EXPECT_EQ(two, Received(10));
  EXPECT_EQ(try_select(on_receive(first, keep(one))), std::nullopt);
}

TEST(Select, an_arm_sends_when_there_is_room) {
  auto [sender, receiver] = make_channel<std::string>(1);
  std::string value = "first, long enough that it is moved";
  std::optional<Sent> sent;
  EXPECT_EQ(select(on_send(sender, value, keep(sent))), 0u);
  EXPECT_TRUE(sent->has_value());
  value = "second, long enough that it is moved";
  const std::string as_it_was = value;
  EXPECT_EQ(try_select(on_send(sender, value, keep(sent))), std::nullopt);
  EXPECT_EQ(value, as_it_was);
  EXPECT_EQ(select_for(1ms, on_send(sender, value, keep(sent))), std::nullopt);
  EXPECT_EQ(value, as_it_was);
  bool timed_out = false;
  EXPECT_EQ(select(on_send(sender, value, keep(sent)),
                   after(1ms, [&] { timed_out = value == as_it_was; })),
            1u);
  EXPECT_TRUE(timed_out) << "the value is back when another arm's function runs";
  EXPECT_EQ(receiver.recv(), "first, long enough that it is moved");
}

TEST(Select, one_value_offered_by_several_arms_is_sent_once) {
  const long before = Live::values();
  {
    auto [full, nobody] = make_channel<Live>(0);
    auto [first, a] = make_channel<Live>(1);
    auto [second, b] = make_channel<Live>(1);
    Live value(7);
    EXPECT_EQ(select(on_send(full, value, kIgnore), on_send(first, value, kIgnore),
                     on_send(second, value, kIgnore)),
              1u);
    value = Live(8);
    EXPECT_EQ(select(on_send(full, value, kIgnore), on_send(first, value, kIgnore),
                     on_send(second, value, kIgnore)),
              2u);
    value = Live(9);
    EXPECT_EQ(select_for(1ms, on_send(full, value, kIgnore), on_send(first, value, kIgnore),
                         on_send(second, value, kIgnore)),
              std::nullopt);
    EXPECT_EQ(value.value(), 9);
    EXPECT_EQ(a.recv()->value(), 7);
    EXPECT_EQ(b.recv()->value(), 8);
    EXPECT_EQ(a.try_recv().error(), ChannelError::kEmpty);
  }
  EXPECT_EQ(Live::values(), before);
}

TEST(Select, a_closed_arm_is_ready) {
  auto [sender, receiver] = make_channel<int>(0);
  auto [open, quiet] = make_channel<int>(0);
  sender.close();
  std::optional<Received> received;
  EXPECT_EQ(select(on_receive(quiet, kIgnore), on_receive(receiver, keep(received))), 1u);
  EXPECT_EQ(received->error(), ChannelError::kClosed);
  int value = 5;
  std::optional<Sent> sent;
  EXPECT_EQ(select(on_send(open, value, kIgnore), on_send(sender, value, keep(sent))), 1u);
  EXPECT_EQ(sent->error(), ChannelError::kClosed);
  EXPECT_EQ(value, 5);
}

TEST(Select, an_empty_handle_is_never_ready) {
  auto [sender, receiver] = make_channel<int>();
  const Receiver<int> nothing;
  const Sender<int> nowhere;
  int value = 1;
  sender.send(3);
  EXPECT_EQ(select(on_receive(nothing, kIgnore), on_send(nowhere, value, kIgnore),
                   on_receive(receiver, kIgnore)),
            2u);
  EXPECT_EQ(select_for(1ms, on_receive(nothing, kIgnore), on_send(nowhere, value, kIgnore)),
            std::nullopt);
  EXPECT_EQ(try_select(on_receive(nothing, kIgnore)), std::nullopt);
  EXPECT_THROW(select(on_receive(nothing, kIgnore), on_send(nowhere, value, kIgnore)),
               std::logic_error);
  EXPECT_THROW(select(on_receive(nothing, kIgnore), after(bulkhead::kForever, [] {})),
               std::logic_error);
  EXPECT_THROW(select(std::span<SelectArm* const>()), std::logic_error);
  EXPECT_THROW(static_cast<void>(select_for(bulkhead::kForever, on_receive(nothing, kIgnore))),
               std::logic_error);
  EXPECT_EQ(try_select(std::span<SelectArm* const>()), std::nullopt);
}

TEST(Select, time_is_an_arm_like_others) {
  auto [sender, receiver] = make_channel<int>(0);
  const auto start = support::Clock::now();
  EXPECT_EQ(select(on_receive(receiver, kIgnore), after(5ms, [] {})), 1u);
  EXPECT_GE(support::Clock::now() - start, 5ms);
  EXPECT_EQ(select(after(1h, [] {}), on_receive(receiver, kIgnore), after(1ms, [] {})), 2u);
  EXPECT_EQ(select(on_receive(receiver, kIgnore), after(0s, [] {})), 1u);
  EXPECT_EQ(try_select(on_receive(receiver, kIgnore), after(0s, [] {})), 1u);
  EXPECT_EQ(try_select(on_receive(receiver, kIgnore), after(1ns, [] {})), std::nullopt);
  EXPECT_EQ(select_for(2ms, on_receive(receiver, kIgnore), after(1h, [] {})), std::nullopt);
  EXPECT_EQ(select_for(1h, on_receive(receiver, kIgnore), after(1ms, [] {})), 1u);
  EXPECT_EQ(select_for(0s, on_receive(receiver, kIgnore)), std::nullopt);
}

TEST(Select, what_an_arm_throws_is_passed_on) {
  auto [sender, receiver] = make_channel<int>();
  sender.send(1);
  sender.send(2);
  EXPECT_THROW(select(on_receive(receiver, [](Received) { throw std::runtime_error("no"); })),
               std::runtime_error);
  EXPECT_EQ(receiver.try_recv(), 2);
  EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
}

// Cannot be moved so often.
class Touchy {
 public:
  explicit Touchy(int moves) : moves_(moves) {}
  Touchy(Touchy&& other) : moves_(other.moves_ - 1) {
    if (moves_ < 0) throw std::runtime_error("moved too often");
  }

 private:
  int moves_;
};

TEST(Select, a_move_that_throws_leaves_nothing_behind) {
  for (int moves = 0; moves < 4; ++moves) {
    auto [full, nobody] = make_channel<Touchy>(0);
    auto [numbers, receiver] = make_channel<int>(0);
    Touchy value(moves);
    try {
      EXPECT_EQ(select_for(1ms, on_receive(receiver, kIgnore), on_send(full, value, kIgnore)),
                std::nullopt);
      EXPECT_GE(moves, 2) << "there and back";
    } catch (const std::runtime_error&) {
    }
    int number = 1;
    EXPECT_EQ(numbers.try_send(number).error(), ChannelError::kFull) << "nobody waits there";
    EXPECT_EQ(nobody.try_recv().error(), ChannelError::kEmpty);
  }
}

TEST(Select, arms_may_be_kept_and_used_again) {
  auto [sender, receiver] = make_channel<int>(2);
  auto [to, from] = make_channel<int>(1);
  std::vector<int> got;
  int value = 100;
  auto receives = on_receive(receiver, [&got](Received number) { got.push_back(*number); });
  auto sends = on_send(to, value, [&value](Sent) { ++value; });
  std::vector<SelectArm*> arms = {&receives, &sends, &receives};
  sender.send(1);
  EXPECT_EQ(select(arms), 0u);
  EXPECT_EQ(select(arms), 1u);
  EXPECT_EQ(select_for(1ms, arms), std::nullopt);
  EXPECT_EQ(try_select(arms), std::nullopt);
  EXPECT_EQ(from.recv(), 100);
  EXPECT_EQ(value, 101);
  EXPECT_EQ(select(arms), 1u);
  EXPECT_EQ(from.recv(), 101);
  sender.send(2);
  EXPECT_EQ(select(arms), 0u);
  EXPECT_EQ(got, (std::vector{1, 2}));
}

// One of the two is ready all the time: the second gets a value, then the first loses its own.
TEST(Select, an_attempt_in_order_misses_nothing_that_is_there_all_the_time) {
  for (int round = 0; round < 3000; ++round) {
    auto [to_first, first] = make_channel<int>(1);
    auto [to_second, second] = make_channel<int>(1);
    to_first.send(1);
    std::atomic<bool> looks{false};
    std::optional<std::size_t> found;
    std::thread other([&, first = first, second = second] {
      looks = true;
      found = try_select(on_receive(first, kIgnore), on_receive(second, kIgnore));
    });
    while (!looks) {
    }
    if (round % 2 == 0) {
      to_second.send(2);
    } else {
      to_second.close();
    }
    static_cast<void>(try_select(on_receive(first, kIgnore)));
    other.join();
    ASSERT_TRUE(found.has_value()) << "in round " << round;
  }
}

TEST(Select, an_attempt_finds_what_is_there_when_the_channel_is_closed_meanwhile) {
  for (int round = 0; round < 1000; ++round) {
    auto [sender, receiver] = make_channel<int>(1);
    sender.send(1);
    std::atomic<bool> ready{true};
    std::thread other([&, receiver = receiver] {
      ready = try_select(on_receive(receiver, kIgnore)).has_value();
    });
    sender.close();
    static_cast<void>(receiver.try_recv());
    other.join();
    ASSERT_TRUE(ready) << "a value, or closed";
  }
}

}  // namespace
