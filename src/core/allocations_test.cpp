// A10, B1, B11: what goes on all the time needs no memory of the process's heap: small messages,
// asks, spawns and ends of small actors, timers. And what must go on when there is none left. This
// program's operator new counts, and can be made to refuse.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "bulkhead/stage.hpp"
#include "core/recorder.hpp"
#include "core/slab.hpp"
#include "support/wait.hpp"

namespace {

std::atomic<long> allocations{0};
std::atomic<bool> exhausted{false};

bulkhead::core::Recorder*& recorder() noexcept { return bulkhead::core::Recorder::current; }

void* allocate(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = nullptr;
  if (exhausted || (recorder() != nullptr && recorder()->refuses())) throw std::bad_alloc();
  // One byte more: the end of a block is never the beginning of another one.
  if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes + 1) !=
      0) {
    throw std::bad_alloc();
  }
  if (recorder() != nullptr) recorder()->add(memory, bytes);
  return memory;
}

void release(void* memory) noexcept {
  if (recorder() != nullptr) recorder()->remove(memory);
  std::free(memory);
}

}  // namespace

constinit thread_local bulkhead::core::Recorder* bulkhead::core::Recorder::current = nullptr;

// Out of line, or the compiler sees that what is freed did not come from operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace bulkhead {
namespace {

using namespace std::chrono_literals;

struct Small {
  std::array<std::byte, 40> bytes{};
};
struct Sixteen {
  long a;
  long b;
};
struct Medium {
  std::array<std::byte, 3000> bytes{};
};

class Receiver {
 public:
  void receive(Small /*message*/) {}
  void receive(Sixteen /*message*/) {}
  void receive(const Medium& /*message*/) {}
  int receive(int value) { return value; }
};

// An end that allocates nothing.
class Mayfly {
 public:
  void receive(int /*message*/) { this_actor::stop(); }
};

class Allocations : public testing::TestWithParam<std::size_t> {
 protected:
  Allocations() : runtime(config()) { runtime.start(); }
  static Config config() {
    Config config;
    config.cores = 2;
    return config;
  }
  static SpawnOptions pinned_to(std::size_t core) {
    SpawnOptions options;
    options.core = core;
    options.pinned = true;
    return options;
  }

  // How often memory is asked for while `body` runs for the third time, in an actor on core 0.
  template <class Body>
  long allocations_of(Body body) {
    std::atomic<long> count{-1};
    const Address<Receiver> receiver = runtime.spawn_with<Receiver>(pinned_to(GetParam()));
    runtime.spawn_with(pinned_to(0), [&count, body, receiver] {
      for (int round = 0; round < 3; ++round) {
        const long before = allocations;
        body(receiver);
        // Until all is handled, and memory has come home.
        static_cast<void>(receiver.ask(1, support::kDeadline));
        count = allocations - before;
      }
    });
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    return count;
  }

  Runtime runtime;
};
// The core of the receiver: the sender's, or another.
INSTANTIATE_TEST_SUITE_P(Cores, Allocations, testing::Values<std::size_t>(0, 1),
                         [](const auto& core) {
                           return core.param == 0 ? "on_one_core" : "between_cores";
                         });

TEST_P(Allocations, none_for_small_messages) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              for (int i = 0; i < 1000; ++i) {
                to.send(Small{});
                to.send(Sixteen{1, 2});
                to.send(5);
              }
            }),
            0);
}

TEST_P(Allocations, none_for_messages_of_up_to_4_kib) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              for (int i = 0; i < 20; ++i) to.send(Medium{});
            }),
            0);
}

TEST_P(Allocations, none_for_asks) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              for (int i = 0; i < 200; ++i) static_cast<void>(to.ask(i, support::kDeadline));
            }),
            0);
}

TEST_P(Allocations, none_for_timers_that_are_started_and_cancelled) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              std::array<TimerRef, 50> timers;
              for (TimerRef& timer : timers) timer = send_after(1h, to, Small{});
              for (const TimerRef timer : timers) static_cast<void>(cancel(timer));
            }),
            0);
}

TEST_P(Allocations, none_for_timers_that_fire) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              for (int i = 0; i < 50; ++i) send_after(100us, to, Small{});
              this_actor::sleep_for(2ms);
            }),
            0);
}

TEST_P(Allocations, none_for_messages_sent_again_and_again) {
  EXPECT_EQ(allocations_of([](Address<Receiver> to) {
              std::array<TimerRef, 20> timers;
              for (TimerRef& timer : timers) timer = send_every(100us, to, Small{});
              this_actor::sleep_for(5ms);
              for (const TimerRef timer : timers) static_cast<void>(cancel(timer));
            }),
            0);
}

