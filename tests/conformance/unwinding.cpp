// A18, A19, C11: what unwinds an actor that is to end, and the handlers that it passes.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <utility>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using support::Door;
using namespace std::chrono_literals;

class Unwinding : public support::OnCores {
 protected:
  Unwinding() : runtime(with_log()) {
    runtime.start();
    door = runtime.spawn_with<Door>(on_core(1));
  }
  bulkhead::Config with_log() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { ends.add({death.actor, death.exit}); };
    return config;
  }
  // When so many have come to the door.
  void stop(bulkhead::Pid pid, std::size_t at_the_door = 1) {
    ASSERT_TRUE(support::eventually(
        [&] { return door.ask(Door::Waiting{}, support::kDeadline).value_or(0) == at_the_door; }));
    bulkhead::request_stop(pid);
    const auto exit = [&] {
      for (const auto& [ended, why] : ends.entries()) {
        if (ended == pid) return why;
      }
      return Exit::normal();
    };
    EXPECT_TRUE(support::eventually([&] { return exit() == Exit::stopped(); }));
  }
  void wait_at_door() {
    if (!door.ask(Door::Pass{}, bulkhead::kForever)) ++refused;
  }

  support::Log<std::pair<bulkhead::Pid, Exit>> ends;
  std::atomic<int> named{0};
  std::atomic<int> caught{0};
  std::atomic<int> refused{0};
  bulkhead::Address<Door> door;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(Unwinding);

TEST_P(Unwinding, passes_a_handler_that_names_it) {
  stop(runtime.spawn_with(on_core(0), [this] {
    try {
      wait_at_door();
    } catch (const bulkhead::Unwind&) {
      ++named;
      throw;
    } catch (...) {
      ++caught;
      throw;
    }
    ++refused;
  }));
  EXPECT_EQ(named, 1);
  EXPECT_EQ(caught, 0);
  EXPECT_EQ(refused, 0);
}

// Clang's tables do not tell catch (...) from a function that is noexcept: in its code the wait
// comes back, and the next one outside is where the actor is unwound.
TEST_P(Unwinding, passes_a_handler_for_everything_where_the_compiler_tells_it_from_noexcept) {
  std::atomic<int> went_on{0};
  stop(runtime.spawn_with(on_core(0), [&] {
    try {
      wait_at_door();
    } catch (...) {
      ++caught;
      throw;
    }
    ++went_on;
    this_actor::sleep_for(1h);
    ++went_on;
  }));
  const int hidden = bulkhead::core::kHidesNoexcept ? 1 : 0;
  EXPECT_EQ(caught, 1 - hidden);
  EXPECT_EQ(refused, hidden);
  EXPECT_EQ(went_on, hidden);
}

struct Number {
  using Answer = int;
};
struct Nothing {
  using Answer = void;
};

struct Asked {
  bulkhead::Address<Door> door;
  std::atomic<int>* refused;

  int receive(Number /*question*/) {
    wait();
    return 1;
  }
  void receive(Nothing /*question*/) { wait(); }
  void wait() {
    if (!door.ask(Door::Pass{}, bulkhead::kForever)) ++*refused;
  }
};

// The runtime's own handlers name it.
TEST_P(Unwinding, passes_those_that_fail_an_ask) {
  std::atomic<int> told{0};
  const auto ask_and_stop = [&](auto question, std::size_t at_the_door) {
    const auto asked = runtime.spawn_with<Asked>(on_core(0), door, &refused);
    runtime.spawn([&told, asked, question] {
      const auto answer = asked.ask(question, bulkhead::kForever);
      if (!answer && answer.error() == bulkhead::AskError::kDied) ++told;
    });
    stop(asked.pid(), at_the_door);
  };
  ask_and_stop(Number{}, 1);
  ask_and_stop(Nothing{}, 2);
  EXPECT_TRUE(support::eventually([&] { return told == 2; }));
  EXPECT_EQ(refused, 0);
}

TEST_P(Unwinding, passes_that_of_a_scope) {
  std::atomic<int> went_on{0};
  const auto owner = runtime.spawn_with(on_core(0), [&] {
    bulkhead::CancellationScope scope;
    scope.spawn([&] {
      wait_at_door();
      ++went_on;
    });
    wait_at_door();
    ++went_on;
  });
  stop(owner, 2);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(went_on, 0);
}

}  // namespace
