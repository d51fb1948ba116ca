// C7: mutexes between actors on any cores and threads outside: one holder, first come first served,
// a timeout always, let go when the holder ends.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::LockTimeout;
using bulkhead::Mutex;
using bulkhead::Pid;
using support::Clock;
using support::Event;
using support::eventually;
using support::kDeadline;
using support::Log;
using namespace std::chrono_literals;

class Mutexes : public support::Running {
 protected:
  /// An actor that holds the mutex until `let_go`.
  Pid hold(Mutex& mutex, const Event& let_go) {
    auto held = std::make_shared<Event>();
    const Pid pid = runtime.spawn_with(on_core(1), [&mutex, &let_go, held] {
      auto guard = mutex.lock();
      held->set();
      while (!let_go.happened()) this_actor::sleep_for(1ms);
    });
    EXPECT_TRUE(held->wait());
    return pid;
  }
  /// Actors that have started to wait are given time to be in the line. Only the tests of order
  /// need it, and they see a wrong order, at worst, as a right one.
  static void let_them_wait() { std::this_thread::sleep_for(20ms); }
};
ON_ONE_AND_SEVERAL_CORES(Mutexes);

TEST_P(Mutexes, one_at_a_time_holds_it_actors_and_threads_alike) {
  Mutex mutex;
  int inside = 0;
  long turns = 0;
  bool crowded = false;
  constexpr int kEach = 300 / support::kTimeFactor;
  const auto work = [&](auto pause) {
    for (int i = 0; i < kEach; ++i) {
      auto guard = mutex.lock_for(kDeadline);
      crowded |= ++inside != 1;
      if (i % 7 == 0) pause();
      ++turns;
      --inside;
    }
  };
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [&] { work([] { this_actor::yield(); }); });
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { work([] { std::this_thread::yield(); }); });
  }
  for (auto& thread : threads) thread.join();
  wait_for_idle();
  EXPECT_EQ(turns, 13 * kEach);
  EXPECT_FALSE(crowded);
}

TEST_P(Mutexes, who_came_first_is_served_first) {
  Mutex mutex;
  Event let_go;
  hold(mutex, let_go);
  Log<int> log;
  for (int i = 0; i < 10; ++i) {
    Event about_to;
    runtime.spawn_with(on_core(static_cast<std::size_t>(i)), [&mutex, &log, &about_to, i] {
      about_to.set();
      auto guard = mutex.lock();
      log.add(i);
    });
    ASSERT_TRUE(about_to.wait());
    let_them_wait();
  }
  let_go.set();
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(Mutexes, nobody_overtakes_who_waits) {
  Mutex mutex;
  Log<std::string> log;
  runtime.spawn_with(pinned_to(0), [&] {
    auto guard = mutex.lock();
    bulkhead::spawn_with(pinned_to(0), [&] {
      auto mine = mutex.lock();
      log.add("the one who waited");
    });
    this_actor::sleep_for(20ms);  // the other one has nothing to do but to wait
    guard.unlock();
    guard = mutex.lock();  // at once: but it is the other one's
    log.add("the one who was there before");
  });
  wait_for_idle();
  EXPECT_EQ(log.entries(),
            (std::vector<std::string>{"the one who waited", "the one who was there before"}));
}

TEST_P(Mutexes, a_lock_that_cannot_be_had_in_time_says_who_holds_it_and_how_long_was_waited) {
  Mutex mutex;
  Event let_go;
  const Pid holder = hold(mutex, let_go);
  std::string text;
  Pid named;
  const auto start = Clock::now();
  runtime.spawn([&] {
    try {
      auto guard = mutex.lock_for(50ms);
    } catch (const LockTimeout& error) {
      text = error.what();
      named = error.holder;
      EXPECT_GE(Clock::now() - start, 50ms);
      EXPECT_FALSE(mutex.try_lock());
      EXPECT_FALSE(mutex.try_lock_for(1ms));
    }
    let_go.set();
  });
  wait_for_idle();
  EXPECT_EQ(text, "bulkhead: a mutex could not be locked within 50 ms; it is held by actor " +
                      to_string(holder));
  EXPECT_EQ(named, holder);
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(Mutexes, a_holder_outside_is_named_as_such) {
  Mutex mutex;
  auto guard = mutex.lock();
  std::string text;
  runtime.spawn([&] {
    try {
      static_cast<void>(mutex.lock_for(1ms));
    } catch (const LockTimeout& error) {
      text = error.what();
      EXPECT_FALSE(error.holder);
    }
  });
  wait_for_idle();
  EXPECT_EQ(text,
            "bulkhead: a mutex could not be locked within 1 ms; it is held by a thread "
            "outside");
  guard.unlock();
}

TEST_P(Mutexes, who_gives_up_does_not_hold_those_up_who_wait_behind) {
  Mutex mutex;
  Event let_go;
  hold(mutex, let_go);
  std::atomic<int> gave_up{0};
  std::atomic<int> locked{0};
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&, i] {
      if (i % 2 == 0) {
        if (!mutex.try_lock_for(5ms)) ++gave_up;
      } else {
        auto guard = mutex.lock();
        ++locked;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return gave_up == 10; }));
  let_go.set();
  wait_for_idle();
  EXPECT_EQ(locked, 10);
}

