// For tools/gdb/bulkhead_gdb_test.py: actors in each state that the debugger shows. When they are
// all there, the program calls stop_here(), where a breakpoint stops it, and with "abort" as its
// argument ends by an abort in an actor.
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

struct Hold {
  using Answer = void;
};
struct Ping {};

/// Never answers.
class Holder {
 public:
  void receive(Hold /*message*/, bulkhead::Reply<void> reply) { reply_.emplace(std::move(reply)); }

 private:
  std::optional<bulkhead::Reply<void>> reply_;
};

/// Blocks in its first message, so that the others wait in its queue.
class Blocker {
 public:
  explicit Blocker(bulkhead::Address<Holder> holder) : holder_(holder) {}
  void receive(Ping /*message*/) { static_cast<void>(holder_.ask(Hold{}, bulkhead::kForever)); }

 private:
  bulkhead::Address<Holder> holder_;
};

extern "C" [[gnu::noinline]] void stop_here() { asm volatile("" ::: "memory"); }

// Frames of the actor's own, with something to see in them.
[[gnu::noinline]] int sleep_deeply(int depth) {  // NOLINT(misc-no-recursion)
  volatile int seen = depth;
  if (depth == 0) {
    this_actor::sleep_for(10min);
    return seen;
  }
  return sleep_deeply(depth - 1) + seen;
}

struct Sleeper {
  void operator()() const { static_cast<void>(sleep_deeply(3)); }
};

int main(int argc, char** argv) {
  bulkhead::Config config;
  config.cores = 2;
  bulkhead::Runtime runtime(config);
  runtime.start();
  const auto ended = runtime.spawn([] {});
  const auto sleeper = runtime.spawn_with({.core = 1, .pinned = true}, Sleeper{});
  const auto holder = runtime.spawn_with<Holder>({.core = 0, .pinned = true});
  const auto blocker = runtime.spawn_with<Blocker>({.core = 0, .pinned = true}, holder);
  for (int i = 0; i < 4; ++i) blocker.send(Ping{});
  // Those who are blocked do not count as idle: give them time to get there.
  std::this_thread::sleep_for(300ms);
  std::printf("ended %s sleeper %s holder %s blocker %s\n", to_string(ended).c_str(),
              to_string(sleeper).c_str(), to_string(holder.pid()).c_str(),
              to_string(blocker.pid()).c_str());
  std::fflush(stdout);
  if (argc > 1 && std::strcmp(argv[1], "abort") == 0) {
    runtime.spawn_with({.core = 0}, [] { std::abort(); });
    std::this_thread::sleep_for(1min);
  }
  runtime.spawn_with({.core = 0}, [] {
    stop_here();
    std::_Exit(0);
  });
  std::this_thread::sleep_for(1min);
}
