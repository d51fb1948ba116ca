// A12, A19: hooks that cause what they are told of, block, or throw. What was wrong: a send to a
// dead actor in on_dead_letter called on_dead_letter until the stack overflowed; an ask in on_death
// blocked the core; nobody said which hook had thrown.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::DropCause;

struct Note {
  int number;
};
struct Sink {
  int receive(Note message) { return message.number; }
};

class HooksThatDrop : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(HooksThatDrop);

TEST_P(HooksThatDrop, are_not_told_of_it) {
  Address<Sink> dead;
  std::atomic<int> letters{0};
  bulkhead::Config with_hook = config();
  with_hook.on_dead_letter = [&](const bulkhead::DeadLetter& /*letter*/) {
    ++letters;
    dead.send(Note{1});
  };
  bulkhead::Runtime runtime(with_hook);
  runtime.start();
  dead = runtime.spawn<Sink>();
  bulkhead::stop(dead);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  for (int i = 0; i < 10; ++i) dead.send(Note{2});
  runtime.spawn([&] {
    for (int i = 0; i < 10; ++i) dead.send(Note{3});
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(letters, 20);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 40u) << "but all are counted";
}

// Whatever would block ends at once, in both hooks, whether an actor runs or not.
TEST_P(HooksThatDrop, cannot_block) {
  Address<Sink> sink;
  std::atomic<int> went_on{0};
  const auto block = [&] {
    const auto answer = sink.ask(Note{1}, 1h);
    if (!answer.has_value() && answer.error() == bulkhead::AskError::kStopped) ++went_on;
    this_actor::sleep_for(1h);
    this_actor::yield();
  };
  bulkhead::Config with_hooks = config();
  with_hooks.on_death = [&](const bulkhead::Death& /*death*/) { block(); };
  with_hooks.on_dead_letter = [&](const bulkhead::DeadLetter& /*letter*/) { block(); };
  bulkhead::Runtime runtime(with_hooks);
  runtime.start();
  sink = runtime.spawn_with<Sink>(on_core(1));
  runtime.spawn([] { Address<Sink>().send(Note{1}); });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(went_on, 2);
  EXPECT_EQ(sink.ask(Note{7}), 7);
}

// Who would wait for others in a message's destructor, where nobody may, goes on at once.
TEST(DroppedMessages, cannot_block_when_they_are_destroyed) {
  static std::atomic<int> went_on{0};
  struct Stubborn {
    Stubborn() = default;
    Stubborn(Stubborn&& other) noexcept : whole(std::exchange(other.whole, false)) {}
    ~Stubborn() {
      if (!whole) return;
      this_actor::sleep_for(1h);
      ++went_on;
    }
    bool whole = true;
  };
  struct Taker {
    void receive(Stubborn /*message*/) {}
  };
  bulkhead::Runtime runtime;
  runtime.start();
  runtime.spawn([] {
    const auto taker = bulkhead::spawn<Taker>();
    const auto timer = bulkhead::send_after(1h, taker, Stubborn());
    EXPECT_TRUE(bulkhead::cancel(timer));
    bulkhead::send_after(1h, taker, Stubborn());  // ends with this actor
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(went_on, 2);
}

TEST(HooksThatThrow, are_named) {
  const auto ended = support::run_in_child([] {
    bulkhead::Config config;
    config.on_death = [](const bulkhead::Death& /*death*/) {
      throw std::runtime_error("the hook is tired");
    };
    bulkhead::Runtime runtime(config);
    runtime.start();
    runtime.spawn([] {});
    runtime.wait_for_idle();
  });
  EXPECT_EQ(ended.signal, SIGABRT);
  EXPECT_NE(ended.errors.find("Config::on_death threw"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("the hook is tired"), std::string::npos) << ended.errors;
}

}  // namespace
