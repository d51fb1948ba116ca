// A7: what one actor sends another arrives in the order sent. Nothing is lost and nothing is
// doubled.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstdint>
#include <thread>
#include <vector>

#include "support/numbered.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::SpawnOptions;
using support::Numbered;
using support::NumberedAsk;
using support::NumberedReceiver;
using support::Padded;
using support::Receivers;

constexpr std::uint32_t kSenders = 6;
constexpr std::uint32_t kMessages = 5000;

class Order : public support::Running {
 protected:
  Receivers receivers(std::size_t count, const SpawnOptions& extra = {}) {
    Receivers made;
    for (std::size_t i = 0; i < count; ++i) {
      SpawnOptions options = extra;
      if (!options.own_thread) options.core = i % cores();
      made.push_back(runtime.spawn_with<NumberedReceiver>(options, &tally, std::size_t{kSenders}));
    }
    return made;
  }

  void expect(std::uint64_t messages) {
    wait_for_idle();
    EXPECT_EQ(tally.wrong, 0u);
    EXPECT_EQ(tally.handled, messages);
    EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u);
  }

  support::Tally tally;
};
ON_ONE_AND_SEVERAL_CORES(Order);

void send_to_all(const Receivers& receivers, std::uint32_t sender, std::uint32_t number) {
  for (const auto& receiver : receivers) receiver.send(Numbered{sender, number});
}

// A7
TEST_P(Order, holds_between_actors_spread_over_all_cores) {
  const Receivers to = receivers(4);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(on_core(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        send_to_all(to, sender, number);
        if (number % 50 == 0) this_actor::yield();
      }
    });
  }
  expect(std::uint64_t{kSenders} * kMessages * to.size());
}

// A7
TEST_P(Order, holds_for_threads_outside) {
  const Receivers to = receivers(3);
  std::vector<std::thread> threads;
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    threads.emplace_back([to, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) send_to_all(to, sender, number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(std::uint64_t{kSenders} * kMessages * to.size());
}

// A7: a flood makes its sender give way to the receivers, in the middle of its handler.
TEST_P(Order, holds_in_a_flood) {
  constexpr std::uint32_t kFlood = 100'000;
  const Receivers to = receivers(2);
  for (std::uint32_t sender = 0; sender < 2; ++sender) {
    runtime.spawn_with(on_core(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kFlood; ++number) send_to_all(to, sender, number);
    });
  }
  expect(std::uint64_t{2} * kFlood * to.size());
}

// A7
TEST_P(Order, holds_when_a_sender_asks_now_and_then) {
  const Receivers to = receivers(3);
  std::atomic<std::uint32_t> answered{0};
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(on_core(sender), [to, sender, &answered] {
      for (std::uint32_t number = 0; number < kMessages / 10; ++number) {
        for (const auto& receiver : to) {
          if (number % 7 != 0) {
            receiver.send(Numbered{sender, number});
          } else if (receiver.ask(NumberedAsk{sender, number}, support::kDeadline) == number) {
            ++answered;
          }
        }
      }
    });
  }
  expect(std::uint64_t{kSenders} * (kMessages / 10) * to.size());
  EXPECT_EQ(answered, kSenders * ((kMessages / 10 + 6) / 7) * to.size());
}

// A7
TEST_P(Order, holds_when_threads_outside_ask_now_and_then) {
  const Receivers to = receivers(2);
  std::vector<std::thread> threads;
  for (std::uint32_t sender = 0; sender < 3; ++sender) {
    threads.emplace_back([to, sender] {
      for (std::uint32_t number = 0; number < 600; ++number) {
        for (const auto& receiver : to) {
          if (number % 7 != 0) {
            receiver.send(Numbered{sender, number});
          } else {
            EXPECT_EQ(receiver.ask(NumberedAsk{sender, number}, support::kDeadline), number);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(std::uint64_t{3} * 600 * to.size());
}

// A7: a refused message is sent again later, and nothing that was sent after it can have come
// before.
TEST_P(Order, holds_with_full_mailboxes) {
  SpawnOptions bounded;
  bounded.mailbox_bound = 8;
  const Receivers to = receivers(3, bounded);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(on_core(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kMessages / 25; ++number) {
        for (const auto& receiver : to) {
          Numbered message{sender, number};
          while (receiver.try_send(message) == bulkhead::Delivery::kFull) this_actor::yield();
        }
      }
    });
  }
  expect(std::uint64_t{kSenders} * (kMessages / 25) * to.size());
}

// A7: messages of all sizes come from different pools, and from the heap.
TEST_P(Order, holds_among_messages_of_different_sizes) {
  const Receivers to = receivers(3);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(on_core(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kMessages / 5; ++number) {
        for (const auto& receiver : to) {
          switch (number % 4) {
            case 0:
              receiver.send(Numbered{sender, number});
              break;
            case 1:
              receiver.send(Padded<100>{sender, number});
              break;
            case 2:
              receiver.send(Padded<3000>{sender, number});
              break;
            default:
              receiver.send(Padded<10'000>{sender, number});
          }
        }
      }
    });
  }
  expect(std::uint64_t{kSenders} * (kMessages / 5) * to.size());
}

// A7, A22
TEST_P(Order, holds_to_and_from_actors_with_a_thread_of_their_own) {
  SpawnOptions own;
  own.own_thread = true;
  Receivers to = receivers(2, own);
  for (const auto& more : receivers(2)) to.push_back(more);
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    runtime.spawn_with(sender < 2 ? own : on_core(sender), [to, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        send_to_all(to, sender, number);
        if (number % 50 == 0) this_actor::yield();
      }
    });
  }
  expect(std::uint64_t{kSenders} * kMessages * to.size());
}

// Starts, then gets messages; says so when one came before the start.
class Newborn {
 public:
  Newborn(support::Tally* tally, std::uint32_t messages) : tally_(tally), messages_(messages) {}
  void started() { started_ = true; }
  void receive(Numbered message) {
    if (!started_ || message.number != next_++) ++tally_->wrong;
    ++tally_->handled;
    if (next_ == messages_) this_actor::stop();
  }

 private:
  support::Tally* tally_;
  std::uint32_t messages_;
  std::uint32_t next_ = 0;
  bool started_ = false;
};

// A7: a fresh actor may be moved before its first message.
TEST_P(Order, holds_for_fresh_actors_from_their_start_on) {
  constexpr std::uint32_t kNewborns = 3000;
  for (std::uint32_t spawner = 0; spawner < 4; ++spawner) {
    runtime.spawn([this] {
      for (std::uint32_t i = 0; i < kNewborns; ++i) {
        auto child = bulkhead::spawn<Newborn>(&tally, 3u);
        for (std::uint32_t number = 0; number < 3; ++number) child.send(Numbered{0, number});
        if (i % 100 == 0) this_actor::yield();
      }
    });
  }
  expect(std::uint64_t{4} * kNewborns * 3);
}

// A7
TEST_P(Order, a_stop_comes_after_what_was_sent_before_it) {
  constexpr std::uint32_t kRounds = 200;
  std::atomic<std::uint64_t> refused{0};
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto receiver = runtime.spawn_with<NumberedReceiver>(on_core(round), &tally, 1u);
    runtime.spawn_with(on_core(round / 2), [receiver, &refused] {
      for (std::uint32_t number = 0; number < 10; ++number) receiver.send(Numbered{0, number});
      bulkhead::stop(receiver);
      if (receiver.send(Numbered{0, 10}) != bulkhead::Delivery::kQueued) ++refused;
    });
  }
  wait_for_idle();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, kRounds * 10);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), kRounds);
}

}  // namespace
