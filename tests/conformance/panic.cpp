// A19: a failure ends the actor it happens in, alone.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using bulkhead::Pid;
using support::Live;
using namespace std::chrono_literals;

struct Told {
  Pid actor;
  std::string type;
  Exit exit;
};

class Panics : public support::OnCores {
 protected:
  Panics() : runtime(with_hook()) { runtime.start(); }

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) {
      deaths.add({death.actor, std::string(death.actor_type), death.exit});
    };
    return config;
  }

  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }

  // Runs a body that fails, and returns what was told of its end.
  template <class Body>
  Told death_of(Body body, std::size_t core = 1) {
    const auto before = deaths.size();
    const Pid pid = runtime.spawn_with(on_core(core), std::move(body));
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    EXPECT_TRUE(support::eventually([&] { return deaths.size() == before + 1; }));
    const Told told = deaths.entries().back();
    EXPECT_EQ(told.actor, pid);
    return told;
  }

  support::Log<Told> deaths;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(Panics);

// A19
TEST_P(Panics, end_their_actor_and_tell_the_reason) {
  const Told told = death_of([] { bulkhead::panic("out of cheese"); });
  EXPECT_EQ(told.exit.kind(), Exit::Kind::kPanic);
  EXPECT_EQ(told.exit.message(), "out of cheese");
  EXPECT_EQ(told.exit.type(), "bulkhead::Panic");
  EXPECT_EQ(to_string(told.exit), "panic: out of cheese (bulkhead::Panic)");
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

// A19
TEST_P(Panics, know_where_they_were) {
  const Told told = death_of([] { bulkhead::panic("here"); });
  try {
    std::rethrow_exception(told.exit.failure());
  } catch (const bulkhead::Panic& panic) {
    EXPECT_NE(std::string_view(panic.where().file_name()).find("panic.cpp"),
              std::string_view::npos);
    EXPECT_GT(panic.where().line(), 0u);
  }
}

class OwnException : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "my own"; }
};
struct NotAnException {
  int number;
};

// A19
TEST_P(Panics, are_exceptions_of_any_type) {
  const Told standard = death_of([] { throw std::out_of_range("too far"); });
  EXPECT_EQ(standard.exit.message(), "too far");
  EXPECT_EQ(standard.exit.type(), "std::out_of_range");

  const Told own = death_of([] { throw OwnException(); });
  EXPECT_EQ(own.exit.message(), "my own");
  EXPECT_NE(own.exit.type().find("OwnException"), std::string_view::npos);

  const Told number = death_of([] { throw 42; });
  EXPECT_EQ(number.exit.kind(), Exit::Kind::kPanic);
  EXPECT_EQ(number.exit.type(), "int");
  EXPECT_FALSE(number.exit.message().empty());
  try {
    std::rethrow_exception(number.exit.failure());
  } catch (int value) {
    EXPECT_EQ(value, 42);
  }

  const Told object = death_of([] { throw NotAnException{7}; });
  EXPECT_NE(object.exit.type().find("NotAnException"), std::string_view::npos);

  const Told text = death_of([] { throw "text"; });
  EXPECT_EQ(text.exit.type(), "char const*");

  const Told memory = death_of([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.exit.type(), "std::bad_alloc");
}

// A19
TEST_P(Panics, run_the_destructors_of_their_frames_and_of_the_state) {
  class Failing {
   public:
    void receive(int depth) {
      const Live in_frame(depth);
      if (depth > 0) receive(depth - 1);
      if (depth == 0) bulkhead::panic("bottom");
    }

   private:
    Live state_{1};
  };
  runtime.spawn_with<Failing>(on_core(1)).send(20);
  wait_for_idle();
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
}

// A19
TEST_P(Panics, leave_the_other_actors_alone) {
  std::atomic<int> answered{0};
  for (std::size_t i = 0; i < 20; ++i) {
    const auto door = runtime.spawn_with<support::Door>(on_core(i));
    runtime.spawn_with(on_core(i), [] { bulkhead::panic("failed"); });
    runtime.spawn_with(on_core(i), [door, &answered] {
      bulkhead::spawn([] { bulkhead::panic("failed too"); });
      this_actor::sleep_for(1ms);
      if (door.ask(support::Door::Waiting{}, support::kDeadline) == 0u) ++answered;
    });
  }
  wait_for_idle();
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(runtime.stats().actors_failed, 40u);
}

// A19: like any exception it can be caught.
TEST_P(Panics, that_are_caught_end_nobody) {
  const Told told = death_of([] {
    try {
      bulkhead::panic("caught");
    } catch (const bulkhead::Panic& panic) {
      EXPECT_STREQ(panic.what(), "caught");
    }
  });
  EXPECT_TRUE(told.exit.is_normal());
  EXPECT_EQ(runtime.stats().actors_failed, 0u);
}

// A19
TEST_P(Panics, in_started_and_in_a_timeout_are_no_different) {
  class FailsAtStart {
   public:
    void started() { throw std::runtime_error("at start"); }
    void receive(int /*message*/) { ADD_FAILURE() << "handled by one that never started"; }
  };
  const auto fails = runtime.spawn_with<FailsAtStart>(on_core(1));
  fails.send(1);
  wait_for_idle();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths.entries()[0].exit.message(), "at start");
  EXPECT_NE(deaths.entries()[0].type.find("FailsAtStart"), std::string::npos);
}

