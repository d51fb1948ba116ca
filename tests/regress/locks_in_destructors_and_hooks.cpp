// C7, C11: locks where an actor cannot be unwound, or nothing may wait. What was wrong: who waited
// in the destructor of a local object while its actor was to end spun for ever, and so did a hook.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using namespace std::chrono_literals;

class LocksInDestructors : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(LocksInDestructors);

TEST_P(LocksInDestructors, are_waited_for_although_the_actor_is_to_end) {
  bulkhead::Mutex mutex;
  bulkhead::WaitGroup group(1);
  std::atomic<bool> held{false};
  std::atomic<bool> waits{false};
  std::atomic<bool> go{false};
  std::atomic<int> done{0};
  auto holder = runtime.spawn_joinable_with(on_core(0), [&] {
    {
      const auto guard = mutex.lock();
      held = true;
      while (!go) this_actor::sleep_for(100us);
    }
    group.done();
  });
  EXPECT_TRUE(support::eventually([&] { return held.load(); }));
  struct Goodbye {
    bulkhead::Mutex& mutex;
    bulkhead::WaitGroup& group;
    std::atomic<bool>& waits;
    std::atomic<int>& done;
    ~Goodbye() {
      waits = true;
      const auto guard = mutex.lock();
      ++done;
      group.wait();
      ++done;
    }
  };
  auto leaver = runtime.spawn_joinable_with(on_core(1), [&] {
    { const Goodbye goodbye{mutex, group, waits, done}; }
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  bulkhead::request_stop(leaver.pid());
  auto later = runtime.spawn_joinable_with(on_core(1), [] { this_actor::sleep_for(2ms); });
  EXPECT_TRUE(later.join().has_value()) << "its core is not held up";
  EXPECT_EQ(done, 0);
  go = true;
  EXPECT_EQ(leaver.join().error(), Exit::stopped());
  EXPECT_EQ(done, 2);
  EXPECT_TRUE(holder.join().has_value());
}

// A scope's end waits for its children: where that cannot be, there are no scopes.
TEST_P(LocksInDestructors, of_messages_that_are_dropped_there_are_no_scopes) {
  static std::atomic<int> refused;
  refused = 0;
  struct Message {
    Message() = default;
    Message(Message&& other) noexcept : whole(std::exchange(other.whole, false)) {}
    ~Message() {
      if (!whole) return;
      try {
        bulkhead::CancellationScope scope;
      } catch (const std::logic_error&) {
        ++refused;
      }
    }
    bool whole = true;
  };
  struct Taker {
    void receive(Message /*message*/) {}
  };
  const auto taker = runtime.spawn_with<Taker>(on_core(1));
  auto dropper = runtime.spawn_joinable_with(on_core(0), [taker] {
    EXPECT_TRUE(bulkhead::cancel(bulkhead::send_after(1h, taker, Message())));
  });
  EXPECT_TRUE(dropper.join().has_value());
  EXPECT_EQ(refused, 1);
}

class LocksInHooks : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(LocksInHooks);

TEST_P(LocksInHooks, are_had_at_once_or_refused) {
  bulkhead::Mutex mutex;
  bulkhead::Semaphore semaphore(0);
  bulkhead::WaitGroup group(1);
  std::atomic<bool> held{false};
  std::atomic<bool> go{false};
  std::atomic<int> refused{0};
  std::atomic<int> tried{0};
  bulkhead::Config with_hook = config();
  with_hook.on_death = [&](const bulkhead::Death& /*death*/) {
    if (!held || go) return;
    const auto expect_refused = [&](auto call) {
      try {
        call();
      } catch (const std::logic_error&) {
        ++refused;
      }
    };
    expect_refused([&] { static_cast<void>(mutex.lock()); });
    expect_refused([&] { semaphore.acquire(); });
    expect_refused([&] { group.wait(); });
    if (!mutex.try_lock()) ++tried;
  };
  bulkhead::Runtime runtime(with_hook);
  runtime.start();
  auto holder = runtime.spawn_joinable_with(on_core(0), [&] {
    const auto guard = mutex.lock();
    held = true;
    while (!go) this_actor::sleep_for(100us);
  });
  EXPECT_TRUE(support::eventually([&] { return held.load(); }));
  auto short_lived = runtime.spawn_joinable_with(on_core(1), [] {});
  EXPECT_TRUE(short_lived.join().has_value());
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(tried, 1);
  go = true;
  EXPECT_TRUE(holder.join().has_value());
}

}  // namespace
