// A18, A20: with a limit to the address space a runtime works, or says what it lacks. What was
// wrong: it could start, and then its end aborted, since it reserved memory for timers that were
// never used.
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "support/process.hpp"
#include "support/wait.hpp"

namespace {

constexpr bool kSanitized = support::kMemoryFactor > 1;  // those reserve terabytes themselves
constexpr std::size_t kMib = std::size_t{1} << 20;

struct Get {};
struct Answers {
  int receive(Get /*message*/) { return 42; }
};

// Uses a runtime, a timer included, and says what it is told.
void use_a_runtime() {
  try {
    bulkhead::Config config;
    config.cores = 2;
    bulkhead::Runtime runtime(config);
    runtime.start();
    if (runtime.spawn<Answers>().ask(Get{}) != 42) std::fputs("no answer\n", stderr);
    runtime.spawn([] {
      try {
        bulkhead::send_after(std::chrono::hours(1), bulkhead::Port<Get>(), Get{});
      } catch (const std::bad_alloc& error) {
        std::fprintf(stderr, "timer: %s\n", error.what());
      }
    });
    if (!runtime.wait_for_idle(support::kDeadline)) std::fputs("not idle\n", stderr);
  } catch (const std::bad_alloc& error) {
    std::fprintf(stderr, "%s\n", error.what());
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "bulkhead: %s\n", error.what());
  }
}

void limit_to(std::size_t mib) {
  const rlimit limit{mib * kMib, mib * kMib};
  setrlimit(RLIMIT_AS, &limit);
}

support::Ended with_limit(std::size_t mib) {
  return support::run_in_child([mib] {
    limit_to(mib);
    use_a_runtime();
  });
}

TEST(LittleAddressSpace, is_enough_or_is_told) {
  if constexpr (kSanitized) return;
  for (const std::size_t mib :
       std::initializer_list<std::size_t>{500, 1000, 2000, 3000, 4000, 5000, 6000, 7000}) {
    const auto ended = with_limit(mib);
    EXPECT_EQ(ended.signal, 0) << mib << " MiB: " << ended.errors;
    EXPECT_EQ(ended.status, 0) << mib << " MiB: " << ended.errors;
    if (!ended.errors.empty()) {
      EXPECT_NE(ended.errors.find("bulkhead: "), std::string::npos) << mib << ": " << ended.errors;
    }
  }
}

TEST(LittleAddressSpace, is_told_with_the_limit) {
  if constexpr (kSanitized) return;
  // In a fresh process: this one may have had a runtime, whose reservation stays.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        limit_to(1000);
        use_a_runtime();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "bulkhead: cannot reserve .*: ulimit -v is 1024000 KiB");
}

}  // namespace
