// A18: how a runtime ends its actors.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using support::Clock;
using support::Door;
using support::Live;
using namespace std::chrono_literals;

class Shutdown : public support::OnCores {
 protected:
  Shutdown() : threads_before(support::threads()), runtime(with_hook()) { runtime.start(); }

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { exits.add(death.exit.kind()); };
    return config;
  }

  // With no patience, so that those who are blocked for ever do not hold the test up.
  void shut_down() {
    said = support::stderr_of([this] { runtime.shutdown(0s); });
    EXPECT_EQ(runtime.stats().actors(), 0u);
    EXPECT_EQ(support::threads(), threads_before);
  }

  [[nodiscard]] long count(Exit::Kind kind) const {
    return std::ranges::count(exits.entries(), kind);
  }

  std::size_t threads_before;
  support::Log<Exit::Kind> exits;
  std::string said;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(Shutdown);

// A18
TEST_P(Shutdown, ends_idle_actors_with_their_destructors) {
  class Holder {
   public:
    void receive(int /*message*/) {}

   private:
    Live live_{1};
  };
  for (std::size_t i = 0; i < 100; ++i) runtime.spawn_with<Holder>(on_core(i));
  shut_down();
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(count(Exit::Kind::kShutdown), 100);
  EXPECT_EQ(said, "");
}

// A18
TEST_P(Shutdown, unwinds_blocked_actors_with_the_destructors_of_their_frames) {
  const auto door = runtime.spawn<Door>();
  for (std::size_t i = 0; i < 30; ++i) {
    runtime.spawn_with(on_core(i), [door] {
      const Live mine(1);
      static_cast<void>(door.ask(Door::Pass{}, bulkhead::kForever));
      ADD_FAILURE() << "went on after the shutdown";
    });
    runtime.spawn_with(on_core(i), [] {
      const Live mine(1);
      this_actor::sleep_for(bulkhead::kForever);
      ADD_FAILURE() << "went on after the shutdown";
    });
  }
  ASSERT_TRUE(support::eventually([] { return Live::alive() == 60; }));
  shut_down();
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(count(Exit::Kind::kShutdown), 61);
}

// A18
TEST_P(Shutdown, names_those_who_are_left_when_its_patience_is_at_an_end) {
  struct Stubborn {
    void receive(int /*message*/) { this_actor::sleep_for(bulkhead::kForever); }
  };
  const auto stubborn = runtime.spawn_with<Stubborn>(on_core(1));
  stubborn.send(1);
  stubborn.send(2);
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().sent == 2; }));
  const auto start = Clock::now();
  said = support::stderr_of([this] { runtime.shutdown(50ms); });
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_NE(said.find("Stubborn"), std::string::npos) << said;
  EXPECT_NE(said.find(to_string(stubborn.pid())), std::string::npos) << said;
}

