// At the edges of handlers that are stuck. What was wrong:
//  - Exit::panic in a handler touched the core without having come inside: when the actor was away,
//    nobody on that core could wait any more.
//  - The watch joined threads that had ended, and waited for their thread-local objects.
//  - An actor that asks its mailbox for messages all the time, and never waits, kept its core.
//  - errno was another thread's after a tick of an actor that was away.
// D3, C10.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include "support/process.hpp"
#include "support/stuck.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using support::Event;
using support::eventually;
using namespace std::chrono_literals;

class EdgesOfStuckHandlers : public support::Stuck {};
ON_ONE_AND_SEVERAL_CORES(EdgesOfStuckHandlers);

TEST_P(EdgesOfStuckHandlers, an_exit_that_is_made_while_away) {
  struct Slow : std::exception {
    const char* what() const noexcept override {
      std::this_thread::sleep_for(30ms);  // inside: its core is not left meanwhile
      return "slow";
    }
  };
  in_actor([&] {
    be_left();
    EXPECT_EQ(bulkhead::Exit::panic(std::make_exception_ptr(Slow())).message(), "slow");
  });
  int early = 0;
  in_actor([&] {
    for (int i = 0; i < 10; ++i) {
      const auto start = support::Clock::now();
      this_actor::sleep_for(2ms);
      early += support::Clock::now() - start < 2ms ? 1 : 0;
    }
  });
  EXPECT_EQ(early, 0);
}

std::atomic<bool> let_go{false};
std::atomic<int> ending{0};

struct Lingering {
  bool used = false;
  ~Lingering() {
    if (!used) return;
    ++ending;
    while (!let_go) std::this_thread::sleep_for(1ms);
  }
};
thread_local Lingering lingering;

TEST_P(EdgesOfStuckHandlers, thread_local_objects_that_take_long_to_end) {
  let_go = false;
  ending = 0;
  // More are stuck at once than threads are kept, so some end.
  std::atomic<int> stuck{0};
  Event go;
  for (int i = 0; i < 8; ++i) {
    runtime.spawn_with(on_core(0), [&] {
      lingering.used = true;
      ++stuck;
      go.wait();
    });
  }
  EXPECT_TRUE(eventually([&] { return stuck == 8; }));
  go.set();
  EXPECT_TRUE(eventually([&] { return ending > 0; }));
  in_actor([&] { be_left(); });  // there is still somebody who watches
  let_go = true;
  runtime.shutdown(bulkhead::kForever);  // while what they use is there
}

TEST_P(EdgesOfStuckHandlers, who_polls_its_mailbox_does_not_keep_its_core) {
  using Box = bulkhead::Mailbox<int>;
  std::atomic<bool> over{false};
  const auto box = runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
    while (!over) {
      static_cast<void>(mailbox.next_for(
          0s, bulkhead::when([](const int& number) { return number < 0; }, [](int) {})));
    }
  });
  for (int i = 0; i < 100; ++i) box.send(i);
  std::atomic<int> slept{0};
  runtime.spawn_with(on_core(0), [&] {
    for (int i = 0; i < 20; ++i) {
      this_actor::sleep_for(1ms);
      ++slept;
    }
    over = true;
  });
  EXPECT_TRUE(eventually([&] { return slept == 20; }));
  over = true;
  wait_for_idle();
}

// The compiler takes errno's address to be constant within a function.
[[gnu::noinline]] void set_errno(int error) {
  asm volatile("" ::: "memory");
  errno = error;
}
[[gnu::noinline]] int get_errno() {
  asm volatile("" ::: "memory");
  return errno;
}

TEST_P(EdgesOfStuckHandlers, errno_comes_home) {
  in_actor([&] {
    be_left();
    set_errno(ENOTTY);
    bulkhead::check();
    EXPECT_EQ(get_errno(), ENOTTY);
    be_left();
    set_errno(EXDEV);
    EXPECT_TRUE(bulkhead::in_actor());
    EXPECT_EQ(get_errno(), EXDEV);
  });
}

// A child process has none of the threads: what is called there first does not wait for one.
TEST_P(EdgesOfStuckHandlers, fork) {
  in_actor([&] {
    be_left();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(bulkhead::in_actor() ? 1 : 0);
    int status = -1;
    EXPECT_TRUE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ::kill(child, SIGKILL);
  });
}

class TicksOfStuckHandlers : public support::Stuck {
 public:
  TicksOfStuckHandlers() : Stuck(1) {}
};
ON_ONE_AND_SEVERAL_CORES(TicksOfStuckHandlers);

TEST_P(TicksOfStuckHandlers, bring_them_home_with_their_errno) {
  in_actor([&] {
    be_left();
    set_errno(ENOTTY);
    const auto number = std::make_unique<int>(1);
    asm volatile("" : : "r"(number.get()));  // or Clang would leave it out
    EXPECT_EQ(get_errno(), ENOTTY);
    // (Sanitizers have an operator new of their own, without ticks.)
    EXPECT_EQ(runtime.stats().away, support::kMemoryFactor > 1 ? 1u : 0u);
  });
}

// (A child process that is forked makes a pool of its own for blocking calls.)
TEST(ForkedChildren, make_blocking_calls) {
  {
    bulkhead::Runtime runtime;
    runtime.start();
    std::atomic<int> got{0};
    runtime.spawn([&] { got = bulkhead::blocking([] { return 5; }); });
    ASSERT_TRUE(eventually([&] { return got == 5; }));
    const auto ended = support::run_in_child([] {
      bulkhead::Runtime own;
      own.start();
      int seen = 0;
      own.spawn([&] { seen = bulkhead::blocking([] { return 6; }); });
      if (!own.wait_for_end(support::kDeadline) || seen != 6) std::abort();
      own.shutdown();
    });
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.errors, "");
  }
}

}  // namespace
