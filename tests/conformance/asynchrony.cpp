// A9: a send never runs the handler of its message before it returns. A3: nor does it leave its
// core.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

class Asynchrony : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Asynchrony);

struct Ping {
  int number;
};

// Is a send of this thread under way?
thread_local bool sending = false;

class Receiver {
 public:
  Receiver(std::atomic<int>* handled, std::atomic<int>* inside)
      : handled_(handled), inside_(inside) {}
  void receive(Ping ping) {
    if (sending) ++*inside_;
    last_ = ping.number;
    ++*handled_;
  }
  int receive(char /*message*/) { return last_; }

 private:
  std::atomic<int>* handled_;
  std::atomic<int>* inside_;
  int last_ = -1;
};

// A9: with one actor in the runtime, and in a fresh one.
TEST_P(Asynchrony, a_send_from_outside_does_not_run_the_handler_on_the_callers_thread) {
  std::atomic<int> handled{0};
  std::atomic<int> inside{0};
  const auto receiver = runtime.spawn<Receiver>(&handled, &inside);
  for (int i = 0; i < 1000; ++i) {
    sending = true;
    receiver.send(Ping{i});
    sending = false;
  }
  wait_for_idle();
  EXPECT_EQ(handled, 1000);
  EXPECT_EQ(inside, 0);
}

// A9
TEST_P(Asynchrony, a_send_in_a_handler_returns_before_the_message_is_handled) {
  std::atomic<int> handled{0};
  std::atomic<int> inside{0};
  std::atomic<int> early{0};
  runtime.spawn_with(pinned_to(0), [&] {
    bulkhead::SpawnOptions pinned;
    pinned.pinned = true;
    const auto receiver = bulkhead::spawn_with<Receiver>(pinned, &handled, &inside);
    for (int i = 0; i < 100; ++i) {
      const int before = handled;
      sending = true;
      receiver.send(Ping{i});
      sending = false;
      if (handled != before) ++early;
    }
    early += handled;
  });
  wait_for_idle();
  EXPECT_EQ(handled, 100);
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(early, 0) << "nothing is handled on this core before its sender's handler ends";
}

// A9
TEST_P(Asynchrony, an_actor_that_sends_to_itself_handles_it_after_this_handler) {
  class Self {
   public:
    explicit Self(support::Log<int>* log) : log_(log) {}
    void receive(Ping ping) {
      log_->add(ping.number);
      if (ping.number < 3) this_actor::address(this).send(Ping{ping.number + 1});
      log_->add(-ping.number);
    }

   private:
    support::Log<int>* log_;
  };
  support::Log<int> log;
  runtime.spawn<Self>(&log).send(Ping{1});
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<int>{1, -1, 2, -2, 3, -3}));
}

// A9
TEST_P(Asynchrony, a_spawn_returns_before_the_child_starts) {
  std::atomic<bool> started{false};
  std::atomic<bool> early{false};
  runtime.spawn([&] {
    bulkhead::SpawnOptions pinned;
    pinned.pinned = true;
    bulkhead::spawn_with(pinned, [&] { started = true; });
    early = started.load();
  });
  wait_for_idle();
  EXPECT_TRUE(started);
  EXPECT_FALSE(cores() == 1 && early);
}

// A3: what stays on a core wakes no other, and moves nobody.
TEST_P(Asynchrony, messages_of_one_core_do_not_concern_the_others) {
  std::atomic<int> handled{0};
  std::atomic<int> inside{0};
  wait_for_idle();
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().slept >= cores(); }));
  const auto before = runtime.stats();
  runtime.spawn_with(pinned_to(0), [&] {
    bulkhead::SpawnOptions pinned;
    pinned.pinned = true;
    const auto receiver = bulkhead::spawn_with<Receiver>(pinned, &handled, &inside);
    for (int i = 0; i < 10'000; ++i) {
      receiver.send(Ping{i});
      if (i % 100 == 0) this_actor::yield();
    }
  });
  wait_for_idle();
  EXPECT_EQ(handled, 10'000);
  const auto after = runtime.stats();
  EXPECT_EQ(after.moved, before.moved);
  EXPECT_LE(after.slept - before.slept, 3u) << "only core 0 woke, and went back to sleep";
}

}  // namespace