// A19: after blocking the handler may be on another core; what it throws ends it all the same.
TEST_P(Panics, after_a_wait_are_no_different) {
  std::atomic<int> moved{0};
  for (std::size_t i = 0; i < 200; ++i) {
    runtime.spawn([&moved] {
      const std::size_t core = this_actor::core();
      const Live mine(1);
      support::burn(50us);
      this_actor::yield();
      this_actor::sleep_for(100us);
      if (this_actor::core() != core) ++moved;
      throw std::runtime_error("after a wait");
    });
  }
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_failed, 200u);
  EXPECT_EQ(Live::alive(), 0);
  for (const Told& told : deaths.entries()) EXPECT_EQ(told.exit.message(), "after a wait");
}

// A19: an exception in flight, and one that is being handled, belong to the actor, not to its
// thread.
TEST_P(Panics, that_are_being_handled_are_kept_apart_over_a_wait) {
  std::atomic<int> right{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn([i, &right] {
      try {
        throw i;
      } catch (int) {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        support::burn(20us);
        this_actor::yield();
        try {
          throw std::to_string(i);
        } catch (const std::string& text) {
          this_actor::sleep_for(100us);
          if (text == std::to_string(i)) ++right;
        }
        this_actor::yield();
        try {
          throw;
        } catch (int again) {
          if (again == i) ++right;
        }
        EXPECT_NE(std::current_exception(), nullptr);
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    });
  }
  wait_for_idle();
  EXPECT_EQ(right, 400);
}

// A19: destructors that run while an exception is in flight may wait.
TEST_P(Panics, may_be_interrupted_by_destructors_that_wait) {
  struct Waits {
    std::atomic<int>* in_flight;
    explicit Waits(std::atomic<int>* counter) : in_flight(counter) {}
    ~Waits() {
      const int before = std::uncaught_exceptions();
      this_actor::sleep_for(100us);
      this_actor::yield();
      if (std::uncaught_exceptions() == before && before == 1) ++*in_flight;
    }
  };
  std::atomic<int> in_flight{0};
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn([&in_flight] {
      const Waits waits(&in_flight);
      throw std::runtime_error("failed");
    });
    runtime.spawn([] {
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      this_actor::sleep_for(100us);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    });
  }
  wait_for_idle();
  EXPECT_EQ(in_flight, 50);
  EXPECT_EQ(runtime.stats().actors_failed, 50u);
}

