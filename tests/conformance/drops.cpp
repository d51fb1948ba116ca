// A12: a message that is not handled is destroyed exactly once, counted by its cause, and told.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::DropCause;
using bulkhead::Pid;
using support::Live;
using namespace std::chrono_literals;

struct Cargo {
  Live live;
};
struct Fail {
  Live live;
};
struct Hold {
  Live live;
};
struct Letter {
  Pid receiver;
  std::string type;
  DropCause cause;
};

class Receiver {
 public:
  explicit Receiver(const support::Event* go, support::Event* held = nullptr)
      : go_(go), held_(held) {}
  void receive(Cargo /*message*/) {}
  void receive(Fail /*message*/) { throw std::runtime_error("failed"); }
  void receive(Hold /*message*/) {
    if (held_ != nullptr) held_->set();
    go_->wait();
  }
  int receive(char /*message*/) { return 1; }

 private:
  const support::Event* go_;
  support::Event* held_;
};

class Drops : public support::OnCores {
 protected:
  Drops() : runtime(with_hook()) {
    Live::reset();
    runtime.start();
  }

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_dead_letter = [this](const bulkhead::DeadLetter& letter) {
      // It was counted before it is told.
      if (runtime.stats().dropped_for(letter.cause) == 0) told_early_ = true;
      letters.add({letter.receiver, std::string(letter.message_type), letter.cause});
    };
    return config;
  }

  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }

  // That many were dropped for that cause, and no other, and told so.
  void expect_dropped(DropCause cause, std::uint64_t count, Pid receiver) {
    wait_for_idle();
    const bulkhead::Stats stats = runtime.stats();
    for (std::size_t i = 0; i < bulkhead::kDropCauses; ++i) {
      const auto other = static_cast<DropCause>(i);
      EXPECT_EQ(stats.dropped_for(other), other == cause ? count : 0) << to_string(other);
    }
    const auto told = letters.entries();
    ASSERT_EQ(told.size(), count);
    for (const Letter& letter : told) {
      EXPECT_EQ(letter.receiver, receiver);
      EXPECT_EQ(letter.cause, cause);
    }
    EXPECT_FALSE(told_early_);
    EXPECT_EQ(Live::alive(), 0);
  }

  // What was sent was handled, or dropped.
  void expect_balance() {
    const bulkhead::Stats stats = runtime.stats();
    std::uint64_t dropped = 0;
    for (const std::uint64_t count : stats.dropped) dropped += count;
    dropped -= stats.dropped_for(DropCause::kLateReply);
    EXPECT_EQ(stats.sent, stats.handled + dropped - stats.refused);
  }

  Address<Receiver> dead() {
    const auto receiver = runtime.spawn_with<Receiver>(on_core(1), &go);
    bulkhead::stop(receiver);
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    return receiver;
  }

  support::Log<Letter> letters;
  support::Event go;
  bulkhead::Runtime runtime;

 private:
  std::atomic<bool> told_early_{false};
};
ON_ONE_AND_SEVERAL_CORES(Drops);

// A12
TEST_P(Drops, sent_to_a_dead_actor_from_outside) {
  const auto receiver = dead();
  EXPECT_EQ(receiver.send(Cargo{Live(1)}), Delivery::kGone);
  EXPECT_EQ(receiver.send(Cargo{Live(2)}), Delivery::kGone);
  EXPECT_EQ(Live::ended(), 2);
  expect_dropped(DropCause::kGone, 2, receiver.pid());
  EXPECT_EQ(runtime.stats().refused, 2u);
  expect_balance();
}

// A12
TEST_P(Drops, sent_to_a_dead_actor_by_an_actor) {
  const auto receiver = dead();
  runtime.spawn([receiver] {
    EXPECT_EQ(receiver.send(Cargo{Live(1)}), Delivery::kGone);
    EXPECT_EQ(receiver.send(Cargo{Live(2)}), Delivery::kGone);
  });
  expect_dropped(DropCause::kGone, 2, receiver.pid());
  EXPECT_EQ(Live::ended(), 2);
  expect_balance();
}

// A12
TEST_P(Drops, sent_to_nobody) {
  const Address<Receiver> never(Pid(16'000'000, 7));
  const auto strays = runtime.stats().strays;
  EXPECT_EQ(never.send(Cargo{Live(1)}), Delivery::kGone);
  EXPECT_EQ(Address<Receiver>().send(Cargo{Live(1)}), Delivery::kGone);
  EXPECT_EQ(bulkhead::stop(never), Delivery::kGone);
  EXPECT_EQ(never.ask('?').error(), AskError::kGone);
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(runtime.stats().strays, strays + 4) << "no runtime is theirs";
  runtime.spawn([never] {
    EXPECT_EQ(never.send(Cargo{Live(1)}), Delivery::kGone);
    EXPECT_EQ(never.ask('?').error(), AskError::kGone);
  });
  expect_dropped(DropCause::kGone, 2, never.pid());
}