TEST_P(Mutexes, it_is_let_go_when_its_holder_fails) {
  Mutex mutex;
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      auto guard = mutex.lock();
      this_actor::yield();
      bulkhead::panic("with the lock in hand");
    });
  }
  wait_for_idle();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_EQ(runtime.stats().actors_failed, 20u);
}

TEST_P(Mutexes, it_is_let_go_when_its_holder_is_ended_by_a_shutdown) {
  Mutex mutex;
  Event held;
  std::atomic<int> waiting{0};
  std::atomic<int> got_it{0};
  runtime.spawn([&] {
    auto guard = mutex.lock();
    held.set();
    this_actor::sleep_for(bulkhead::kForever);
  });
  ASSERT_TRUE(held.wait());
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      ++waiting;
      auto guard = mutex.lock_for(bulkhead::kForever);
      ++got_it;
      this_actor::sleep_for(bulkhead::kForever);
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 10; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_TRUE(mutex.try_lock());
}

// An actor's state, and what holds a guard in it, ends with the actor.
class Keeper {
 public:
  explicit Keeper(Mutex* mutex) : mutex_(mutex) {}
  struct Lock {
    using Answer = bool;
  };
  struct End {};
  bool receive(Lock /*message*/) {
    guard_.emplace(mutex_->lock());
    return true;
  }
  void receive(End /*message*/) { this_actor::stop(); }

 private:
  Mutex* mutex_;
  std::optional<Mutex::Guard> guard_;
};

