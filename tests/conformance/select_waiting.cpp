// C6: selects that wait, in actors on one core and on several, and in threads outside.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
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

// Served while it waits: each value goes one way once, whichever arm stands in the list twice.
TEST_P(WaitingSelects, an_arm_may_be_given_twice) {
  constexpr int kRounds = 200;
  auto [to_it, in] = make_channel<int>(0);
  auto [out, from_it] = make_channel<int>(0);
  std::vector<int> received;
  std::vector<int> sent;
  auto it = runtime.spawn_joinable_with(on_core(1), [&, in = in, out = out] {
    int value = 0;
    auto receives = on_receive(in, [&](Received number) { received.push_back(*number); });
    auto sends = on_send(out, value, [&](Sent result) { value += result ? 1 : 0; });
    auto sends_too = on_send(out, value, [&](Sent result) { value += result ? 1 : 0; });
    const std::vector<SelectArm*> lists[] = {
        {&receives, &receives, &sends, &sends},
        {&sends, &receives, &sends_too, &sends, &receives, &sends_too},
    };
    for (int i = 0; i < 2 * kRounds; ++i) {
      const auto& arms = lists[i % 2];
      const std::size_t before = received.size();
      const int value_before = value;
      const std::size_t chosen = select(arms);
      const bool has_received = arms[chosen] == &receives;
      EXPECT_EQ(received.size(), before + (has_received ? 1 : 0));
      EXPECT_EQ(value, value_before + (has_received ? 0 : 1));
    }
    EXPECT_EQ(select_for(1ms, lists[0]), std::nullopt);
    EXPECT_EQ(select_for(1ms, lists[1]), std::nullopt);
    EXPECT_EQ(value, kRounds);
  });
  auto feeder = runtime.spawn_joinable_with(on_core(0), [&, to_it = to_it] {
    for (int i = 0; i < kRounds; ++i) EXPECT_TRUE(to_it.send(i).has_value());
  });
  for (int i = 0; i < kRounds; ++i) sent.push_back(*from_it.recv());
  EXPECT_TRUE(feeder.join().has_value());
  EXPECT_TRUE(it.join().has_value());
  std::vector<int> expected(kRounds);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(received, expected);
  EXPECT_EQ(sent, expected);
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
