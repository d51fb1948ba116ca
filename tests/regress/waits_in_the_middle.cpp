// A12, A19: what the user's code does where the runtime is in the middle of something. What
// was wrong: a message's move constructor that sent or waited, and a hook that sent much, used up
// the stack that an ask had set aside (a crash); the destructor of a message that was being
// dropped, and a hook, ended the process when they waited, or blocked a core for good.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <thread>
#include <utility>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using namespace std::chrono_literals;

struct Note {
  long words[4];
};
struct Sink {
  void receive(Note /*message*/) {}
  int receive(int number) { return number; }
};

enum class Deed { kNothing, kSendMuch, kAsk, kSleep, kYield };

Address<Sink> sink;
std::atomic<int> waits{0};
std::atomic<int> stopped{0};

void act(Deed deed) {
  switch (deed) {
    case Deed::kNothing:
      return;
    case Deed::kSendMuch:
      for (int i = 0; i < 20'000; ++i) sink.send(Note{});
      return;
    case Deed::kAsk: {
      const auto answer = sink.ask(7, 10s);
      if (!answer && answer.error() == AskError::kStopped) ++stopped;
      break;
    }
    case Deed::kSleep:
      this_actor::sleep_for(1h);
      break;
    case Deed::kYield:
      this_actor::yield();
      break;
  }
  ++waits;
}

class WaitsInTheMiddle : public support::OnCores {
 protected:
  WaitsInTheMiddle() : runtime(with_hooks()) {
    runtime.start();
    sink = runtime.spawn<Sink>();
    waits = 0;
    stopped = 0;
  }
  bulkhead::Config with_hooks() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& /*death*/) { act(of_hooks); };
    config.on_dead_letter = [this](const bulkhead::DeadLetter& /*letter*/) { act(of_hooks); };
    return config;
  }

  std::atomic<Deed> of_hooks{Deed::kNothing};
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(WaitsInTheMiddle);

template <Deed kDeed>
struct Moving {
  int number;
  explicit Moving(int value) : number(value) {}
  Moving(Moving&& other) : number(other.number) {
    if (bulkhead::in_actor()) act(kDeed);
  }
};
struct Receiver {
  int receive(Moving<Deed::kSendMuch> message) { return message.number; }
  int receive(Moving<Deed::kAsk> message) { return message.number; }
  int receive(Moving<Deed::kYield> message) { return message.number; }
};

TEST_P(WaitsInTheMiddle, a_move_constructor_may_send_and_wait_in_an_ask) {
  const auto receiver = runtime.spawn_with<Receiver>(on_core(1));
  std::atomic<int> answers{0};
  runtime.spawn([&] {
    for (int i = 0; i < 3; ++i) {
      answers += receiver.ask(Moving<Deed::kSendMuch>(7)).value_or(0);
      answers += receiver.ask(Moving<Deed::kAsk>(7)).value_or(0);
      answers += receiver.ask(Moving<Deed::kYield>(7)).value_or(0);
    }
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(answers, 63);
  EXPECT_EQ(stopped, 0);
}

struct Parting {
  Deed deed;
  explicit Parting(Deed what) : deed(what) {}
  Parting(Parting&& other) noexcept : deed(std::exchange(other.deed, Deed::kNothing)) {}
  ~Parting() { act(deed); }
};
struct Leaver {
  void receive(Parting /*message*/) {}
  void receive(int /*message*/) { this_actor::stop(); }
};

TEST_P(WaitsInTheMiddle, end_at_once_in_the_destructor_of_a_message_that_is_dropped) {
  for (const Deed deed : {Deed::kAsk, Deed::kSleep, Deed::kYield}) {
    waits = 0;
    // Behind a stop, in a timer that fires and finds nobody, in one that is cancelled, and in one
    // that ends with its actor.
    const auto leaver = runtime.spawn_with<Leaver>(on_core(1));
    runtime.spawn([leaver, deed] {
      leaver.send(1);
      leaver.send(Parting(deed));
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(waits, 1);
    runtime.spawn([leaver, deed] {
      bulkhead::send_after(1ms, leaver, Parting(deed));
      this_actor::sleep_for(10ms);
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(waits, 2);
    runtime.spawn(
        [leaver, deed] { bulkhead::cancel(bulkhead::send_after(1h, leaver, Parting(deed))); });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(waits, 3);
    runtime.spawn([leaver, deed] { bulkhead::send_after(1h, leaver, Parting(deed)); });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(waits, 4);
  }
  EXPECT_EQ(stopped, 4);
}

TEST_P(WaitsInTheMiddle, end_at_once_in_hooks) {
  for (const Deed deed : {Deed::kAsk, Deed::kSleep, Deed::kYield, Deed::kSendMuch}) {
    waits = 0;
    of_hooks = deed;
    const auto leaver = runtime.spawn_with<Leaver>(on_core(1));
    runtime.spawn([leaver] {
      leaver.send(1);
      leaver.send(2);
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    of_hooks = Deed::kNothing;
    EXPECT_EQ(waits, deed == Deed::kSendMuch ? 0 : 3);  // two deaths and a dead letter
  }
  EXPECT_EQ(stopped, 3);
}

// A straggler for an earlier actor in the slot is found, and dropped, in the middle of an ask.
struct Straggler {
  static inline std::atomic<int> stage{0};
  static void wait_for(int wanted) {
    while (stage.load() < wanted) std::this_thread::yield();
  }
  bool slow;
  explicit Straggler(bool is_slow) : slow(is_slow) {}
  Straggler(Straggler&& other) noexcept : slow(other.slow) {
    if (!slow || stage != 0) return;
    stage = 1;
    wait_for(2);
  }
};
struct Asked {
  void receive(Straggler /*message*/) {}
  int receive(int number) { return number; }
};

TEST_P(WaitsInTheMiddle, a_hook_may_send_much_in_the_middle_of_an_ask) {
  Straggler::stage = 0;
  const auto first = runtime.spawn_with<Asked>(pinned_to(0));
  std::thread outside([first] {
    first.send(Straggler(true));
    Straggler::stage = 3;
  });
  Straggler::wait_for(1);
  bulkhead::stop(first);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  std::atomic<int> answer{0};
  std::atomic<bool> same{false};
  runtime.spawn_with(pinned_to(0), [&] {
    const auto second = bulkhead::spawn<Asked>();
    same = second.pid().index() == first.pid().index();
    {
      const bulkhead::NoPreempt holds_the_core;
      Straggler::stage = 2;
      Straggler::wait_for(3);
    }
    of_hooks = Deed::kSendMuch;
    answer = second.ask(7).value_or(0);
    of_hooks = Deed::kNothing;
  });
  outside.join();
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_TRUE(same);
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 1u);
}

}  // namespace