// A12
TEST_P(Drops, queued_to_an_actor_that_stops) {
  const auto receiver = runtime.spawn_with<Receiver>(on_core(1), &go);
  receiver.send(Hold{Live(0)});
  for (int i = 0; i < 3; ++i) receiver.send(Cargo{Live(i)});
  bulkhead::stop(receiver);
  for (int i = 0; i < 5; ++i) receiver.send(Cargo{Live(i)});
  go.set();
  expect_dropped(DropCause::kGone, 5, receiver.pid());
  EXPECT_EQ(Live::ended(), 9);
  EXPECT_EQ(runtime.stats().refused, 0u);
  expect_balance();
}

// A12
TEST_P(Drops, queued_by_its_own_core_to_an_actor_that_stops) {
  runtime.spawn_with(pinned_to(0), [this] {
    bulkhead::SpawnOptions pinned;
    pinned.pinned = true;
    const auto receiver = bulkhead::spawn_with<Receiver>(pinned, &go);
    bulkhead::stop(receiver);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(receiver.send(Cargo{Live(i)}), Delivery::kQueued);
  });
  wait_for_idle();
  EXPECT_EQ(letters.size(), 5u);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 5u);
  EXPECT_EQ(Live::ended(), 5);
  EXPECT_EQ(Live::alive(), 0);
  expect_balance();
}

// A12, A20
TEST_P(Drops, in_hand_when_its_handler_fails_and_behind_it) {
  const auto receiver = runtime.spawn_with<Receiver>(on_core(1), &go);
  receiver.send(Hold{Live(0)});
  receiver.send(Fail{Live(1)});
  for (int i = 0; i < 5; ++i) receiver.send(Cargo{Live(i)});
  go.set();
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kHandlerFailed), 1u);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 5u);
  ASSERT_EQ(letters.size(), 6u);
  EXPECT_EQ(letters.entries()[0].cause, DropCause::kHandlerFailed);
  EXPECT_NE(letters.entries()[0].type.find("Fail"), std::string::npos);
  EXPECT_NE(letters.entries()[1].type.find("Cargo"), std::string::npos);
  EXPECT_EQ(Live::ended(), 7);
  EXPECT_EQ(Live::alive(), 0);
  expect_balance();
}

// A12: what was asked is given up before the handler runs; it counts all the same.
TEST_P(Drops, in_hand_when_the_handler_of_an_ask_fails) {
  class Failing {
   public:
    int receive(Cargo /*message*/) { throw 1; }
  };
  const auto receiver = runtime.spawn_with<Failing>(on_core(1));
  EXPECT_EQ(receiver.ask(Cargo{Live(1)}).error(), AskError::kDied);
  expect_dropped(DropCause::kHandlerFailed, 1, receiver.pid());
  EXPECT_EQ(Live::ended(), 1);
  expect_balance();
}

// A12
TEST_P(Drops, refused_by_a_full_mailbox) {
  support::Event held;
  bulkhead::SpawnOptions bounded = on_core(1);
  bounded.mailbox_bound = 2;
  const auto receiver = runtime.spawn_with<Receiver>(bounded, &go, &held);
  receiver.send(Hold{Live(0)});
  ASSERT_TRUE(held.wait());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(receiver.send(Cargo{Live(1)}), Delivery::kQueued);
  EXPECT_EQ(receiver.send(Cargo{Live(2)}), Delivery::kFull);
  EXPECT_EQ(receiver.ask('?').error(), AskError::kFull);
  Cargo kept{Live(3)};
  EXPECT_EQ(receiver.try_send(kept), Delivery::kFull);
  EXPECT_EQ(kept.live.value(), 3);
  EXPECT_EQ(runtime.stats().refused, 2u);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kFull), 2u);
  go.set();
  wait_for_idle();
  EXPECT_EQ(Live::alive(), 1);
  expect_balance();
  EXPECT_EQ(receiver.send(std::move(kept)), Delivery::kQueued);
  wait_for_idle();
}

