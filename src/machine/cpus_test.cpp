#include "machine/cpus.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

namespace bulkhead::machine {
namespace {

// A1
TEST(Cpus, allowed_ones_are_those_of_the_affinity_mask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const auto cpus = allowed_cpus();
  EXPECT_EQ(cpus.size(), static_cast<std::size_t>(CPU_COUNT(&set)));
  EXPECT_TRUE(std::ranges::is_sorted(cpus));
  for (const int cpu : cpus) EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(cpu), &set));
}

// A1
TEST(Cpus, usable_ones_are_at_least_one_and_no_more_than_allowed) {
  EXPECT_GE(usable_cpus(), 1u);
  EXPECT_LE(usable_cpus(), allowed_cpus().size());
}

// A1: in the words of a control group.
TEST(Cpus, a_quota_is_rounded_up_to_whole_cpus) {
  EXPECT_EQ(quota_of("100000 100000"), 1u);
  EXPECT_EQ(quota_of("200000 100000\n"), 2u);
  EXPECT_EQ(quota_of("250000 100000"), 3u);
  EXPECT_EQ(quota_of("1000 100000"), 1u);
  EXPECT_EQ(quota_of("50000 25000"), 2u);
  EXPECT_EQ(quota_of("400000 100000"), 4u);
}

// A1
TEST(Cpus, what_is_no_quota_sets_no_limit) {
  for (const char* const text :
       {"", "max 100000", "max", "100000", "0 100000", "100000 0", "-1 100000", "x y", "  "}) {
    EXPECT_EQ(quota_of(text), 0u) << text;
  }
}

// A1
TEST(Cpus, a_thread_can_be_bound_to_each_that_is_allowed) {
  std::thread([] {
    for (const int cpu : allowed_cpus()) {
      ASSERT_TRUE(bind_to_cpu(cpu));
      EXPECT_EQ(sched_getcpu(), cpu);
      EXPECT_EQ(allowed_cpus(), std::vector<int>{cpu}) << "it may use no other now";
    }
  }).join();
}

// A1
TEST(Cpus, a_thread_cannot_be_bound_to_one_that_is_not_there) {
  std::thread([] {
    const auto before = allowed_cpus();
    EXPECT_FALSE(bind_to_cpu(100'000));
    EXPECT_EQ(allowed_cpus(), before);
  }).join();
}

TEST(Cpus, a_thread_has_a_name_of_which_15_characters_are_kept) {
  std::thread([] {
    char name[32];
    name_thread("short");
    pthread_getname_np(pthread_self(), name, sizeof name);
    EXPECT_STREQ(name, "short");
    name_thread("a name that is far too long");
    pthread_getname_np(pthread_self(), name, sizeof name);
    EXPECT_STREQ(name, "a name that is ");
  }).join();
}

TEST(Cpus, another_thread_can_be_named) {
  std::atomic<bool> named = false;
  char name[32] = {};
  std::thread other([&] {
    named.wait(false);
    pthread_getname_np(pthread_self(), name, sizeof name);
  });
  name_thread(other, "another name that is far too long");
  named = true;
  named.notify_one();
  other.join();
  EXPECT_STREQ(name, "another name th");
}

}  // namespace
}  // namespace bulkhead::machine
