// D3: actors in each state that the debugger shows, for check_gdb.py; some are stuck. When they are
// all there, the program calls stop_here(), where a breakpoint stops it, then went_on(); or, with
// "abort" as its argument, ends by an abort in an actor.
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

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
extern "C" [[gnu::noinline]] void went_on() { asm volatile("# went on" ::: "memory"); }

class Runner {
 public:
  explicit Runner(bool aborts) : aborts_(aborts) {}
  void receive(Ping /*message*/) const {
    if (aborts_) std::abort();
    stop_here();
    went_on();
    std::_Exit(0);
  }

 private:
  bool aborts_;
};

// Frames of the actor's own, with something to see in them.
[[gnu::noinline]] int sleep_deeply(int depth) {  // NOLINT(misc-no-recursion)
  static volatile int depths[64];                // NOLINT(modernize-avoid-c-arrays)
  depths[depth] = depth;
  volatile int seen = depths[depth];
  if (depth == 0) {
    this_actor::sleep_for(10min);
    return seen;
  }
  return sleep_deeply(depth - 1) + seen;
}

struct Sleeper {
  void operator()() const { static_cast<void>(sleep_deeply(3)); }
};

// Calls that are inlined into functions without a name, which the standard library calls.
struct Taker {
  bulkhead::Receiver<int> receiver;
  void operator()() const {
    const std::array<int, 1> once{};
    std::for_each(once.begin(), once.end(), [&](int) { static_cast<void>(receiver.recv()); });
  }
};
struct Locker {
  bulkhead::Mutex& mutex;
  void operator()() const {
    const std::function<void()> wait = [&] {
      const auto guard = std::make_optional(mutex.lock_for(bulkhead::kForever));
    };
    wait();
  }
};

struct Errand {
  void operator()() const { this_actor::sleep_for(10min); }
};
struct Owner {
  void operator()() const {
    bulkhead::CancellationScope scope;
    scope.spawn_with({.pinned = true}, Errand{});
    scope.wait();
  }
};

// Calls in whose midst stands code of the library's headers, or of the standard library's. The
// lines that call are marked.
struct Napper {
  void operator()() const {
    for (int naps = 0; naps < 1000; ++naps) {
      this_actor::sleep_for(10min);  // calls: Napper
    }
  }
};
struct Opener {
  int descriptor;
  void operator()() const {
    auto file = bulkhead::io::File::open("/dev/fd/" + std::to_string(descriptor));
    static_cast<void>(file->read(10));  // calls: Opener
  }
};
struct Accepter {
  void operator()() const {
    auto listener = bulkhead::net::Listener::listen(bulkhead::net::Endpoint::loopback(0));
    static_cast<void>(listener->accept());  // calls: Accepter
  }
};
struct Leaver {
  void operator()() const {
    bulkhead::CancellationScope scope;
    scope.spawn_with({.pinned = true}, Errand{});
  }  // calls: Leaver
};
struct Nexter {
  void operator()(bulkhead::Mailbox<int>& mailbox) const {
    mailbox.next([](int) {});  // calls: Nexter
  }
};

// Those who are stuck: one in a system call, in a frame of its own, and one in a loop.
std::atomic<int> stuck = 0;

[[gnu::noinline]] char wait_for_a_byte(int descriptor) {
  char byte = 0;
  ++stuck;
  if (::read(descriptor, &byte, 1) != 1) byte = '?';
  return byte;
}

class Reader {
 public:
  explicit Reader(int descriptor) : descriptor_(descriptor) {}
  void receive(Ping /*message*/) { last_ = wait_for_a_byte(descriptor_); }

 private:
  int descriptor_;
  char last_ = 0;
};

struct Looper {
  void operator()() const {
    ++stuck;
    for (volatile bool on = true; on;) {
    }
  }
};

/// Whoever is on its core is stuck when this cannot have its turn.
struct Next {
  void receive(Ping /*message*/) {}
};

// Until `count` handlers are stuck, and their cores have gone on without them.
void wait_for_stuck(const bulkhead::Runtime& runtime, int count, bulkhead::Address<Next> next) {
  while (stuck < count) std::this_thread::sleep_for(1ms);
  next.send(Ping{});
  while (runtime.stats().away < static_cast<std::uint64_t>(count)) {
    std::this_thread::sleep_for(1ms);
  }
}

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
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return 1;
  const auto next = runtime.spawn_with<Next>({.core = 1, .pinned = true});
  const auto reader = runtime.spawn_with<Reader>({.core = 1}, pipe[0]);
  reader.send(Ping{});
  wait_for_stuck(runtime, 1, next);
  const auto looper = runtime.spawn_with({.core = 1}, Looper{});
  wait_for_stuck(runtime, 2, next);
  bulkhead::Mutex mutex;
  const auto guard = mutex.lock();
  const auto channel = bulkhead::make_channel<int>();
  const auto taker = runtime.spawn_with({.core = 0, .pinned = true}, Taker{channel.receiver});
  const auto locker = runtime.spawn_with({.core = 0, .pinned = true}, Locker{mutex});
  const bool aborts = argc > 1 && std::strcmp(argv[1], "abort") == 0;
  const auto runner = runtime.spawn_with<Runner>({.core = 0, .pinned = true}, aborts);
  const auto owner = runtime.spawn_with({.core = 1, .pinned = true}, Owner{});
  runtime.spawn_with({.core = 0, .pinned = true}, Napper{});
  runtime.spawn_with({.core = 0, .pinned = true}, Opener{pipe[0]});
  runtime.spawn_with({.core = 0, .pinned = true}, Accepter{});
  runtime.spawn_with({.core = 1, .pinned = true}, Leaver{});
  runtime.spawn_with<bulkhead::Mailbox<int>>({.core = 0, .pinned = true}, Nexter{});
  // Those who are blocked do not count as idle: give them time to get there.
  std::this_thread::sleep_for(300ms);
  std::printf("ended %s sleeper %s holder %s blocker %s\n", to_string(ended).c_str(),
              to_string(sleeper).c_str(), to_string(holder.pid()).c_str(),
              to_string(blocker.pid()).c_str());
  std::printf("next %s reader %s looper %s\n", to_string(next.pid()).c_str(),
              to_string(reader.pid()).c_str(), to_string(looper).c_str());
  std::printf("taker %s locker %s owner %s\n", to_string(taker).c_str(), to_string(locker).c_str(),
              to_string(owner).c_str());
  std::fflush(stdout);
  runner.send(Ping{});
  std::this_thread::sleep_for(1min);
}
