// A million green threads in one process, each blocked in the middle of a function on a guarded
// stack of its own: what each costs to make, to block, to wake and to end, and where its memory is.
//
//     million [THREADS] [CORES] [STACK_KIB] [PLACE]
//
// 1,000,000 threads on 1 core, stacks of 64 KiB, if not given. PLACE is where they wait:
//
//     ask       for the answer of an actor that answers when it is told to, if not given
//     own       to receive from a channel, each from one of its own
//     shared    to receive from one channel, all of them
//
// Two rounds: in the first all are woken, each by a message, and return; in the second the runtime
// is shut down while they are blocked, which unwinds them. What is made for a wait counts as
// memory of the thread; the senders, 8 bytes each, do not.
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

enum class Place { kAsk, kOwn, kShared };

struct Sizes {
  std::uint64_t threads = 1'000'000;
  std::uint64_t cores = 1;
  std::uint64_t stack_kib = 64;
  Place place = Place::kAsk;
};

struct Pass {
  using Answer = void;
};
struct Open {};
struct Waiting {};

/// Answers all at once.
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
  explicit Round(const Sizes& sizes) : sizes_(sizes), runtime_(settings(sizes)) {
    if (sizes.place == Place::kOwn) senders_.resize(sizes.threads);
    if (sizes.place == Place::kShared) {
      auto [sender, receiver] = bulkhead::make_channel<std::uint64_t>();
      senders_.push_back(std::move(sender));
      shared_ = std::move(receiver);
    }
    before_ = memory_now();
    runtime_.start();
    door_ = runtime_.spawn_with<Door>(bulkhead::SpawnOptions{.pinned = true});
  }

  /// From the first spawn until all of them are blocked.
  void make() {
    const auto began = Clock::now();
    std::uint64_t first = 0;
    for (std::uint64_t core = 0; core < sizes_.cores; ++core) {
      const std::uint64_t mine =
          sizes_.threads / sizes_.cores + (core < sizes_.threads % sizes_.cores ? 1 : 0);
      runtime_.spawn_with(bulkhead::SpawnOptions{.core = core, .pinned = true},
                          [this, first, mine] { spawn_threads(first, mine); });
      first += mine;
    }
    while (waiting() != sizes_.threads) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    if (sizes_.place == Place::kAsk) {
      door_.send(Open{});
    } else {
      runtime_.spawn_with(bulkhead::SpawnOptions{.pinned = true}, [this] { send_to_all(); });
    }
    require(runtime_.wait_for_idle(std::chrono::minutes(10)), "all have returned");
    tell("woken and returned", began);
    const std::uint64_t others = sizes_.cores + (sizes_.place == Place::kAsk ? 0 : 1);
    require(runtime_.stats().actors_ended == sizes_.threads + others, "all have ended");
    require(runtime_.stats().actors_failed == 0, "all have got what they waited for");
  }

  void shut_down(const char* what) {
    const auto began = Clock::now();
    runtime_.shutdown(std::chrono::seconds(0));
    tell(what, began);
    senders_.clear();
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
  void spawn_threads(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      spawn_thread(first + i);
      if (i % 256 == 255) bulkhead::this_actor::yield();
    }
  }

  void spawn_thread(std::uint64_t number) {
    if (sizes_.place == Place::kAsk) {
      bulkhead::spawn([door = door_] { static_cast<void>(door.ask(Pass{}, bulkhead::kForever)); });
      return;
    }
    bulkhead::Receiver<std::uint64_t> receiver = shared_;
    if (sizes_.place == Place::kOwn) {
      auto [sender, own] = bulkhead::make_channel<std::uint64_t>();
      senders_[number] = std::move(sender);
      receiver = std::move(own);
    }
    bulkhead::spawn([this, receiver = std::move(receiver)] {
      blocked_.fetch_add(1, std::memory_order_relaxed);
      require(receiver.recv().has_value(), "a value was received");
    });
  }

  void send_to_all() {
    for (std::uint64_t i = 0; i < sizes_.threads; ++i) {
      const bool own = sizes_.place == Place::kOwn;
      require(senders_[own ? i : 0].send(i).has_value(), "a value was sent");
    }
  }

  /// How many are blocked, or are just about to be.
  std::uint64_t waiting() {
    if (sizes_.place == Place::kAsk) return door_.ask(Waiting{}).value_or(0);
    return blocked_.load(std::memory_order_relaxed);
  }

  void tell(const char* what, Clock::time_point began) const {
    const auto ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
    std::printf("  %-22s %8.0f ns each, %.2f s in all\n", what,
                ns / static_cast<double>(sizes_.threads), ns / 1e9);
    std::fflush(stdout);
  }

  Sizes sizes_;
  std::vector<bulkhead::Sender<std::uint64_t>> senders_;
  bulkhead::Receiver<std::uint64_t> shared_;
  std::atomic<std::uint64_t> blocked_{0};
  Memory before_;
  bulkhead::Address<Door> door_;
  bulkhead::Runtime runtime_;
};

[[noreturn]] void refuse() {
  std::fprintf(stderr, "usage: million [THREADS] [CORES] [STACK_KIB] [ask|own|shared]\n");
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (value == 0 || *end != '\0') refuse();
  return value;
}

Place place(std::string_view text) {
  if (text == "ask") return Place::kAsk;
  if (text == "own") return Place::kOwn;
  if (text != "shared") refuse();
  return Place::kShared;
}

void run(const Sizes& sizes) {
  static constexpr const char* kPlaces[] = {"an ask", "recv, each of a channel of its own",
                                            "recv, all of one channel"};
  std::printf("%llu green threads on %llu core(s), stacks of %llu KiB, blocked in %s\n",
              static_cast<unsigned long long>(sizes.threads),
              static_cast<unsigned long long>(sizes.cores),
              static_cast<unsigned long long>(sizes.stack_kib),
              kPlaces[static_cast<std::size_t>(sizes.place)]);
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
  if (argc > 4) sizes.place = place(argv[4]);
  try {
    run(sizes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "million: %s\n", error.what());
    return 1;
  }
}
