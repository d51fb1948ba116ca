// A12, A23: a message's own code runs between the look at the receiver and the hand-over of the
// message. What was wrong: the receiver could end meanwhile, and its slot be on its way to another
// core, or serve a thread outside that asks; the hand-over then crashed, or went to whoever had the
// slot.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::SpawnOptions;
using support::Live;
using namespace std::chrono_literals;

// What happens when the next message is moved into its place.
std::function<void()> meanwhile;  // NOLINT: set by the one test that runs

struct Slow {
  Live live{1};
  Slow() = default;
  Slow(Slow&& other) : live(std::move(other.live)) {
    if (const auto what = std::exchange(meanwhile, nullptr)) what();
  }
};

class Receiver {
 public:
  explicit Receiver(std::atomic<int>* handled) : handled_(handled) {}
  void receive(Slow /*message*/) { ++*handled_; }
  int receive(char /*message*/) { return 1; }

 private:
  std::atomic<int>* handled_;
};

class SlotTakenDuringASend : public support::OnCores {
 protected:
  // So few that the slots of the dead do not stay with their cores.
  static bulkhead::Config few() {
    bulkhead::Config config = support::OnCores::config();
    config.max_actors = 8;
    return config;
  }
  SlotTakenDuringASend() : runtime(few()) { runtime.start(); }

  void end(Address<Receiver> receiver) {
    const auto before = runtime.stats().actors_ended;
    bulkhead::stop(receiver);
    EXPECT_TRUE(support::eventually([&] { return runtime.stats().actors_ended > before; }));
  }

  // Sends from a core, and from outside, while the receiver on another core ends and `then`
  // happens.
  void send_meanwhile(const std::function<void()>& then) {
    for (const bool outside : {true, false}) {
      // Pinned, or it would come over to the core that is held up by its sender.
      const auto receiver = runtime.spawn_with<Receiver>(pinned_to(1), &handled);
      const auto act = [&] {
        end(receiver);
        then();
      };
      if (outside || cores() == 1) {
        meanwhile = act;
        receiver.send(Slow());
      } else {
        support::Event done;
        runtime.spawn_with(pinned_to(0), [&] {
          meanwhile = act;
          receiver.send(Slow());
          done.set();
        });
        ASSERT_TRUE(done.wait());
      }
      ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
      EXPECT_EQ(handled, 0);
      EXPECT_EQ(Live::alive(), 0);
    }
  }

  std::atomic<int> handled{0};
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(SlotTakenDuringASend);

TEST_P(SlotTakenDuringASend, by_nobody) {
  send_meanwhile([] {});
}

TEST_P(SlotTakenDuringASend, by_a_new_actor) {
  send_meanwhile([this] {
    std::vector<Address<Receiver>> others;
    try {
      for (int i = 0; i < 4; ++i) {
        others.push_back(runtime.spawn_with<Receiver>(pinned_to(1), &handled));
      }
    } catch (const bulkhead::SpawnError&) {  // cores keep some slots for their next spawns
    }
    EXPECT_FALSE(others.empty());
    for (const auto& other : others) end(other);
  });
}

TEST_P(SlotTakenDuringASend, by_threads_outside_that_ask) {
  SpawnOptions own;
  own.own_thread = true;
  const auto answerer = runtime.spawn_with<Receiver>(own, &handled);
  send_meanwhile([&] {
    std::atomic<int> asked{0};
    std::vector<std::thread> askers;
    for (int i = 0; i < 12; ++i) {
      askers.emplace_back([&] {
        EXPECT_EQ(answerer.ask('?', support::kDeadline), 1);
        ++asked;
        EXPECT_TRUE(support::eventually([&] { return asked == 12; }));
      });
    }
    for (std::thread& asker : askers) asker.join();
  });
}

// A message that cannot be moved after all gives its place in a bounded mailbox back; what was
// wrong: to the next actor of the same slot, which had never given one, and was full from then on.
TEST_P(SlotTakenDuringASend, and_then_the_message_fails) {
  SpawnOptions bounded = pinned_to(1);
  bounded.mailbox_bound = 3;
  for (int round = 0; round < 3; ++round) {
    const auto receiver = runtime.spawn_with<Receiver>(bounded, &handled);
    std::vector<Address<Receiver>> later;
    meanwhile = [&] {
      end(receiver);
      for (int i = 0; i < 4; ++i) {
        later.push_back(runtime.spawn_with<Receiver>(bounded, &handled));
      }
      throw std::runtime_error("not moved");
    };
    Slow slow;
    EXPECT_THROW(static_cast<void>(receiver.try_send(slow)), std::runtime_error);
    for (const auto& each : later) {
      EXPECT_EQ(each.ask('?', support::kDeadline), 1);
      EXPECT_EQ(each.send(Slow()), bulkhead::Delivery::kQueued);
      end(each);
    }
  }
  EXPECT_EQ(handled, 12);
}

}  // namespace
