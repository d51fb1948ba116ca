// D6, C2, C3: very many green threads at once, each blocked on a guarded stack of its own; and what
// is said where the kernel allows fewer.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using support::Ended;
using support::eventually;
using namespace std::chrono_literals;

// Does this kernel make guards that take no mappings? Emulators claim it, so look at the effect:
// what is guarded cannot be read.
bool has_light_guards() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (memory == MAP_FAILED || pipe(ends) != 0) return false;
  const bool works = madvise(memory, page, 102) == 0 && write(ends[1], memory, 1) < 0;
  close(ends[0]);
  close(ends[1]);
  munmap(memory, page);
  return works;
}

// 100,000, or as many as have guards. ThreadSanitizer knows 8128 threads and fibers at most, and
// takes almost a megabyte for each.
int many() {
  if (support::kMemoryFactor > 1) return 500;
  if (has_light_guards()) return 100'000;
  return static_cast<int>(std::min<std::size_t>(100'000, support::most_mappings() / 2 - 5'000));
}

constexpr std::size_t kMostBytesEach = support::kMemoryFactor == 1 ? 8192 : 2 << 20;

struct Counters {
  std::atomic<int> blocked{0};
  std::atomic<int> returned{0};
  std::atomic<int> failed{0};
};

// Some at a time, so that they block before all of them are made.
void spawn_waiting(int count, Counters* counters, bulkhead::Timeout time) {
  for (int i = 0; i < count; ++i) {
    bulkhead::spawn([counters, time] {
      counters->blocked.fetch_add(1, std::memory_order_relaxed);
      this_actor::sleep_for(time);
      counters->returned.fetch_add(1, std::memory_order_relaxed);
    });
    if (i % 64 == 63) this_actor::yield();
  }
}

// In child processes, so that none finds the stacks that another one has left for later use.
class ManyGreenThreads : public support::OnCores {
 protected:
  template <class Body>
  static void in_a_child(Body body) {
    const Ended child = support::run_in_child([&] {
      body();
      std::fflush(stdout);
      if (testing::Test::HasFailure()) _exit(1);
    });
    EXPECT_EQ(child.status, 0) << child.signal << child.errors;
  }
};
ON_ONE_AND_SEVERAL_CORES(ManyGreenThreads);

TEST_P(ManyGreenThreads, are_made_and_wake_and_return) {
  in_a_child([] {
    bulkhead::Runtime runtime(config());
    runtime.start();
    Counters counters;
    const int all = many() / 10 * 10;
    for (std::size_t core = 0; core < cores(); ++core) {
      const int mine = all / static_cast<int>(cores());
      runtime.spawn_with(on_core(core), [&counters, mine] { spawn_waiting(mine, &counters, 1s); });
    }
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    EXPECT_EQ(counters.returned, all);
  });
}

TEST_P(ManyGreenThreads, are_unwound_by_a_shutdown_and_leave_no_memory) {
  in_a_child([] {
    const std::size_t before = support::resident_bytes();
    bulkhead::Runtime runtime(config());
    runtime.start();
    Counters counters;
    const int all = many() / 10 * 10;
    for (std::size_t core = 0; core < cores(); ++core) {
      const int mine = all / static_cast<int>(cores());
      runtime.spawn_with(on_core(core), [&counters, mine] { spawn_waiting(mine, &counters, 1h); });
    }
    ASSERT_TRUE(eventually([&] { return counters.blocked == all; }));
    const std::size_t blocked = support::resident_bytes();
    EXPECT_LT(blocked, before + static_cast<std::size_t>(all) * kMostBytesEach);
    runtime.shutdown(0s);
    EXPECT_EQ(runtime.stats().actors_ended, static_cast<std::size_t>(all) + cores());
    EXPECT_EQ(counters.returned, 0);
    // At least half of their pages. An emulator and the sanitizers keep records of them.
    const std::size_t pages = static_cast<std::size_t>(all) * 4096 / 2;
    EXPECT_LT(support::resident_bytes(),
              support::kMemoryFactor == 1 ? blocked - pages : blocked + (100 << 20))
        << "their stacks are gone";
  });
}

// From now on the calling thread and those that it starts have a kernel without light guards: the
// advice that makes them (102) is not known.
bool forget_light_guards() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// More than vm.max_map_count allows by default, but where sanitizers allow fewer anyway.
TEST_P(ManyGreenThreads, those_beyond_the_limit_on_mappings_fail_and_say_what_to_do) {
  constexpr int kTooMany = support::kMemoryFactor == 1 ? 40'000 : 500;
  const int fit =
      static_cast<int>(std::min<std::size_t>(kTooMany, support::most_mappings() / 2 - 5'000));
  const Ended child = support::run_in_child([fit] {
    // An emulator has neither filters nor light guards.
    static_cast<void>(forget_light_guards());
    std::string said;
    std::atomic<int> failed{0};
    Counters counters;
    bulkhead::Config settings = config();
    settings.on_death = [&](const bulkhead::Death& death) {
      if (death.exit.kind() != bulkhead::Exit::Kind::kPanic) return;
      if (failed.fetch_add(1) == 0) said = death.exit.message();
    };
    bulkhead::Runtime runtime(settings);
    runtime.start();
    runtime.spawn([&counters] { spawn_waiting(kTooMany, &counters, 1h); });
    // Those who fail have counted themselves too.
    if (!eventually([&] { return counters.blocked == kTooMany; })) _exit(2);
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(0s); }));
    if (counters.returned != 0) _exit(3);
    if (kTooMany - failed < fit) _exit(4);
    // Afterwards all is well.
    const int before = failed;
    runtime.start();
    runtime.spawn([&counters] { spawn_waiting(500, &counters, 1ms); });
    if (!runtime.wait_for_idle(support::kDeadline)) _exit(5);
    if (failed != before || counters.returned != 500) _exit(6);
    std::fprintf(stderr, "%d failed: %s\n", failed.load(), said.c_str());
  });
  ASSERT_EQ(child.status, 0) << child.errors;
  if (support::kMemoryFactor == 1 && support::most_mappings() < 2 * kTooMany) {
    EXPECT_NE(child.errors.find("bulkhead: no memory for another stack: memory mappings"),
              std::string::npos)
        << child.errors;
    EXPECT_NE(child.errors.find("vm.max_map_count, which limits them, is " +
                                std::to_string(support::most_mappings()) + "."),
              std::string::npos)
        << child.errors;
    EXPECT_NE(child.errors.find("sysctl -w vm.max_map_count="), std::string::npos) << child.errors;
  } else {
    EXPECT_EQ(child.errors, "0 failed: \n");
  }
}

}  // namespace