// Answered ones, and others that time out.
TEST_P(Allocations, none_for_requests) {
  std::atomic<long> count{-1};
  const Address<Receiver> receiver = runtime.spawn_with<Receiver>(pinned_to(GetParam()));
  using Responses = Mailbox<Response<int>>;
  runtime.spawn_with<Responses>(pinned_to(0), [&count, receiver](Responses& mailbox) {
    for (int round = 0; round < 4; ++round) {
      const auto slots = core::Slab::used();
      const long before = allocations;
      for (int i = 0; i < 100; ++i) {
        this_actor::request(&mailbox, receiver, i, i % 2 == 0 ? 1h : 0h);
      }
      for (int i = 0; i < 100; ++i) static_cast<void>(mailbox.next<Response<int>>());
      static_cast<void>(receiver.ask(1, support::kDeadline));
      count = allocations - before;
      if (round > 0) {
        EXPECT_EQ(core::Slab::used(), slots) << "they are used again";
      }
    }
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(count, 0);
}

TEST_P(Allocations, none_for_small_actors_that_come_and_go) {
  EXPECT_EQ(allocations_of([](Address<Receiver>) {
              for (int i = 0; i < 200; ++i) {
                spawn<Mayfly>().send(1);
                if (i % 20 == 0) this_actor::yield();
              }
              this_actor::sleep_for(1ms);
            }),
            0);
}

TEST_P(Allocations, none_for_waits) {
  EXPECT_EQ(allocations_of([](Address<Receiver>) {
              for (int i = 0; i < 100; ++i) {
                this_actor::yield();
                this_actor::sleep_for(10us);
              }
            }),
            0);
}

// Idle actors that one handler makes ready, more than the ready queue has room for.
TEST_P(Allocations, many_actors_become_ready_without_memory) {
  std::atomic<int> handled{0};
  class Idle {
   public:
    explicit Idle(std::atomic<int>* count) : count_(count) {}
    void receive(int /*message*/) { ++*count_; }

   private:
    std::atomic<int>* count_;
  };
  std::vector<Address<Idle>> all;
  all.reserve(5000);
  for (int i = 0; i < 5000; ++i) all.push_back(runtime.spawn_with<Idle>(pinned_to(0), &handled));
  // There is memory for messages from here on; the queue's room goes when its core falls idle.
  runtime.spawn_with(pinned_to(0), [&] {
    for (const auto& idle : all) EXPECT_EQ(idle.send(1), Delivery::kQueued);
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  handled = 0;
  runtime.spawn_with(pinned_to(0), [&] {
    exhausted = true;
    for (int round = 0; round < 2; ++round) {
      for (const auto& idle : all) static_cast<void>(idle.send(1));
      this_actor::yield();
    }
    exhausted = false;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const Stats stats = runtime.stats();
  const auto refused = static_cast<int>(stats.dropped_for(DropCause::kNoMemory));
  EXPECT_EQ(handled + refused, 10'000);
  EXPECT_GT(handled, 2000);
}

TEST_P(Allocations, an_actor_may_fail_without_memory) {
  std::atomic<int> told{0};
  Config config;
  config.cores = 2;
  config.on_death = [&told](const Death& death) {
    exhausted = false;
    if (death.exit.kind() == Exit::Kind::kPanic && death.exit.message() == "out of memory" &&
        death.exit.type() == "std::bad_alloc" && death.exit.failure() != nullptr) {
      ++told;
    }
  };
  Runtime other(config);
  other.start();
  other.spawn_with(pinned_to(GetParam()), [] {
    exhausted = true;
    throw std::bad_alloc();
  });
  ASSERT_TRUE(other.wait_for_idle(support::kDeadline));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(other.stats().actors_failed, 1u);
}

// B1: a stage has all that it needs when it is made; what its actors are is taken once.
TEST(StageMemory, is_taken_when_it_is_made) {
  StageConfig config;
  config.actors = 8;
  config.timers = 4;
  Stage stage(config);
  const auto receiver = stage.spawn<Receiver>();
  int left = 20;
  stage.spawn([&left, receiver] {
    for (; left > 0; --left) {
      for (int i = 0; i < 8; ++i) receiver.send(Small{});
      EXPECT_EQ(receiver.ask(left, support::kDeadline), left);
      const auto mayfly = spawn<Mayfly>();
      mayfly.send(1);
      const TimerRef late = send_after<int>(1h, mayfly, 1);
      send_after<Small>(1us, receiver, Small{});
      cancel(late);
      this_actor::sleep_for(1us);
    }
  });
  while (left > 15) stage.run(100us);
  const long before = allocations;
  const std::uint64_t pool = stage.stats().pool_bytes;
  EXPECT_GT(pool, 0);
  while (left > 0) stage.run(100us);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(stage.stats().pool_bytes, pool);
}

// What the log is told of one is redacted, or left out, also without memory.
TEST_P(Allocations, what_cannot_be_redacted_is_not_told) {
  struct Kept final : Log {
    void crash(const CrashReport& report) override {
      exhausted = false;
      bare = report.reason.empty() && report.causes.empty() && report.label.empty() &&
             report.state.empty() && report.stack.empty() && report.kind == Exit::Kind::kPanic;
      told = true;
    }
    void line(std::string_view /*text*/) override {}
    std::atomic<bool> bare{false};
    std::atomic<bool> told{false};
  };
  const auto log = std::make_shared<Kept>();
  Config config;
  config.cores = 2;
  config.log.log = log;
  config.log.redact = [](CrashReport& report) {
    report.reason.shrink_to_fit();
    exhausted = true;
    report.reason.append(1000, 'x');  // throws std::bad_alloc
  };
  Runtime other(config);
  other.start();
  other.spawn_with(pinned_to(GetParam()), [] {
    this_actor::set_label("secret");
    throw std::runtime_error("secret");
  });
  EXPECT_TRUE(support::eventually([&] { return log->told.load(); }));
  EXPECT_TRUE(log->bare);
  other.shutdown();
}

}  // namespace
}  // namespace bulkhead
