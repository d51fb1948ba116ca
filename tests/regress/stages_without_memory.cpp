// B1: a stage that cannot be given its memory is not made, and nothing of it is left. What was
// wrong: the thread that had tried went on as if it ran a core; and a stage that got fewer slots
// than it asked for was made all the same.
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stage.hpp>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <new>

#include "support/process.hpp"

namespace {

constexpr bool kSanitized = support::kMemoryFactor > 1;  // those reserve terabytes themselves
constexpr std::size_t kMib = std::size_t{1} << 20;

std::size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool runs(std::size_t actors, std::size_t mailbox) {
  bulkhead::StageConfig config;
  config.actors = actors;
  config.mailbox = mailbox;
  bulkhead::Stage stage(config);
  bool ran = false;
  stage.spawn([&ran] { ran = true; });
  stage.run();
  return ran;
}

TEST(StagesWithoutMemory, leave_nothing_behind) {
  if (kSanitized) return;
  const support::Ended ended = support::run_in_child([] {
    if (!runs(10, 10)) std::fputs("the first did not run\n", stderr);  // which takes address space
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + 200 * kMib;
    setrlimit(RLIMIT_AS, &limit);
    try {
      runs(1000, 10'000);  // 640 MB
      std::fputs("it was made\n", stderr);
    } catch (const std::bad_alloc&) {
    }
    if (bulkhead::in_actor()) std::fputs("in an actor\n", stderr);
    if (!runs(10, 10)) std::fputs("the last did not run\n", stderr);
  });
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

}  // namespace
