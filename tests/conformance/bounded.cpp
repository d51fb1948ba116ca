// A12, B5: bounded mailboxes: never more than the bound, and never less for long.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::SpawnOptions;
using support::Door;
using support::Live;
using namespace std::chrono_literals;

class Bounded : public support::Running {
 protected:
  static SpawnOptions bound(std::size_t most, std::size_t core = 1) {
    SpawnOptions options = on_core(core);
    options.mailbox_bound = most;
    return options;
  }
};
ON_ONE_AND_SEVERAL_CORES(Bounded);

struct Pass {};
struct Fail {};
struct Cargo {
  Live live;
};

// Waits at a door for each Pass; all else is counted.
class Gatherer {
 public:
  Gatherer(Address<Door> door, std::atomic<int>* handled) : door_(door), handled_(handled) {}
  void receive(Pass /*message*/) {
    EXPECT_TRUE(door_.ask(Door::Pass{}, bulkhead::kForever).has_value());
  }
  void receive(Fail /*message*/) { throw std::runtime_error("failed"); }
  void receive(Cargo cargo) {
    ++*handled_;
    last_ = cargo.live.value();
  }
  int receive(char /*message*/) { return last_; }

 private:
  Address<Door> door_;
  std::atomic<int>* handled_;
  int last_ = -1;
};

class BoundedAndHeld : public Bounded {
 protected:
  static constexpr int kBound = 10;
  BoundedAndHeld() {
    door = runtime.spawn_with<Door>(on_core(0));
    gatherer = runtime.spawn_with<Gatherer>(bound(kBound), door, &handled);
    gatherer.send(Pass{});
    EXPECT_TRUE(support::eventually(
        [this] { return door.ask(Door::Waiting{}, support::kDeadline) == 1u; }));
    // Its handler is blocked: its mailbox is empty, and stays as it is.
  }

  void fill() {
    for (int i = 0; i < kBound; ++i) {
      EXPECT_EQ(gatherer.send(Cargo{Live(i)}), Delivery::kQueued) << i;
    }
  }

  std::atomic<int> handled{0};
  Address<Door> door;
  Address<Gatherer> gatherer;
};
ON_ONE_AND_SEVERAL_CORES(BoundedAndHeld);

TEST_P(BoundedAndHeld, takes_exactly_as_many_as_the_bound_from_outside) {
  fill();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gatherer.send(Cargo{Live(50)}), Delivery::kFull);
  EXPECT_EQ(Live::values(), kBound);
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(handled, kBound);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kFull), 3u);
  // And again: every place has come back.
  for (int round = 0; round < 20; ++round) {
    fill();
    wait_for_idle();
  }
  EXPECT_EQ(handled, 21 * kBound);
}

TEST_P(BoundedAndHeld, takes_exactly_as_many_as_the_bound_from_actors) {
  for (std::size_t core = 0; core < cores(); ++core) {
    std::atomic<int> queued{0};
    support::Event done;
    runtime.spawn_with(pinned_to(core), [&] {
      for (int i = 0; i < 2 * kBound; ++i) {
        if (gatherer.send(Cargo{Live(i)}) == Delivery::kQueued) ++queued;
      }
      done.set();
    });
    ASSERT_TRUE(done.wait());
    EXPECT_EQ(queued, core == 0 ? kBound : 0);
  }
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(handled, kBound);
}

TEST_P(BoundedAndHeld, takes_exactly_as_many_as_the_bound_from_many_at_once) {
  std::atomic<int> queued{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (gatherer.send(Cargo{Live(i)}) == Delivery::kQueued) ++queued;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(queued, kBound);
  // A sender that was refused may for a moment have stood in the way of another; now nobody does.
  while (gatherer.send(Cargo{Live(1)}) == Delivery::kQueued) ++queued;
  EXPECT_EQ(queued, kBound);
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(handled, kBound);
  EXPECT_EQ(Live::alive(), 0);
}

TEST_P(BoundedAndHeld, counts_what_is_asked_and_what_timers_bring) {
  for (int i = 0; i < kBound - 2; ++i) gatherer.send(Cargo{Live(i)});
  support::Event done;
  const auto before = runtime.stats().sent;
  std::thread asker([this] { EXPECT_EQ(gatherer.ask('?', support::kDeadline), kBound - 3); });
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().sent > before; }));
  runtime.spawn([&] {
    bulkhead::send_after(1ms, gatherer, Cargo{Live(70)});
    bulkhead::send_after(2ms, gatherer, Cargo{Live(71)});
    this_actor::sleep_for(20ms);
    done.set();
  });
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kFull), 1u) << "the second timer's";
  EXPECT_EQ(gatherer.ask('?').error(), AskError::kFull);
  door.send(Door::Open{});
  asker.join();
  wait_for_idle();
  EXPECT_EQ(handled, kBound - 1);
  EXPECT_EQ(Live::alive(), 0);
}

TEST_P(BoundedAndHeld, gives_a_refused_message_back) {
  fill();
  Cargo mine{Live(42)};
  EXPECT_EQ(gatherer.try_send(mine), Delivery::kFull);
  EXPECT_EQ(mine.live.value(), 42);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kFull), 0u);
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(gatherer.try_send(mine), Delivery::kQueued);
  wait_for_idle();
  EXPECT_EQ(gatherer.ask('?', support::kDeadline), 42);
}

// --- waiting for room ---

