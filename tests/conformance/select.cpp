// C6: select over channels and time, in actors on one core and on several, and in threads outside.
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

using Received = std::expected<int, ChannelError>;
using Sent = std::expected<void, ChannelError>;

constexpr auto kIgnore = [](const auto&...) {};

// Keeps what an arm was given.
template <class T>
auto keep(std::optional<T>& where) {
  return [&where](T result) { where = std::move(result); };
}

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

// One of the two is ready all the time: first the second gets a value, then the first loses its own.
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

// --- selects that wait ---------------------------------------------------------------------------

class WaitingSelects : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(WaitingSelects);

TEST_P(WaitingSelects, the_arm_that_becomes_ready_is_chosen) {
  constexpr std::size_t kChannels = 8;
  for (std::size_t which = 0; which < kChannels; ++which) {
    std::vector<bulkhead::Channel<int>> c;
    for (std::size_t i = 0; i < kChannels; ++i) c.push_back(make_channel<int>(i % 2));
    std::atomic<bool> right{false};
    runtime.spawn_with(on_core(0), [&] {
      std::optional<Received> received;
      auto arm = [&](std::size_t i) { return on_receive(c[i].receiver, keep(received)); };
      const std::size_t chosen =
          select(arm(0), arm(1), arm(2), arm(3), arm(4), arm(5), arm(6), arm(7));
      right = chosen == which && received == Received(5);
    });
    c[which].sender.send(5);
    wait_for_idle();
    EXPECT_TRUE(right);
    for (auto& channel : c) {
      EXPECT_EQ(channel.receiver.try_recv().error(), ChannelError::kEmpty);
      int value = 1;
      const bool bounded = channel.sender.try_send(value).has_value();
      EXPECT_EQ(bounded, &channel != &c[0] && (&channel - &c[0]) % 2 == 1)
          << "nobody is left waiting there";
    }
  }
}

// Nobody gives up: whoever waits beside a ready partner waits for ever, and a value that is lost is
// missing.
TEST_P(WaitingSelects, those_who_come_at_the_same_moment_find_each_other) {
  constexpr int kRounds = 20'000;
  constexpr std::size_t kLanes = 3;
  std::vector<bulkhead::Channel<int>> c;
  for (std::size_t i = 0; i < kLanes; ++i) c.push_back(make_channel<int>(0));
  std::atomic<int> wrong{0};
  const auto sends = [&] {
    int value = 0;
    for (int i = 0; i < kRounds; ++i) {
      value = i;
      const auto lane = static_cast<std::size_t>(i) % kLanes;
      const auto sent = [&wrong](Sent result) { wrong += result ? 0 : 1; };
      if (i % 2 == 0) {
        sent(c[lane].sender.send_for(value, bulkhead::kForever));
      } else {
        select(on_send(c[lane].sender, value, sent), after(1h, [&wrong] { ++wrong; }));
      }
    }
  };
  const auto receives = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const auto take = [&wrong, i](Received value) { wrong += value == Received(i) ? 0 : 1; };
      select(on_receive(c[0].receiver, take), on_receive(c[1].receiver, take),
             on_receive(c[2].receiver, take));
    }
  };
  runtime.spawn_with(pinned_to(0), receives);
  runtime.spawn_with(pinned_to(1), sends);
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
  std::thread outside(sends);
  std::thread other(receives);
  outside.join();
  other.join();
  EXPECT_EQ(wrong, 0);
}

// Values come while the select makes its wait known, arm by arm: it may have been served when it
// finds another arm ready.
TEST_P(WaitingSelects, values_that_come_while_the_wait_begins_are_not_lost) {
  constexpr int kRounds = 2000;
  constexpr std::size_t kLanes = 8;
  std::vector<bulkhead::Channel<int>> c;
  for (std::size_t i = 0; i < kLanes; ++i) c.push_back(make_channel<int>(4));
  std::atomic<int> received{0};
  std::thread outside([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) c[lane].sender.send(round);
      const auto expected = static_cast<int>(kLanes) * (round + 1);
      if (!support::eventually([&] { return received == expected; })) return;
      for (int i = 0; i < round % 64; ++i) static_cast<void>(received.load());
    }
  });
  runtime.spawn_with(on_core(1), [&] {
    const auto arm = [&](std::size_t i) {
      return on_receive(c[i].receiver, [&received](Received value) { received += value ? 1 : 0; });
    };
    while (received < kRounds * static_cast<int>(kLanes)) {
      select(arm(0), arm(1), arm(2), arm(3), arm(4), arm(5), arm(6), arm(7));
    }
  });
  outside.join();
  EXPECT_EQ(received, kRounds * static_cast<int>(kLanes));
  wait_for_idle();
}

