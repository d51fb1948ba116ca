// D3: whatever an actor that its core has left calls first, it comes home and goes on: the calls of
// green threads. (Those of all actors, and of the network, are in stuck_home.cpp.)
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stop_token.hpp>

#include <atomic>
#include <expected>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/log.hpp"
#include "support/stuck.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::ChannelError;
using bulkhead::Mailbox;
using bulkhead::on_message;
using bulkhead::on_receive;
using bulkhead::on_send;
using bulkhead::on_stop;
using bulkhead::when;
using support::Event;
using support::eventually;
using namespace std::chrono_literals;

class StuckCalls : public support::Stuck {
 protected:
  // In an actor on core 0 to its end, which it must reach.
  template <class Body>
  void to_the_end(Body body) {
    bool ended = false;
    in_actor([&] {
      body();
      ended = true;
    });
    EXPECT_TRUE(ended);
  }
};
ON_ONE_AND_SEVERAL_CORES(StuckCalls);

struct Number {
  int value;
};
struct Last {};
using Box = Mailbox<Number, Last>;

// D3, C7
TEST_P(StuckCalls, locks) {
  bulkhead::Mutex mutex;
  bulkhead::ConditionVariable changed;
  int turn = 0;  // under the mutex
  int counted = 0;
  const auto take_turns = [&](int mine) {
    for (int i = 0; i < 2; ++i) {
      be_left();
      auto guard = mutex.lock();
      be_left();
      changed.wait(guard, [&] { return turn % 2 == mine; });
      be_left();
      ++counted;
      ++turn;
      be_left();
      changed.notify_one();
      be_left();
      guard.unlock();
    }
  };
  auto other = runtime.spawn_joinable_with(on_core(1), [&] { take_turns(1); });
  to_the_end([&] { take_turns(0); });
  EXPECT_TRUE(other.join().has_value());
  EXPECT_EQ(counted, 4);
}

// D3, C7: it holds what it held, and is who it was.
TEST_P(StuckCalls, who_holds_a_mutex_is_known_after_all) {
  bulkhead::Mutex mutex;
  to_the_end([&] {
    const auto guard = mutex.lock();
    be_left();
    EXPECT_THROW(static_cast<void>(mutex.lock()), std::logic_error);
    be_left();
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  });
  EXPECT_TRUE(mutex.try_lock());
}

// D3, C7
TEST_P(StuckCalls, semaphores_and_groups) {
  bulkhead::Semaphore free(1);
  bulkhead::WaitGroup all(2);
  std::atomic<int> inside{0};
  const auto work = [&] {
    be_left();
    free.acquire();
    EXPECT_EQ(++inside, 1);
    be_left();
    --inside;
    free.release();
    be_left();
    all.done();
  };
  auto other = runtime.spawn_joinable_with(on_core(1), work);
  to_the_end([&] {
    work();
    be_left();
    all.wait();
    be_left();
    EXPECT_TRUE(free.try_acquire());
  });
  EXPECT_TRUE(other.join().has_value());
}

// D3, C6: values arrive once, in order, by whichever way.
TEST_P(StuckCalls, channels) {
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    auto [sender, receiver] = bulkhead::make_channel<int>(capacity);
    auto feeder = runtime.spawn_joinable_with(on_core(1), [&, sender = std::move(sender)] {
      for (int i = 0; i < 4; ++i) {
        be_left();
        EXPECT_TRUE(sender.send(i).has_value());
      }
      be_left();
    });
    std::vector<int> seen;
    to_the_end([&, &receiver = receiver] {
      for (bool open = true; open;) {
        be_left();
        const auto value = receiver.recv();
        open = value.has_value();
        if (open) seen.push_back(*value);
      }
      be_left();
      EXPECT_EQ(receiver.try_recv(), std::unexpected(ChannelError::kClosed));
      be_left();
      receiver = {};
    });
    EXPECT_TRUE(feeder.join().has_value());
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3})) << "capacity " << capacity;
  }
}

