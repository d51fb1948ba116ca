// C6: actors that end while they wait at a channel: nothing of them is left there, and no value is
// lost.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using bulkhead::ChannelError;
using bulkhead::make_channel;
using bulkhead::Receiver;
using bulkhead::Sender;
using support::Live;
using support::Log;
using namespace std::chrono_literals;

class EndedAtChannels : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(EndedAtChannels);

// The runtime ends, and with it those who wait; nothing of them is left at the channels.
TEST_P(EndedAtChannels, a_shutdown_leaves_nobody_waiting) {
  const long before = Live::values();
  auto [sender, receiver] = make_channel<Live>(1);
  auto [to_nobody, nobody] = make_channel<Live>(0);
  std::atomic<int> begun{0};
  std::atomic<int> unwound{0};
  struct Unwound {
    std::atomic<int>* count;
    ~Unwound() { ++*count; }
  };
  {
    bulkhead::Runtime runtime(config());
    runtime.start();
    for (std::size_t i = 0; i < 10; ++i) {
      runtime.spawn_with(on_core(i), [receiver = receiver, &begun, &unwound] {
        const Unwound mark{&unwound};
        ++begun;
        static_cast<void>(receiver.recv());
      });
      runtime.spawn_with(on_core(i), [sender = to_nobody, &begun, &unwound] {
        const Unwound mark{&unwound};
        ++begun;
        Live value(3);
        static_cast<void>(sender.send_for(value, 1h));
      });
    }
    ASSERT_TRUE(support::eventually([&] { return begun == 20; }));
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  }
  EXPECT_EQ(unwound, 20);
  EXPECT_EQ(nobody.try_recv().error(), ChannelError::kEmpty);
  Live value(1);
  EXPECT_TRUE(sender.try_send(value).has_value());
  EXPECT_EQ(receiver.try_recv()->value(), 1);
  EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
  EXPECT_EQ(Live::values(), before) << "and `value` has been moved from";
}

// A value has been handed to an actor that does not live to take it.
TEST_P(EndedAtChannels, a_value_for_one_who_is_unwound_goes_back_to_the_front) {
  const long before = Live::values();
  int unwound = 0;
  for (int round = 0; round < 20; ++round) {
    auto [sender, receiver] = make_channel<Live>(static_cast<std::size_t>(round % 2));
    std::atomic<bool> taken{false};
    support::Event holds;
    support::Event handed_over;
    {
      bulkhead::Runtime runtime(config());
      runtime.start();
      support::Event begun;
      runtime.spawn_with(pinned_to(0), [receiver = receiver, &begun, &taken] {
        begun.set();
        if (receiver.recv()) taken = true;
      });
      ASSERT_TRUE(begun.wait());
      // Runs when the other one waits: they have one core.
      runtime.spawn_with(pinned_to(0), [&] {
        holds.set();
        handed_over.wait();
        support::burn(10ms);  // meanwhile the shutdown begins
      });
      ASSERT_TRUE(holds.wait());
      Live value(1);
      ASSERT_TRUE(sender.try_send(value).has_value()) << "somebody waits for it";
      if (round % 2 == 1) {
        Live second(2);
        ASSERT_TRUE(sender.try_send(second).has_value());
      }
      handed_over.set();
      static_cast<void>(support::stderr_of([&] { runtime.shutdown(0ms); }));
    }
    if (!taken) {
      ++unwound;
      const auto back = receiver.try_recv();
      ASSERT_TRUE(back.has_value());
      EXPECT_EQ(back->value(), 1);
    }
    if (round % 2 == 1) {
      const auto second = receiver.try_recv();
      ASSERT_TRUE(second.has_value());
      EXPECT_EQ(second->value(), 2);
    }
    EXPECT_EQ(receiver.try_recv().error(), ChannelError::kEmpty);
  }
  EXPECT_GT(unwound, 0);
  EXPECT_EQ(Live::values(), before);
}

// Where nothing can wait, nothing does.
TEST_P(EndedAtChannels, a_destructor_of_an_actor_that_is_unwound_does_not_wait) {
  auto [sender, receiver] = make_channel<int>(0);
  Log<ChannelError> log;
  struct Last {
    Receiver<int> receiver;
    Sender<int> sender;
    Log<ChannelError>* log;
    ~Last() {
      int value = 1;
      log->add(receiver.recv().error());
      log->add(sender.send_for(value, 1h).error());
    }
  };
  class Idle {
   public:
    Idle(Receiver<int> from, Sender<int> to, Log<ChannelError>* log)
        : last_{std::move(from), std::move(to), log} {}
    void receive(int /*message*/) { static_cast<void>(last_.receiver.recv()); }

   private:
    Last last_;
  };
  {
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn_with<Idle>(on_core(1), receiver, sender, &log).send(1);
    std::this_thread::sleep_for(2ms);
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  }
  EXPECT_EQ(log.entries(), (std::vector{ChannelError::kStopped, ChannelError::kStopped}));
}

}  // namespace
