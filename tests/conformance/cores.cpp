// A1: cores, their threads, and the processors that they are bound to.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using bulkhead::Config;
using bulkhead::Runtime;

class CoresAndThreads : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(CoresAndThreads);

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// What an actor sees of the thread that it runs on.
struct Seen {
  std::size_t core;
  pid_t thread;
  std::vector<int> cpus;
};

std::vector<Seen> seen_on_each_core(Runtime& runtime) {
  support::Log<Seen> log;
  for (std::size_t i = 0; i < runtime.cores(); ++i) {
    bulkhead::SpawnOptions options;
    options.core = i;
    options.pinned = true;
    runtime.spawn_with(options, [&log] {
      log.add({bulkhead::this_actor::core(), gettid(), allowed_cpus()});
    });
  }
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  return log.entries();
}

// A1
TEST_P(CoresAndThreads, a_runtime_of_n_cores_runs_n_threads_and_a_watch_and_none_before_or_after) {
  const std::size_t before = support::threads();
  Runtime runtime(config());
  EXPECT_EQ(runtime.cores(), cores());
  EXPECT_EQ(support::threads(), before);
  EXPECT_FALSE(runtime.running());
  runtime.start();
  EXPECT_TRUE(runtime.running());
  EXPECT_EQ(support::threads(), before + cores() + 1);  // which looks for stuck handlers
  runtime.shutdown();
  EXPECT_FALSE(runtime.running());
  // Those that were joined may still be listed for a moment.
  EXPECT_TRUE(support::eventually([before] { return support::threads() == before; }));
  EXPECT_EQ(runtime.stats().cores, cores());
}

// A1
TEST_P(CoresAndThreads, the_threads_are_named_after_their_cores) {
  Runtime runtime(config());
  runtime.start();
  for (std::size_t i = 0; i < cores(); ++i) {
    EXPECT_EQ(support::threads_named("bulkhead-" + std::to_string(i)), 1u) << i;
  }
}

// A1
TEST_P(CoresAndThreads, each_core_has_a_thread_of_its_own) {
  Runtime runtime(config());
  runtime.start();
  std::set<std::size_t> numbers;
  std::set<pid_t> ids;
  for (const Seen& seen : seen_on_each_core(runtime)) {
    numbers.insert(seen.core);
    ids.insert(seen.thread);
  }
  EXPECT_EQ(numbers.size(), cores());
  EXPECT_EQ(*numbers.rbegin(), cores() - 1);
  EXPECT_EQ(ids.size(), cores());
}

// A1
TEST_P(CoresAndThreads, each_thread_is_bound_to_a_processor_while_there_are_enough) {
  const auto all = allowed_cpus();
  Runtime runtime(config());
  runtime.start();
  std::set<std::vector<int>> places;
  for (const Seen& seen : seen_on_each_core(runtime)) {
    if (cores() <= all.size()) {
      EXPECT_EQ(seen.cpus.size(), 1u);
    } else {
      EXPECT_EQ(seen.cpus, all);
    }
    places.insert(seen.cpus);
  }
  if (cores() <= all.size()) {
    EXPECT_EQ(places.size(), cores());
  }
}

// A1
TEST_P(CoresAndThreads, no_thread_is_bound_when_binding_is_off) {
  const auto all = allowed_cpus();
  Config unbound = config();
  unbound.bind_cores = false;
  Runtime runtime(unbound);
  runtime.start();
  for (const Seen& seen : seen_on_each_core(runtime)) EXPECT_EQ(seen.cpus, all);
}

// A1
TEST_P(CoresAndThreads, an_own_thread_actor_is_not_bound) {
  const auto all = allowed_cpus();
  Runtime runtime(config());
  runtime.start();
  support::Log<Seen> log;
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  runtime.spawn_with(options, [&log] { log.add({0, gettid(), allowed_cpus()}); });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log.entries()[0].cpus, all);
}

// A1
TEST(CoresByDefault, are_the_processors_of_the_affinity_mask) {
  ASSERT_EQ(unsetenv("BULKHEAD_CORES"), 0);
  const auto all = allowed_cpus();
  EXPECT_LE(Runtime().cores(), all.size());
  EXPECT_GE(Runtime().cores(), 1u);
  const support::Ended child = support::run_in_child([&all] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(all.back()), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(2);
    if (Runtime().cores() != 1) _exit(3);
  });
  EXPECT_EQ(child.status, 0) << child.errors;
}

// A1
TEST(CoresByDefault, come_from_the_environment_when_it_names_a_number) {
  ASSERT_EQ(setenv("BULKHEAD_CORES", "3", 1), 0);
  EXPECT_EQ(Runtime().cores(), 3u);
  Config config;
  config.cores = 2;
  EXPECT_EQ(Runtime(config).cores(), 2u) << "the program's own word comes first";
  unsetenv("BULKHEAD_CORES");
}

// A1
TEST(OneCore, runs_its_actors_in_turns) {
  Config config;
  config.cores = 1;
  Runtime runtime(config);
  runtime.start();
  support::Log<int> log;
  runtime.spawn([&log] {
    for (int actor = 0; actor < 2; ++actor) {
      bulkhead::spawn([&log, actor] {
        for (int turn = 0; turn < 3; ++turn) {
          log.add(actor);
          bulkhead::this_actor::yield();
        }
      });
    }
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const auto entries = log.entries();
  ASSERT_EQ(entries.size(), 6u);
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2) EXPECT_NE(entries[i], entries[i + 1]);
}

}  // namespace