TEST_P(Mutexes, a_guard_may_be_kept_from_message_to_message_and_ends_with_its_actor) {
  Mutex mutex;
  const auto keeper = runtime.spawn<Keeper>(&mutex);
  ASSERT_TRUE(keeper.ask(Keeper::Lock{}, kDeadline));
  std::atomic<bool> refused{false};
  runtime.spawn([&] { refused = !mutex.try_lock_for(5ms); });
  ASSERT_TRUE(eventually([&] { return refused.load(); }));
  keeper.send(Keeper::End{});
  wait_for_idle();
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(Mutexes, locking_twice_is_an_error_at_once) {
  Mutex mutex;
  const auto twice = [&] {
    auto guard = mutex.lock();
    EXPECT_THROW(static_cast<void>(mutex.lock()), std::logic_error);
    EXPECT_THROW(static_cast<void>(mutex.try_lock()), std::logic_error);
    EXPECT_THROW(static_cast<void>(mutex.try_lock_for(1h)), std::logic_error);
  };
  twice();
  runtime.spawn(twice);
  wait_for_idle();
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(Mutexes, bad_input_is_refused) {
  Mutex mutex;
  EXPECT_THROW(static_cast<void>(mutex.lock_for(-1ms)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(mutex.try_lock_for(-1ns)), std::invalid_argument);
  auto guard = mutex.lock();
  guard.unlock();
  EXPECT_FALSE(guard);
  EXPECT_THROW(guard.unlock(), std::logic_error);
  guard = mutex.lock();
  auto other = std::move(guard);
  EXPECT_THROW(guard.unlock(), std::logic_error);  // NOLINT(bugprone-use-after-move): that is it
  EXPECT_TRUE(other);
  static_assert(!std::is_copy_constructible_v<Mutex::Guard>);
  static_assert(!std::is_move_constructible_v<Mutex>);
}

TEST_P(Mutexes, who_waits_holds_no_core_up) {
  Mutex mutex;
  std::atomic<int> done{0};
  runtime.spawn_with(pinned_to(0), [&] {
    auto guard = mutex.lock();
    for (int i = 0; i < 100; ++i) {
      bulkhead::spawn_with(pinned_to(0), [&] {
        auto mine = mutex.lock();
        ++done;
      });
    }
    for (int i = 0; i < 100; ++i) this_actor::yield();
    EXPECT_EQ(done, 0);
  });
  wait_for_idle();
  EXPECT_EQ(done, 100);
}

// In its destructors, an actor that is ended waits for a lock like any other.
TEST_P(Mutexes, destructors_of_an_actor_that_is_ended_can_lock) {
  Mutex mutex;
  std::atomic<int> waiting{0};
  int locked = 0;
  struct Leaves {
    Mutex& mutex;
    int& locked;
    ~Leaves() {
      auto guard = mutex.lock();
      ++locked;
      this_actor::yield();
    }
  };
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      const Leaves leaves{mutex, locked};
      ++waiting;
      this_actor::sleep_for(bulkhead::kForever);
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 20; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_EQ(locked, 20);
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(Mutexes, actors_of_two_runtimes_share_one) {
  bulkhead::Runtime other(config());
  other.start();
  constexpr int kEach = 100 / support::kTimeFactor;
  Mutex mutex;
  long turns = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    (i % 2 == 0 ? runtime : other).spawn_with(on_core(i), [&] {
      for (int k = 0; k < kEach; ++k) {
        auto guard = mutex.lock();
        this_actor::yield();
        ++turns;
      }
    });
  }
  wait_for_idle();
  ASSERT_TRUE(other.wait_for_idle(kDeadline));
  EXPECT_EQ(turns, 10 * kEach);
}

TEST(MutexesEnd, one_that_is_held_aborts) {
  const auto ended = support::run_in_child([] {
    std::optional<Mutex::Guard> guard;
    Mutex mutex;  // ends before the guard
    guard.emplace(mutex.lock());
  });
  EXPECT_EQ(ended.signal, 6);
  EXPECT_NE(ended.errors.find("a Mutex was destroyed while a thread outside holds it"),
            std::string::npos)
      << ended.errors;
}

TEST(MutexesEnd, who_holds_it_is_named) {
  const auto ended = support::run_in_child([] {
    bulkhead::Runtime runtime;
    runtime.start();
    std::atomic<bool> held{false};
    Mutex mutex;  // ends before the runtime
    runtime.spawn([&] {
      const auto guard = mutex.lock();
      held = true;
      this_actor::sleep_for(1h);
    });
    EXPECT_TRUE(eventually([&] { return held.load(); }));
  });
  EXPECT_EQ(ended.signal, 6);
  EXPECT_NE(ended.errors.find("a Mutex was destroyed while actor <"), std::string::npos)
      << ended.errors;
  EXPECT_NE(ended.errors.find("Declare it before the Runtime"), std::string::npos);
}

}  // namespace
