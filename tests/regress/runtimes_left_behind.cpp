// A18: a runtime whose destructor cannot stop it. What was wrong: exit() in an actor aborted the
// process when a runtime was static, and a child process that was forked while a runtime ran waited
// for that runtime's threads, for ever.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

TEST(LeftBehind, a_static_runtime_by_exit_in_an_actor) {
  const support::Ended ended = support::run_in_child([] {
    support::leaves_memory_behind();
    static bulkhead::Runtime runtime({.cores = 2});
    runtime.start();
    runtime.spawn([] { std::exit(3); });
    runtime.wait_for_idle();
  });
  EXPECT_EQ(ended.status, 3) << ended.errors;
  EXPECT_NE(ended.errors.find("bulkhead: a runtime that runs is destroyed in an actor"),
            std::string::npos)
      << ended.errors;
}

// How the child of a child ended.
int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(LeftBehind, by_a_fork) {
  const support::Ended ended = support::run_in_child([] {
    int in_child = -1;
    {
      bulkhead::Runtime runtime({.cores = 2});
      runtime.start();
      runtime.spawn([] {});
      runtime.wait_for_idle();
      const pid_t child = fork();
      if (child == 0) {
        alarm(30);
        int wrong = runtime.running() ? 1 : 0;
        try {
          runtime.start();
          wrong |= 2;
        } catch (const std::logic_error&) {
        }
        try {
          runtime.wait_for_idle();
          wrong |= 4;
        } catch (const std::logic_error&) {
        }
        runtime.shutdown();
        std::exit(wrong);  // static objects are destroyed; then the runtime, by hand
      }
      in_child = status_of(child);
      if (runtime.running()) runtime.shutdown();
    }
    std::_Exit(in_child == 0 ? 5 : 6);
  });
  EXPECT_EQ(ended.status, 5) << ended.errors;
}

TEST(LeftBehind, by_a_fork_is_destroyed) {
  const support::Ended ended = support::run_in_child([] {
    pid_t child = 0;
    {
      bulkhead::Runtime runtime({.cores = 2});
      runtime.start();
      runtime.spawn([] {});
      runtime.wait_for_idle();  // a sanitizer's own locks must be free
      child = fork();
      if (child == 0) alarm(30);
    }
    if (child == 0) {
      bulkhead::Runtime another({.cores = 1});
      another.start();
      another.spawn([] {});
      another.wait_for_idle();
      another.shutdown();
      std::_Exit(7);
    }
    std::_Exit(status_of(child));
  });
  EXPECT_EQ(ended.status, 7) << ended.errors;
}

}  // namespace
