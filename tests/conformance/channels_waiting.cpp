// C6: those who wait at a channel: actors on one core and on several, and threads outside on either
// side.
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

// Who comes first to a channel is only certain where no actor is left behind in another thread.
class WaitingAtChannels : public support::Running {
 protected:
  WaitingAtChannels() : Running(patient()) {}

  static bulkhead::Config patient() {
    bulkhead::Config config = OnCores::config();
    config.hand_over_after = bulkhead::kForever;
    return config;
  }
};
ON_ONE_AND_SEVERAL_CORES(WaitingAtChannels);

// Runs `body` as an actor on core 1, or in a thread outside.
enum class Kind : bool { kActor, kThread };
constexpr Kind kKinds[] = {Kind::kActor, Kind::kThread};

class Runner {
 public:
  template <class F>
  void run(Kind kind, const bulkhead::Runtime& runtime, bulkhead::SpawnOptions options, F body) {
    if (kind == Kind::kThread) {
      threads_.emplace_back(std::move(body));
    } else {
      runtime_of(runtime).spawn_with(options, std::move(body));
    }
  }
  ~Runner() {
    for (auto& thread : threads_) thread.join();
  }

 private:
  static bulkhead::Runtime& runtime_of(const bulkhead::Runtime& runtime) {
    return const_cast<bulkhead::Runtime&>(runtime);
  }
  std::vector<std::thread> threads_;
};

TEST_P(WaitingAtChannels, a_rendezvous_hands_over_each_value) {
  for (const Kind sends : kKinds) {
    for (const Kind receives : kKinds) {
      for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
        Log<int> log;
        {
          Runner runner;
          auto [sender, receiver] = make_channel<int>(capacity);
          runner.run(sends, runtime, on_core(0), [sender = std::move(sender)] {
            for (int i = 0; i < 200; ++i) EXPECT_TRUE(sender.send(i).has_value());
          });
          runner.run(receives, runtime, on_core(1), [receiver = std::move(receiver), &log] {
            for (const int value : receiver) log.add(value);
          });
        }
        wait_for_idle();
        const auto entries = log.entries();
        ASSERT_EQ(entries.size(), 200u);
        EXPECT_TRUE(std::ranges::is_sorted(entries));
      }
    }
  }
}

TEST_P(WaitingAtChannels, who_sends_in_a_rendezvous_goes_on_when_the_value_was_taken) {
  for (const Kind sends : kKinds) {
    std::atomic<bool> went_on{false};
    const auto [sender, receiver] = make_channel<int>(0);
    {
      Runner runner;
      runner.run(sends, runtime, on_core(1), [sender = sender, &went_on] {
        EXPECT_TRUE(sender.send(1).has_value());
        went_on = true;
      });
      std::this_thread::sleep_for(2ms);
      EXPECT_FALSE(went_on);
      EXPECT_EQ(receiver.recv(), 1);
    }
    wait_for_idle();
    EXPECT_TRUE(went_on);
  }
}

// Starts actors on core 0, each when the one before waits; then `then` runs there.
template <class Make, class Then>
void spawn_one_after_the_other(bulkhead::Runtime& runtime, int count, Make make, Then then) {
  bulkhead::SpawnOptions here;
  here.core = 0;
  here.pinned = true;
  runtime.spawn_with(here, [=, then = std::move(then)] {
    for (int i = 0; i < count; ++i) {
      bulkhead::spawn_with(here, make(i));
      this_actor::yield();
    }
    then();
  });
}

TEST_P(WaitingAtChannels, those_who_wait_are_served_in_order) {
  constexpr int kWaiting = 20;
  Log<int> log;
  const auto [sender, receiver] = make_channel<int>();
  spawn_one_after_the_other(
      runtime, kWaiting,
      [receiver = receiver, &log](int i) {
        return [i, receiver, &log] {
          if (receiver.recv() == i) log.add(i);
        };
      },
      [sender = sender] {
        for (int i = 0; i < kWaiting; ++i) EXPECT_TRUE(sender.send(i).has_value());
      });
  wait_for_idle();
  EXPECT_EQ(log.size(), static_cast<std::size_t>(kWaiting));
}

TEST_P(WaitingAtChannels, senders_that_wait_get_in_in_order) {
  constexpr int kWaiting = 20;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{3}}) {
    Log<int> log;
    const auto [sender, receiver] = make_channel<int>(capacity);
    spawn_one_after_the_other(
        runtime, kWaiting,
        [sender = sender](int i) {
          return [i, sender] { EXPECT_TRUE(sender.send(i).has_value()); };
        },
        [receiver = receiver, &log] {
          for (int i = 0; i < kWaiting; ++i) {
            if (receiver.recv() == i) log.add(i);
          }
        });
    wait_for_idle();
    EXPECT_EQ(log.size(), static_cast<std::size_t>(kWaiting));
  }
}

