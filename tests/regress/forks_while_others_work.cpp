// A18: forks while other threads take memory, slots, stacks and cores. What was wrong: a lock of
// the process that another thread held at that moment stayed locked in the child, where a runtime
// of its own then hung.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;

std::atomic<bool> at_rest{false};

// Ends after a while, and has another one follow.
struct Restless {
  [[nodiscard]] Timeout receive_timeout() const { return std::chrono::microseconds(50); }
  void receive(ReceiveTimeout) {
    this_actor::stop();
    if (at_rest) return;
    for (int i = 0; i < 2; ++i) {
      try {
        spawn([] { this_actor::sleep_for(100us); });
        if (i == 0) spawn<Restless>();
      } catch (const SpawnError&) {
      }
    }
  }
};

int run_in_child() {
  Config config;
  config.cores = 2;
  return *run(config, [] {
    int sum = 0;
    for (int i = 0; i < 5; ++i) {
      auto one = spawn_joinable([] {
        this_actor::sleep_for(100us);
        return 1;
      });
      sum += *one.join();
    }
    return sum;
  });
}

class Forks : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Forks);

TEST_P(Forks, while_others_work_leave_no_lock_behind) {
  at_rest = false;
  for (int i = 0; i < 20; ++i) runtime.spawn<Restless>();
  std::atomic<bool> over{false};
  std::thread restarts([&over] {
    while (!over) {
      Runtime other({.cores = 1});
      other.start();
      other.spawn([] { this_actor::yield(); });
      other.shutdown(0s);
    }
  });
  // The locks of the sanitizers' own allocators are not held over a fork, so there is none there.
  const int forks = support::kTimeFactor > 1 ? 0 : 100;
  for (int i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // it hangs
      _exit(run_in_child());
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status) << ", fork " << i;
    ASSERT_EQ(WEXITSTATUS(status), 5);
  }
  over = true;
  restarts.join();
  at_rest = true;
  wait_for_idle();
}

}  // namespace