TEST_P(BoundedAndHeld, lets_senders_wait_for_room_in_order) {
  fill();
  std::atomic<int> waiting{0};
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [this, &waiting, i] {
      Cargo mine{Live(100 + static_cast<int>(i))};
      ++waiting;
      EXPECT_EQ(gatherer.send_or_wait(mine), Delivery::kQueued);
    });
  }
  std::thread outside([this, &waiting] {
    Cargo mine{Live(200)};
    ++waiting;
    EXPECT_EQ(gatherer.send_or_wait(mine), Delivery::kQueued);
  });
  ASSERT_TRUE(support::eventually([&] { return waiting == 11; }));
  EXPECT_EQ(handled, 0);
  door.send(Door::Open{});
  outside.join();
  wait_for_idle();
  EXPECT_EQ(handled, kBound + 11);
  EXPECT_EQ(Live::alive(), 0);
}

TEST_P(BoundedAndHeld, lets_senders_wait_for_a_time) {
  fill();
  const auto check = [this] {
    Cargo mine{Live(7)};
    const auto start = support::Clock::now();
    EXPECT_EQ(gatherer.send_or_wait(mine, 10ms), Delivery::kFull);
    EXPECT_GE(support::Clock::now() - start, 10ms);
    EXPECT_EQ(mine.live.value(), 7) << "it is the sender's still";
  };
  check();
  support::Event done;
  runtime.spawn_with(on_core(1), [&] {
    check();
    done.set();
  });
  ASSERT_TRUE(done.wait());
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(handled, kBound) << "those who gave up have sent nothing";
  EXPECT_EQ(Live::alive(), 0);
}

TEST_P(BoundedAndHeld, tells_waiting_senders_when_the_actor_ends) {
  gatherer.send(Fail{});
  for (int i = 1; i < kBound; ++i) gatherer.send(Cargo{Live(i)});
  constexpr int kWaiting = 6;
  const auto before = runtime.stats().sent;
  const auto wait = [this] {
    Cargo mine{Live(7)};
    EXPECT_EQ(gatherer.send_or_wait(mine), Delivery::kGone);
    EXPECT_EQ(mine.live.value(), 7) << "it is the sender's still";
  };
  for (std::size_t i = 0; i < kWaiting - 1; ++i) runtime.spawn_with(on_core(i), wait);
  std::thread outside(wait);
  // Each waits in line; those that are actors were sent their start besides.
  ASSERT_TRUE(
      support::eventually([&] { return runtime.stats().sent == before + 2 * kWaiting - 1; }));
  door.send(Door::Open{});
  outside.join();
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(Live::alive(), 0);
}

// Producers that are faster than their consumer, each waiting for room: nothing is lost or
// overtaken.
TEST_P(Bounded, keeps_order_and_bound_for_senders_that_wait) {
  constexpr std::uint32_t kSenders = 8;
  constexpr std::uint32_t kMessages = 500;
  support::Tally tally;
  const auto receiver =
      runtime.spawn_with<support::NumberedReceiver>(bound(5), &tally, std::size_t{kSenders});
  std::vector<std::thread> threads;
  for (std::uint32_t sender = 0; sender < kSenders; ++sender) {
    const auto send = [receiver, sender] {
      for (std::uint32_t number = 0; number < kMessages; ++number) {
        support::Numbered message{sender, number};
        EXPECT_EQ(receiver.send_or_wait(message), Delivery::kQueued);
      }
    };
    if (sender < 2) {
      threads.emplace_back(send);
    } else {
      runtime.spawn_with(on_core(sender), send);
    }
  }
  for (std::thread& thread : threads) thread.join();
  wait_for_idle();
  EXPECT_EQ(tally.handled, kSenders * kMessages);
  EXPECT_EQ(tally.wrong, 0u);
}

TEST_P(Bounded, of_one_takes_one_at_a_time) {
  support::Tally tally;
  const auto receiver = runtime.spawn_with<support::NumberedReceiver>(bound(1), &tally, 1u);
  runtime.spawn_with(on_core(0), [receiver] {
    for (std::uint32_t number = 0; number < 300; ++number) {
      support::Numbered message{0, number};
      EXPECT_EQ(receiver.send_or_wait(message), Delivery::kQueued);
    }
  });
  wait_for_idle();
  EXPECT_EQ(tally.handled, 300u);
  EXPECT_EQ(tally.wrong, 0u);
}

// Places held by the messages of the dead are not lost to the next actor in their slot.
TEST_P(Bounded, mailboxes_of_later_actors_have_all_their_places) {
  class Sink {
   public:
    void receive(Cargo /*message*/) {}
    int receive(char /*message*/) { return 1; }
  };
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> target{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        const std::uint64_t word = target;
        const Address<Sink> sink(bulkhead::Pid(static_cast<std::uint32_t>(word),
                                               static_cast<std::uint32_t>(word >> 32)));
        sink.send(Cargo{Live(1)});
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    const auto sink = runtime.spawn_with<Sink>(bound(2));
    target = std::uint64_t{sink.pid().generation()} << 32 | sink.pid().index();
    for (int k = 0; k < 20; ++k) sink.send(Cargo{Live(2)});
    bulkhead::stop(sink);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  wait_for_idle();
  for (int i = 0; i < 50; ++i) {
    const auto door = runtime.spawn<Door>();
    std::atomic<int> handled{0};
    const auto gatherer = runtime.spawn_with<Gatherer>(bound(3), door, &handled);
    gatherer.send(Pass{});
    ASSERT_TRUE(
        support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 1u; }));
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(gatherer.send(Cargo{Live(k)}), Delivery::kQueued);
    }
    EXPECT_EQ(gatherer.send(Cargo{Live(3)}), Delivery::kFull);
    door.send(Door::Open{});
    wait_for_idle();
    bulkhead::stop(door);
    bulkhead::stop(gatherer);
  }
  wait_for_idle();
  EXPECT_EQ(Live::alive(), 0);
}

}  // namespace