// A19: the hook is told of every end, and why.
TEST_P(Panics, and_other_ends_are_told_to_the_hook) {
  class Plain {
   public:
    void receive(int /*message*/) { this_actor::stop(); }
  };
  EXPECT_TRUE(death_of([] {}).exit.is_normal());
  const auto stopped = runtime.spawn_with<Plain>(on_core(1));
  bulkhead::stop(stopped);
  wait_for_idle();
  EXPECT_TRUE(support::eventually([&] { return deaths.size() == 2; }));
  const auto stops = runtime.spawn_with<Plain>(on_core(1));
  stops.send(1);
  wait_for_idle();
  EXPECT_TRUE(support::eventually([&] { return deaths.size() == 3; }));
  runtime.spawn_with<Plain>(on_core(1));
  runtime.shutdown();
  const auto told = deaths.entries();
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[1].actor, stopped.pid());
  EXPECT_TRUE(told[1].exit.is_normal());
  EXPECT_TRUE(told[2].exit.is_normal());
  EXPECT_EQ(told[3].exit.kind(), Exit::Kind::kShutdown);
  EXPECT_NE(told[3].type.find("Plain"), std::string::npos);
}

// A19: the hook may spawn and send, as a supervisor of one's own would.
TEST_P(Panics, can_be_answered_by_the_hook_with_a_new_actor) {
  std::atomic<int> lives{0};
  bulkhead::Runtime* restarting = nullptr;
  const auto body = [&lives] {
    if (++lives < 10) bulkhead::panic("again");
  };
  bulkhead::Config with_restart = config();
  with_restart.on_death = [&](const bulkhead::Death& death) {
    if (death.exit.kind() == Exit::Kind::kPanic) restarting->spawn(body);
  };
  bulkhead::Runtime other(with_restart);
  restarting = &other;
  other.start();
  other.spawn_with(on_core(1), body);
  EXPECT_TRUE(support::eventually([&] { return lives == 10; }));
  ASSERT_TRUE(other.wait_for_idle(support::kDeadline));
}

// --- outside any actor ---

[[gnu::noinline]] void fails_deep_down() {
  bulkhead::panic("nobody to catch it");
  // Not a tail call.
  std::abort();
}

// In a child process, where nothing catches.
support::Ended fail_in_child(const char* trace) {
  return support::run_in_child([trace]() noexcept {
    if (trace != nullptr) {
      setenv("BULKHEAD_STACK_TRACE", trace, 1);
    } else {
      unsetenv("BULKHEAD_STACK_TRACE");
    }
    fails_deep_down();
  });
}

// A19
TEST(PanicOutside, says_its_reason_and_a_stack_trace_and_aborts) {
  for (const char* const trace : {static_cast<const char*>(nullptr), "1"}) {
    const support::Ended child = fail_in_child(trace);
    EXPECT_EQ(child.signal, SIGABRT);
    EXPECT_NE(child.errors.find("nobody to catch it"), std::string::npos) << child.errors;
    EXPECT_NE(child.errors.find("panic.cpp"), std::string::npos) << child.errors;
    const auto title = child.errors.find("most recent call first");
    ASSERT_NE(title, std::string::npos) << child.errors;
    EXPECT_NE(child.errors.find("\n  0: ", title), std::string::npos) << child.errors;
    for (const char* const machinery : {"_Unwind_", "__cxa_throw", "std::terminate"}) {
      EXPECT_EQ(child.errors.find(machinery), std::string::npos) << child.errors;
    }
  }
}

// A19
TEST(PanicOutside, leaves_the_trace_out_when_the_environment_says_so) {
  const support::Ended child = fail_in_child("0");
  EXPECT_EQ(child.signal, SIGABRT);
  EXPECT_NE(child.errors.find("nobody to catch it"), std::string::npos) << child.errors;
  EXPECT_EQ(child.errors.find("most recent call first"), std::string::npos) << child.errors;
}

// A19
TEST(PanicOutside, can_be_caught_like_any_exception) {
  EXPECT_THROW(bulkhead::panic("caught"), bulkhead::Panic);
  EXPECT_THROW(bulkhead::panic("caught"), std::runtime_error);
}

}  // namespace
