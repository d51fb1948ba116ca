// D3: a core that is stuck, and for which there is no other thread, is told on stderr and counted.
// What was wrong: it stopped, and nothing said so.
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "support/pipe.hpp"
#include "support/process.hpp"
#include "support/wait.hpp"

namespace {

using bulkhead::Config;
using bulkhead::Runtime;
using support::eventually;
using support::Pipe;
using namespace std::chrono_literals;

Config on_one_core() {
  Config config;
  config.cores = 1;
  config.hand_over_after = 1ms;
  return config;
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(CoresWithoutThreads, are_told_at_a_thousand_and_again_when_it_has_been_better) {
  constexpr std::size_t kMost = 1000;
  const Pipe first;
  const Pipe others;
  Runtime runtime(on_one_core());
  runtime.start();
  const std::string said = support::stderr_of([&] {
    runtime.spawn([&] { first.read(); });
    ASSERT_TRUE(eventually([&] { return runtime.stats().away == 1; }));
    for (std::size_t i = 0; i < kMost + 3; ++i) {
      runtime.spawn([&] { others.read(); });
    }
    ASSERT_TRUE(eventually([&] { return runtime.stats().held_up == 1; }));
    EXPECT_EQ(runtime.stats().away, kMost);
    std::this_thread::sleep_for(1100ms);  // one line a second
    EXPECT_EQ(runtime.stats().held_up, 1u) << "once for each handler";
    first.write('x');  // one comes home, and another is left in its place
    ASSERT_TRUE(eventually([&] { return runtime.stats().held_up == 2; }));
    EXPECT_EQ(runtime.stats().away, kMost);
    std::this_thread::sleep_for(300ms);
  });
  others.write('x', kMost + 3);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(lines_with(said, "bulkhead: core 0 is held up by actor <"), 2u) << said;
  EXPECT_EQ(lines_with(said, "1000 handlers are stuck by now"), 2u) << said;
}

// As one who gets no thread from now on.
void give_me_no_threads() {
  const rlimit limit{0, 0};
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) std::perror("setrlimit");
}

TEST(CoresWithoutThreads, are_told_when_the_system_gives_none) {
  const auto ended = support::run_in_child([] {
    if (getuid() == 0 && setuid(65534) != 0) std::perror("setuid");  // root has no limit
    const Pipe pipe;
    Runtime runtime(on_one_core());
    runtime.start();
    give_me_no_threads();
    std::atomic<int> read{0};
    for (int i = 0; i < 2; ++i) {
      runtime.spawn([&] {
        pipe.read();
        ++read;
      });
    }
    if (!eventually([&] { return runtime.stats().held_up == 1; })) std::fputs("no count\n", stderr);
    if (runtime.stats().away != 0) std::fputs("it has gone on\n", stderr);
    std::this_thread::sleep_for(1100ms);  // one line a second
    pipe.write('x');
    if (!eventually([&] { return runtime.stats().held_up == 2; })) std::fputs("no count\n", stderr);
    std::this_thread::sleep_for(100ms);  // it is not said again: no core could go on meanwhile
    pipe.write('x');
    if (!runtime.wait_for_idle(support::kDeadline) || read != 2) std::fputs("not idle\n", stderr);
  });
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(lines_with(ended.errors, "bulkhead: core 0 is held up by actor <"), 1u) << ended.errors;
  EXPECT_NE(ended.errors.find("no thread can be had: Resource temporarily unavailable"),
            std::string::npos)
      << ended.errors;
  EXPECT_EQ(lines_with(ended.errors, "\n"), 1u) << ended.errors;
}

}  // namespace