TEST_P(WaitingSelects, a_channel_twice_in_one_select) {
  auto [sender, receiver] = make_channel<int>(0);
  std::atomic<std::size_t> chosen{9};
  runtime.spawn_with(on_core(1), [&, receiver = receiver] {
    chosen = select(on_receive(receiver, kIgnore), on_receive(receiver, kIgnore));
  });
  EXPECT_TRUE(sender.send(1).has_value());
  wait_for_idle();
  EXPECT_EQ(chosen, 0u);
  int value = 1;
  EXPECT_EQ(sender.try_send(value).error(), ChannelError::kFull);
}

TEST_P(WaitingSelects, one_that_sends_and_receives_on_one_channel_never_serves_itself) {
  for (const bool sends_first : {true, false}) {
    auto [sender, receiver] = make_channel<int>(0);
    int value = 1;
    const auto alone = [&] {
      auto sends = on_send(sender, value, kIgnore);
      auto receives = on_receive(receiver, kIgnore);
      SelectArm* const arms[] = {sends_first ? static_cast<SelectArm*>(&sends) : &receives,
                                 sends_first ? static_cast<SelectArm*>(&receives) : &sends};
      return select_for(1ms, arms);
    };
    EXPECT_EQ(alone(), std::nullopt);
    EXPECT_EQ(value, 1);
    // Two of the kind serve each other.
    std::atomic<int> sent{0};
    std::atomic<int> received{0};
    constexpr int kRounds = 100;
    for (std::size_t i = 0; i < 2; ++i) {
      runtime.spawn_with(on_core(i), [&, i, sender = sender, receiver = receiver] {
        for (int k = 0; k < kRounds; ++k) {
          int mine = static_cast<int>(i);
          select(on_send(sender, mine, [&](Sent result) { sent += result ? 1 : 0; }),
                 on_receive(receiver, [&](Received other) {
                   EXPECT_NE(*other, static_cast<int>(i)) << "not its own";
                   ++received;
                 }));
        }
      });
    }
    wait_for_idle();
    EXPECT_EQ(sent, kRounds);
    EXPECT_EQ(received, kRounds);
  }
}

TEST_P(WaitingSelects, a_close_wakes_a_select) {
  for (const bool receives : {true, false}) {
    auto [sender, receiver] = make_channel<int>(0);
    auto [open, quiet] = make_channel<int>(0);
    std::atomic<bool> right{false};
    runtime.spawn_with(on_core(1), [&, quiet = quiet, r = receives ? receiver : Receiver<int>(),
                                    s = receives ? Sender<int>() : sender] {
      int value = 1;
      std::optional<ChannelError> error;
      const std::size_t chosen =
          select(on_receive(quiet, kIgnore), on_receive(r, [&](Received x) { error = x.error(); }),
                 on_send(s, value, [&](Sent x) { error = x.error(); }));
      right = chosen == (receives ? 1u : 2u) && error == ChannelError::kClosed && value == 1;
    });
    std::this_thread::sleep_for(1ms);
    if (receives) {
      sender = {};
    } else {
      receiver = {};
    }
    wait_for_idle();
    EXPECT_TRUE(right);
  }
}

// Senders, receivers and relays that select, with timeouts that come too early: every value arrives
// once.
TEST_P(WaitingSelects, values_pass_through_selects_once) {
  constexpr int kValues = 400;
  constexpr std::size_t kLanes = 4;
  std::vector<bulkhead::Channel<int>> in;
  std::vector<bulkhead::Channel<int>> out;
  for (std::size_t i = 0; i < kLanes; ++i) {
    in.push_back(make_channel<int>(i % 3));
    out.push_back(make_channel<int>((i + 1) % 3));
  }
  std::vector<std::atomic<int>> seen(kLanes * kValues);
  std::vector<std::thread> threads;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto produce = [lane, sender = std::move(in[lane].sender)] {
      for (int i = 0; i < kValues; ++i) sender.send(static_cast<int>(lane) * kValues + i);
    };
    if (lane % 2 == 0) {
      runtime.spawn_with(on_core(lane), produce);
    } else {
      threads.emplace_back(produce);
    }
  }
  for (std::size_t relay = 0; relay < 3; ++relay) {
    const auto body = [relay, &in, to_0 = out[0].sender, to_1 = out[1].sender, to_2 = out[2].sender,
                       to_3 = out[3].sender] {
      std::vector<Receiver<int>> from;
      for (auto& channel : in) from.push_back(channel.receiver);
      for (;;) {
        std::optional<int> value;
        const auto arm = [&](std::size_t i) {
          return on_receive(from[i], [&value, &from, i](Received received) {
            if (received) {
              value = *received;
            } else {
              from[i] = {};
            }
          });
        };
        if (std::ranges::none_of(from, [](const auto& one) { return static_cast<bool>(one); })) {
          return;
        }
        static_cast<void>(select_for(std::chrono::microseconds(30 + 10 * relay), arm(relay % 4),
                                     arm((relay + 1) % 4), arm((relay + 2) % 4),
                                     arm((relay + 3) % 4)));
        while (value.has_value()) {
          const auto sent = [&value](Sent) { value.reset(); };
          int& mine = *value;
          static_cast<void>(select_for(50us, on_send(to_0, mine, sent), on_send(to_1, mine, sent),
                                       on_send(to_2, mine, sent), on_send(to_3, mine, sent)));
        }
      }
    };
    if (relay == 2) {
      threads.emplace_back(body);
    } else {
      runtime.spawn_with(on_core(relay), body);
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    out[lane].sender = {};
    const auto consume = [receiver = std::move(out[lane].receiver), &seen] {
      for (const int value : receiver) ++seen[static_cast<std::size_t>(value)];
    };
    if (lane % 2 == 1) {
      runtime.spawn_with(on_core(lane + 1), consume);
    } else {
      threads.emplace_back(consume);
    }
  }
  for (auto& thread : threads) thread.join();
  wait_for_idle();
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
}