// A12, A18
TEST_P(Drops, sent_from_outside_when_the_runtime_is_not_running) {
  const auto receiver = runtime.spawn<Receiver>(&go);
  runtime.shutdown();
  EXPECT_EQ(receiver.send(Cargo{Live(1)}), Delivery::kStopped);
  EXPECT_EQ(receiver.ask('?').error(), AskError::kStopped);
  expect_dropped(DropCause::kStopped, 2, receiver.pid());
  EXPECT_EQ(runtime.stats().stopped_sends, 2u);
  EXPECT_EQ(runtime.stats().refused, 2u);
  EXPECT_EQ(Live::ended(), 1);
}

// A12
TEST_P(Drops, of_a_timer_whose_receiver_is_gone) {
  const auto receiver = dead();
  runtime.spawn([receiver] {
    bulkhead::send_after(1ms, receiver, Cargo{Live(1)});
    this_actor::sleep_for(10ms);
  });
  expect_dropped(DropCause::kGone, 1, receiver.pid());
  EXPECT_EQ(Live::ended(), 1);
}

// A12: an actor that shutdown ends while it handles a message drops that, and what is queued.
TEST_P(Drops, in_hand_and_queued_at_a_shutdown) {
  class Sleeper {
   public:
    void receive(Cargo /*message*/) { this_actor::sleep_for(bulkhead::kForever); }
  };
  const auto receiver = runtime.spawn_with<Sleeper>(on_core(1));
  for (int i = 0; i < 4; ++i) receiver.send(Cargo{Live(i)});
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().sent == 4; }));
  runtime.shutdown(0s);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 4u);
  EXPECT_EQ(letters.size(), 4u);
  EXPECT_EQ(Live::ended(), 4);
  EXPECT_EQ(Live::alive(), 0);
  expect_balance();
}

// A12: messages whose destructors send, which may be refused in turn.
TEST_P(Drops, of_messages_that_send_when_they_are_destroyed) {
  struct Chain {
    Address<Receiver> to;
    int left;
    Chain(Address<Receiver> receiver, int count) : to(receiver), left(count) {}
    Chain(Chain&& other) noexcept : to(other.to), left(std::exchange(other.left, 0)) {}
    ~Chain() {
      for (; left > 0; --left) to.send(Cargo{Live(left)});
    }
  };
  class Chained {
   public:
    void receive(Chain /*message*/) {}
  };
  const auto receiver = dead();
  const auto chained = runtime.spawn_with<Chained>(on_core(1));
  runtime.spawn([receiver, chained] {
    bulkhead::stop(chained);
    chained.send(Chain(receiver, 3));
  });
  wait_for_idle();
  EXPECT_EQ(chained.send(Chain(receiver, 2)), Delivery::kGone);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 2u + 5u);
  EXPECT_EQ(Live::ended(), 5);
  expect_balance();
}

// A12: a process may have several runtimes; the one that the receiver lived in counts, or none.
TEST_P(Drops, sent_to_an_actor_of_a_runtime_that_is_gone) {
  Address<Receiver> receiver;
  {
    bulkhead::Runtime other(support::OnCores::config());
    other.start();
    receiver = other.spawn<Receiver>(&go);
  }
  const auto strays = runtime.stats().strays;
  EXPECT_NE(receiver.send(Cargo{Live(1)}), Delivery::kQueued);
  EXPECT_EQ(runtime.stats().strays, strays + 1);
  EXPECT_EQ(Live::alive(), 0);
  expect_balance();
}

// A12: from many threads at once; not one is lost, or destroyed twice.
TEST_P(Drops, in_a_storm_of_sends_and_stops) {
  constexpr int kRounds = 200;
  constexpr int kThreads = 3;
  constexpr int kEach = 20;
  for (int round = 0; round < kRounds; ++round) {
    const auto receiver =
        runtime.spawn_with<Receiver>(on_core(static_cast<std::size_t>(round)), &go);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([receiver, t] {
        for (int i = 0; i < kEach; ++i) {
          receiver.send(Cargo{Live(i)});
          if (t == 0 && i == kEach / 2) bulkhead::stop(receiver);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  wait_for_idle();
  EXPECT_EQ(Live::ended(), kRounds * kThreads * kEach);
  EXPECT_EQ(Live::alive(), 0);
  const bulkhead::Stats stats = runtime.stats();
  EXPECT_EQ(stats.handled - kRounds + stats.dropped_for(DropCause::kGone),
            kRounds * kThreads * kEach);
  EXPECT_EQ(letters.size(), stats.dropped_for(DropCause::kGone));
  expect_balance();
}

}  // namespace
