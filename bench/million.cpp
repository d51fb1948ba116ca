// A million green threads in one process, each blocked in the middle of a function on a guarded
// stack of its own: what each costs to make, to block, to wake and to end, and where its memory is.
//
//     million [THREADS] [CORES] [STACK_KIB]        1,000,000 threads on 1 core, 64 KiB if not given
//
// Two rounds: in the first all are woken and return; in the second the runtime is shut down while
// they are blocked, which unwinds them. What they wait in stands in one place, wait().
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Sizes {
  std::uint64_t threads = 1'000'000;
  std::uint64_t cores = 1;
  std::uint64_t stack_kib = 64;
};

struct Pass {
  using Answer = void;
};
struct Open {};
struct Waiting {};

/// Where all of them wait.
class Door {
 public:
  void receive(Pass /*message*/, bulkhead::Reply<void> reply) {
    waiting_.push_back(std::move(reply));
  }
  void receive(Open /*message*/) {
    for (auto& reply : waiting_) reply();
    waiting_.clear();
  }
  std::uint64_t receive(Waiting /*message*/) { return waiting_.size(); }

 private:
  std::vector<bulkhead::Reply<void>> waiting_;
};

void wait(bulkhead::Address<Door> door) { static_cast<void>(door.ask(Pass{}, bulkhead::kForever)); }

struct Memory {
  double resident = 0;  // bytes
  double page_tables = 0;
  double mappings = 0;
};

Memory memory_now() {
  Memory memory;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> memory.resident;
    if (word == "VmPTE:") status >> memory.page_tables;
  }
  memory.resident *= 1024;
  memory.page_tables *= 1024;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++memory.mappings;
  return memory;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "million: check failed: %s\n", what);
  std::_Exit(1);
}

/// One round, and the lines that it prints.
class Round {
 public:
  explicit Round(const Sizes& sizes)
      : sizes_(sizes), runtime_(settings(sizes)), before_(memory_now()) {
    runtime_.start();
    door_ = runtime_.spawn_with<Door>(bulkhead::SpawnOptions{.pinned = true});
  }

  /// From the first spawn until all of them are blocked.
  void make() {
    const auto began = Clock::now();
    for (std::uint64_t core = 0; core < sizes_.cores; ++core) {
      const std::uint64_t mine =
          sizes_.threads / sizes_.cores + (core < sizes_.threads % sizes_.cores ? 1 : 0);
      runtime_.spawn_with(bulkhead::SpawnOptions{.core = core, .pinned = true},
                          [mine, door = door_] { spawn_threads(mine, door); });
    }
    while (door_.ask(Waiting{}).value_or(0) != sizes_.threads) {
    }
    tell("made and blocked", began);
    const Memory after = memory_now();
    const auto each = static_cast<double>(sizes_.threads);
    std::printf("  %-22s %8.0f bytes each\n", "resident",
                (after.resident - before_.resident) / each);
    std::printf("  %-22s %8.0f bytes each\n", "page tables",
                (after.page_tables - before_.page_tables) / each);
    std::printf("  %-22s %8.0f in all\n", "mappings", after.mappings - before_.mappings);
  }

  /// Until all have returned.
  void wake() {
    const auto began = Clock::now();
    door_.send(Open{});
    require(runtime_.wait_for_idle(std::chrono::minutes(10)), "all have returned");
    tell("woken and returned", began);
    require(runtime_.stats().actors_ended == sizes_.threads + sizes_.cores, "all have ended");
  }

  void shut_down(const char* what) {
    const auto began = Clock::now();
    runtime_.shutdown(std::chrono::seconds(0));
    tell(what, began);
    const Memory after = memory_now();
    std::printf("  %-22s %8.0f bytes each, of what was resident\n", "left over",
                (after.resident - before_.resident) / static_cast<double>(sizes_.threads));
  }

 private:
  static bulkhead::Config settings(const Sizes& sizes) {
    bulkhead::Config config;
    config.cores = sizes.cores;
    config.stack_size = sizes.stack_kib * 1024;
    return config;
  }

  /// Some at a time, so that they block before all of them have been made.
  static void spawn_threads(std::uint64_t count, bulkhead::Address<Door> door) {
    for (std::uint64_t i = 0; i < count; ++i) {
      bulkhead::spawn([door] { wait(door); });
      if (i % 256 == 255) bulkhead::this_actor::yield();
    }
  }

  void tell(const char* what, Clock::time_point began) const {
    const auto ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
    std::printf("  %-22s %8.0f ns each, %.2f s in all\n", what,
                ns / static_cast<double>(sizes_.threads), ns / 1e9);
    std::fflush(stdout);
  }

  Sizes sizes_;
  bulkhead::Runtime runtime_;
  Memory before_;
  bulkhead::Address<Door> door_;
};

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (value == 0 || *end != '\0') {
    std::fprintf(stderr, "usage: million [THREADS] [CORES] [STACK_KIB]\n");
    std::exit(2);
  }
  return value;
}

void run(const Sizes& sizes) {
  std::printf("%llu green threads on %llu core(s), stacks of %llu KiB\n",
              static_cast<unsigned long long>(sizes.threads),
              static_cast<unsigned long long>(sizes.cores),
              static_cast<unsigned long long>(sizes.stack_kib));
  {
    std::printf("woken:\n");
    Round round(sizes);
    round.make();
    round.wake();
    round.shut_down("shutdown");
  }
  std::printf("unwound by the shutdown:\n");
  Round round(sizes);
  round.make();
  round.shut_down("unwound");
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  if (argc > 1) sizes.threads = number(argv[1]);
  if (argc > 2) sizes.cores = number(argv[2]);
  if (argc > 3) sizes.stack_kib = number(argv[3]);
  try {
    run(sizes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "million: %s\n", error.what());
    return 1;
  }
}