// A18: who is at work on a core when patience ends is named too; it is waited for, since nothing
// can end a handler that does not block.
TEST_P(Shutdown, waits_for_a_handler_that_is_busy_and_names_it) {
  struct Diligent {
    support::Event* held;
    const support::Event* go;
    Diligent(support::Event* h, const support::Event* g) : held(h), go(g) {}
    void receive(int /*message*/) {
      held->set();
      go->wait();
    }
  };
  support::Event held;
  support::Event go;
  const auto diligent = runtime.spawn_with<Diligent>(on_core(1), &held, &go);
  diligent.send(1);
  ASSERT_TRUE(held.wait());
  support::Event over;
  said = support::stderr_of([&] {
    std::thread stopper([&] {
      runtime.shutdown(20ms);
      over.set();
    });
    // What is sent is refused: its patience has ended.
    EXPECT_TRUE(support::eventually([&] {
      diligent.send(1);
      return runtime.stats().stopped_sends > 0;
    }));
    EXPECT_FALSE(over.happened());
    go.set();
    stopper.join();
  });
  EXPECT_NE(said.find("Diligent"), std::string::npos) << said;
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

// A18
TEST_P(Shutdown, waits_for_messages_as_long_as_its_patience_lasts) {
  std::atomic<int> handled{0};
  class Slow {
   public:
    explicit Slow(std::atomic<int>* handled) : handled_(handled) {}
    void receive(int left) {
      this_actor::sleep_for(1ms);
      ++*handled_;
      if (left > 0) this_actor::address(this).send(left - 1);
    }

   private:
    std::atomic<int>* handled_;
  };
  runtime.spawn_with<Slow>(on_core(1), &handled).send(50);
  runtime.shutdown(support::kDeadline);
  EXPECT_EQ(handled, 51);
}

// A18: endless traffic is cut off.
TEST_P(Shutdown, ends_actors_that_would_go_on_for_ever) {
  class Endless {
   public:
    void receive(int /*message*/) { this_actor::address(this).send(1); }
  };
  for (std::size_t i = 0; i < 10; ++i) runtime.spawn_with<Endless>(on_core(i)).send(1);
  shut_down();
  EXPECT_NE(said.find("Endless"), std::string::npos) << said;
  EXPECT_EQ(count(Exit::Kind::kShutdown), 10);
}

// A18: destructors run as if nothing were the matter; but no wait in them is waited for.
TEST_P(Shutdown, lets_destructors_send_ask_and_sleep) {
  static std::atomic<int> made;
  static std::atomic<int> destroyed;
  made = destroyed = 0;
  struct Polite {
    bulkhead::Address<Door> door;
    explicit Polite(bulkhead::Address<Door> d) : door(d) { ++made; }
    ~Polite() {
      door.send(Door::Open{});
      static_cast<void>(door.ask(Door::Waiting{}, 10s));
      this_actor::sleep_for(10s);
      this_actor::yield();
      try {
        bulkhead::spawn([] {});
      } catch (const bulkhead::SpawnError&) {
      }
      ++destroyed;
    }
    void receive(int /*message*/) {}
  };
  const auto door = runtime.spawn<Door>();
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with<Polite>(on_core(i), door);
    runtime.spawn_with(on_core(i), [door] {
      const Polite in_a_frame(door);
      this_actor::sleep_for(bulkhead::kForever);
    });
  }
  ASSERT_TRUE(support::eventually([] { return made == 20; }));
  const auto start = Clock::now();
  shut_down();
  EXPECT_EQ(destroyed, 20);
  EXPECT_LT(Clock::now() - start, 9s);
}

// A18: handlers that catch everything must let it pass; those that fail on the way fail.
TEST_P(Shutdown, passes_through_handlers_that_catch_and_rethrow) {
  std::atomic<int> caught{0};
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [&caught] {
      try {
        this_actor::sleep_for(bulkhead::kForever);
      } catch (const std::exception&) {
        ADD_FAILURE() << "the end of an actor is no std::exception";
      } catch (...) {
        ++caught;
        throw;
      }
    });
  }
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors_started == 10; }));
  shut_down();
  EXPECT_LE(caught, 10);
  EXPECT_EQ(count(Exit::Kind::kShutdown), 10);
}

// A18
TEST_P(Shutdown, ends_actors_that_are_asked_and_fails_their_askers) {
  const auto door = runtime.spawn<Door>();
  std::atomic<int> failed{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&, door] {
      const auto result = door.ask(Door::Pass{}, bulkhead::kForever);
      if (!result.has_value()) ++failed;
    });
  }
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == 4u; }));
  said = support::stderr_of([this] { runtime.shutdown(0s); });
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(failed, 4);
}

// A18: actors that make actors while all are ended.
TEST_P(Shutdown, in_the_middle_of_a_spawning_spree_leaves_nobody) {
  struct Breeder {
    static void breed() {
      for (;;) {
        try {
          bulkhead::spawn([] { breed(); });
        } catch (const bulkhead::SpawnError&) {
        }
        this_actor::sleep_for(100us);
      }
    }
  };
  runtime.spawn([] { Breeder::breed(); });
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().actors_started > 300; }));
  shut_down();
}

// A18
TEST_P(Shutdown, by_the_destructor_is_the_same) {
  {
    bulkhead::Runtime other(support::OnCores::config());
    other.start();
    class Holder {
     public:
      void receive(int /*message*/) {}

     private:
      Live live_{1};
    };
    for (std::size_t i = 0; i < 10; ++i) other.spawn_with<Holder>(on_core(i)).send(1);
  }
  EXPECT_EQ(Live::alive(), 0);
}

}  // namespace