TEST_P(WaitingSelects, a_timer_and_a_value_that_race_end_a_select_once) {
  auto [sender, receiver] = make_channel<int>(0);
  std::atomic<int> received{0};
  std::atomic<int> sent{0};
  constexpr int kRounds = 300;
  runtime.spawn_with(on_core(0), [&, sender = std::move(sender)] {
    for (int i = 0; i < kRounds; ++i) {
      int value = i;
      select(on_send(sender, value, [&](Sent) { ++sent; }),
             after(std::chrono::microseconds(10 + i % 60), [] {}));
    }
  });
  runtime.spawn_with(on_core(1), [&, receiver = std::move(receiver)] {
    for (bool open = true; open;) {
      select(on_receive(receiver,
                        [&](Received value) {
                          received += value ? 1 : 0;
                          open = value.has_value();
                        }),
             after(std::chrono::microseconds(10 + received % 70), [] {}));
    }
  });
  wait_for_idle();
  EXPECT_EQ(sent, received);
}

// --- selects of actors that end ------------------------------------------------------------------

class EndedSelects : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(EndedSelects);

TEST_P(EndedSelects, a_shutdown_leaves_no_registration) {
  const long before = Live::values();
  {
    auto [sender, receiver] = make_channel<Live>(0);
    auto [full, nobody] = make_channel<Live>(0);
    std::atomic<int> begun{0};
    std::atomic<int> value_back{0};
    struct Back {
      Live value{4};
      std::atomic<int>* back;
      ~Back() { *back += value.value() == 4 ? 1 : 0; }
    };
    bulkhead::Runtime runtime(config());
    runtime.start();
    for (std::size_t i = 0; i < 10; ++i) {
      runtime.spawn_with(on_core(i), [&, receiver = receiver, full = full] {
        Back back{.back = &value_back};
        ++begun;
        select(on_receive(receiver, kIgnore), on_send(full, back.value, kIgnore), after(1h, [] {}));
      });
    }
    ASSERT_TRUE(support::eventually([&] { return begun == 10; }));
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
    EXPECT_EQ(value_back, 10);
    Live value(1);
    EXPECT_EQ(sender.try_send(value).error(), ChannelError::kFull);
    EXPECT_EQ(nobody.try_recv().error(), ChannelError::kEmpty);
  }
  EXPECT_EQ(Live::values(), before);
}

TEST_P(EndedSelects, a_destructor_of_an_actor_that_is_unwound_does_not_wait) {
  auto [sender, receiver] = make_channel<int>(0);
  Log<std::string> log;
  class Last {
   public:
    Last(Receiver<int> from, Log<std::string>* log) : receiver_(std::move(from)), log_(log) {}
    ~Last() {
      const Receiver<int> nothing;
      const std::size_t chosen =
          select(after(1h, [] {}), on_receive(nothing, kIgnore), on_receive(receiver_, kIgnore));
      log_->add("arm " + std::to_string(chosen));
      select(on_receive(receiver_, [this](Received received) {
        log_->add(std::string(to_string(received.error())));
      }));
      if (!select_for(1h, on_receive(receiver_, kIgnore))) log_->add("none");
    }
    void receive(int /*message*/) { static_cast<void>(receiver_.recv()); }

   private:
    Receiver<int> receiver_;
    Log<std::string>* log_;
  };
  {
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn_with<Last>(on_core(1), receiver, &log).send(1);
    std::this_thread::sleep_for(2ms);
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  }
  EXPECT_EQ(log.entries(),
            (std::vector<std::string>{"arm 0", "the actor is ending and cannot wait", "none"}));
}

}  // namespace