TEST_P(WaitingAtChannels, who_waits_gets_the_room_that_is_made) {
  const auto [sender, receiver] = make_channel<int>(2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(sender.send(i).has_value());
  std::atomic<int> begun{0};
  for (int i = 2; i < 6; ++i) {
    runtime.spawn_with(on_core(1), [i, sender = sender, &begun] {
      ++begun;
      EXPECT_TRUE(sender.send(i).has_value());
    });
  }
  ASSERT_TRUE(support::eventually([&] { return begun == 4; }));
  std::this_thread::sleep_for(20ms);
  for (int taken = 0; taken < 4; ++taken) {
    ASSERT_TRUE(receiver.recv().has_value());
    int late = 100;
    EXPECT_EQ(sender.try_send(late).error(), ChannelError::kFull) << "one who waited was first";
  }
  EXPECT_TRUE(receiver.try_recv().has_value());
  EXPECT_TRUE(receiver.try_recv().has_value());
  EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
  wait_for_idle();
}

TEST_P(WaitingAtChannels, a_close_wakes_all_who_wait) {
  for (const Kind kind : kKinds) {
    for (const bool by_close : {false, true}) {
      std::atomic<int> told{0};
      {
        Runner runner;
        auto [sender, receiver] = make_channel<int>(0);
        for (std::size_t i = 0; i < 10; ++i) {
          runner.run(kind, runtime, on_core(i), [receiver = receiver, &told, i] {
            const auto value = i % 2 == 0 ? receiver.recv() : receiver.recv_for(support::kDeadline);
            if (!value && value.error() == ChannelError::kClosed) ++told;
          });
        }
        std::this_thread::sleep_for(1ms);
        if (by_close) {
          sender.close();
        } else {
          sender = {};
        }
      }
      wait_for_idle();
      EXPECT_EQ(told, 10);
    }
  }
}

TEST_P(WaitingAtChannels, senders_that_wait_keep_their_values_when_nobody_receives_any_more) {
  for (const Kind kind : kKinds) {
    for (const bool by_close : {false, true}) {
      const long before = Live::values();
      std::atomic<int> told{0};
      {
        Runner runner;
        auto [sender, receiver] = make_channel<Live>(2);
        for (std::size_t i = 0; i < 10; ++i) {
          runner.run(kind, runtime, on_core(i), [i, sender = sender, &told] {
            Live value(static_cast<int>(i));
            const auto sent = sender.send_for(value, bulkhead::kForever);
            if (sent) return;
            if (sent.error() == ChannelError::kClosed && value.value() == static_cast<int>(i)) {
              ++told;
            }
          });
        }
        std::this_thread::sleep_for(1ms);
        if (by_close) {
          sender.close();
        } else {
          receiver = {};
        }
      }
      wait_for_idle();
      // Those who came after the end were told as well.
      EXPECT_GE(told, 8);
      EXPECT_EQ(Live::values(), before);
    }
  }
}

TEST_P(WaitingAtChannels, many_send_and_many_receive_each_value_once) {
  constexpr std::size_t kSenders = 6;
  constexpr std::size_t kReceivers = 5;
  constexpr int kEach = 300;
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{16}}) {
    std::vector<std::atomic<int>> seen(kSenders * kEach);
    std::atomic<int> out_of_order{0};
    {
      Runner runner;
      auto [sender, receiver] = make_channel<std::pair<std::size_t, int>>(capacity);
      for (std::size_t i = 0; i < kSenders; ++i) {
        runner.run(kKinds[i % 2], runtime, on_core(i), [i, sender = sender] {
          for (int k = 0; k < kEach; ++k) EXPECT_TRUE(sender.send({i, k}).has_value());
        });
      }
      sender = {};
      for (std::size_t i = 0; i < kReceivers; ++i) {
        runner.run(kKinds[i % 2], runtime, on_core(i + 1), [&, receiver = receiver] {
          std::vector<int> last(kSenders, -1);
          for (const auto& [from, number] : receiver) {
            ++seen[from * kEach + static_cast<std::size_t>(number)];
            if (number <= last[from]) ++out_of_order;
            last[from] = number;
          }
        });
      }
    }
    wait_for_idle();
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
    EXPECT_EQ(out_of_order, 0) << "what one sends, one receives in order";
  }
}

TEST_P(WaitingAtChannels, handles_travel_in_messages) {
  struct Work {
    Receiver<int> numbers;
    Sender<long> sums;
  };
  class Adder {
   public:
    void receive(Work work) {
      long sum = 0;
      for (const int number : work.numbers) sum += number;
      EXPECT_TRUE(work.sums.send(sum).has_value());
    }
  };
  auto [numbers, work] = make_channel<int>(2);
  auto [sums, results] = make_channel<long>(0);
  const auto adder = runtime.spawn_with<Adder>(on_core(1));
  adder.send(Work{std::move(work), std::move(sums)});
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(numbers.send(i).has_value());
  numbers = {};
  EXPECT_EQ(results.recv(), 5050);
  EXPECT_EQ(results.recv().error(), ChannelError::kClosed) << "gone with the message";
  wait_for_idle();
}

TEST_P(WaitingAtChannels, timeouts_and_values_that_race_lose_no_value) {
  std::atomic<int> received{0};
  constexpr int kRounds = 300;
  auto [sender, receiver] = make_channel<int>(0);
  std::atomic<int> sent{0};
  runtime.spawn_with(on_core(0), [sender = std::move(sender), &sent] {
    for (int i = 0; i < kRounds; ++i) {
      int value = i;
      if (sender.send_for(value, std::chrono::microseconds(20 + i % 50))) ++sent;
    }
  });
  runtime.spawn_with(on_core(1), [receiver = std::move(receiver), &received] {
    for (int i = 0;; ++i) {
      const auto value = receiver.recv_for(std::chrono::microseconds(20 + i % 70));
      if (value) ++received;
      if (!value && value.error() == ChannelError::kClosed) return;
    }
  });
  wait_for_idle();
  EXPECT_EQ(sent, received);
}

}  // namespace