// D3, C6
TEST_P(StuckCalls, selects) {
  auto [sender, receiver] = bulkhead::make_channel<int>(1);
  support::Log<std::string> log;
  const auto body = [&, &sender = sender, &receiver = receiver](Box& mailbox) {
    int value = 7;
    for (bool stopped = false; !stopped;) {
      be_left();
      const auto stop = [&] {
        be_left();
        log.add("stop");
        stopped = true;
      };
      const auto message = [&](Number number) {
        be_left();
        log.add("message " + std::to_string(number.value));
      };
      const auto receive = [&](auto got) { log.add("value " + std::to_string(*got)); };
      bulkhead::select(on_stop(stop), on_message(mailbox, message), on_receive(receiver, receive));
      if (stopped) break;
      be_left();
      const auto sent = bulkhead::select_for(1ms, on_send(sender, value, [](auto) {}));
      EXPECT_TRUE(sent.has_value());
    }
  };
  auto box = runtime.spawn_with<Box>(on_core(0), body);
  ASSERT_EQ(box.send(Number{1}), bulkhead::Delivery::kQueued);
  ASSERT_TRUE(eventually([&] { return log.size() >= 3; }));  // it sends itself values from then on
  ASSERT_EQ(bulkhead::request_stop(box.pid()), bulkhead::Delivery::kQueued);
  EXPECT_TRUE(eventually([&] { return log.entries().back() == "stop"; }));
  runtime.shutdown(bulkhead::kForever);
  const auto said = log.entries();
  EXPECT_EQ(said.front(), "message 1");
  EXPECT_EQ(said[1], "value 7");
}

// D3, C2: while it looks at its messages, and while it leaves some.
TEST_P(StuckCalls, mailboxes) {
  std::vector<int> seen;
  Event left_one;
  const auto box = runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
    be_left();
    const auto is_two = [&](const Number& number) {
      if (number.value != 2) left_one.set();
      return number.value == 2;
    };
    mailbox.next(when(is_two, [&](Number number) { seen.push_back(number.value); }));
    be_left();
    seen.push_back(mailbox.next<Number>().value);
    be_left();
    EXPECT_FALSE(mailbox.next_for<Number>(0s).has_value());
    be_left();
    mailbox.next([](Last) {});
    be_left();
  });
  box.send(Number{1});
  EXPECT_TRUE(left_one.wait());
  box.send(Number{2});
  box.send(Last{});
  wait_for_idle();
  EXPECT_EQ(seen, (std::vector<int>{2, 1}));
}

// D3, C4, C7
TEST_P(StuckCalls, joins_and_scopes) {
  to_the_end([&] {
    be_left();
    auto joined = bulkhead::spawn_joinable([&] {
      be_left();
      return 3;
    });
    be_left();
    EXPECT_EQ(*joined.join(), 3);
    std::atomic<int> children{0};
    {
      bulkhead::CancellationScope scope;
      be_left();
      for (int i = 0; i < 2; ++i) {
        scope.spawn([&] {
          be_left();
          ++children;
        });
      }
      be_left();
    }
    EXPECT_EQ(children, 2);
    {
      be_left();
      bulkhead::CancellationScope scope;
      scope.spawn([] { this_actor::sleep_for(1h); });
      be_left();
      scope.cancel();
      be_left();
    }
  });
}

// D3, C11
TEST_P(StuckCalls, requests_to_stop) {
  Event begun;
  bool unwound = false;
  const auto stray = runtime.spawn_with(on_core(0), [&] {
    struct Frame {
      bool& gone;
      ~Frame() { gone = true; }
    } frame{unwound};
    const auto token = this_actor::stop_token();
    begun.set();
    be_left();
    while (!token.stop_requested()) this_actor::yield();
    this_actor::sleep_for(1h);
  });
  ASSERT_TRUE(begun.wait());
  to_the_end([&] {
    be_left();
    EXPECT_EQ(bulkhead::request_stop(stray), bulkhead::Delivery::kQueued);
  });
  wait_for_idle();
  EXPECT_TRUE(unwound);
}

// D3, C8
TEST_P(StuckCalls, blocking_calls_and_files) {
  to_the_end([&] {
    be_left();
    EXPECT_EQ(bulkhead::blocking([] { return 4; }), 4);
    be_left();
    EXPECT_FALSE(bulkhead::io::File::open("/nowhere/at/all").has_value());
  });
}

// D3, C10
TEST_P(StuckCalls, looks) {
  to_the_end([&] {
    be_left();
    bulkhead::check();
    be_left();
    { const bulkhead::NoPreempt here; }
    be_left();
    this_actor::yield();
  });
}

// D3, C10: what must not be interrupted is not left behind either.
TEST_P(StuckCalls, who_is_in_no_preempt_keeps_its_core) {
  Event go;
  std::atomic<bool> other_ran{false};
  std::atomic<bool> early{false};
  Event inside;
  runtime.spawn_with(pinned_to(0), [&] {
    const bulkhead::NoPreempt here;
    inside.set();
    go.wait();
    early = other_ran.load();
  });
  ASSERT_TRUE(inside.wait());
  runtime.spawn_with(pinned_to(0), [&] { other_ran = true; });
  std::this_thread::sleep_for(50ms);
  go.set();
  wait_for_idle();
  EXPECT_FALSE(early);
  EXPECT_TRUE(other_ran);
}

}  // namespace
