// C7, C8: random programs of actors on several cores and threads outside over a few locks, with
// timeouts, failures and cancellations. What must hold: a lock is held once, what it guards is not
// torn, permits are conserved, and nobody waits for ever.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::CancellationScope;
using bulkhead::ConditionVariable;
using bulkhead::Mutex;
using bulkhead::Semaphore;
using support::Random;
using namespace std::chrono_literals;

constexpr std::size_t kLocks = 3;
constexpr std::uint32_t kPermits = 4;

/// A mutex, what it guards, and what is known of it from outside.
struct Guarded {
  Mutex mutex;
  ConditionVariable changed;
  std::uint64_t first = 0;  // both are the same, whenever nobody holds the mutex
  std::uint64_t second = 0;
  long tokens = 0;
  std::atomic<int> inside{0};
};

struct World {
  std::array<Guarded, kLocks> guarded;
  Semaphore permits{kPermits, kPermits};
  std::atomic<std::uint32_t> out{0};
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> locked{0};
  std::atomic<std::uint64_t> timed_out{0};

  void expect(bool holds) {
    if (!holds) ++wrong;
  }
};

/// The holder of a mutex, while it changes what that guards.
class Inside {
 public:
  Inside(World& world, Guarded& guarded) : world_(world), guarded_(guarded) {
    world_.expect(++guarded_.inside == 1);
    world_.expect(guarded_.first == guarded_.second);
    ++guarded_.first;
    ++world_.locked;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    guarded_.second = guarded_.first;
    world_.expect(--guarded_.inside == 0);
  }

 private:
  World& world_;
  Guarded& guarded_;
};

class Permits {
 public:
  Permits(World& world, std::uint32_t count) : world_(world), count_(count) {
    world_.expect(world_.out.fetch_add(count_) + count_ <= kPermits);
  }
  Permits(const Permits&) = delete;
  Permits& operator=(const Permits&) = delete;
  ~Permits() {
    world_.out -= count_;
    world_.permits.release(count_);
  }

 private:
  World& world_;
  std::uint32_t count_;
};

void pause(Random& random) {
  if (!bulkhead::in_actor()) {
    if (random.one_in(8)) std::this_thread::yield();
    return;
  }
  switch (random.below(8)) {
    case 0:
      this_actor::sleep_for(std::chrono::microseconds(random.below(300)));
      break;
    case 1:
    case 2:
      this_actor::yield();
      break;
    default:
      break;
  }
}

bulkhead::Timeout some_time(Random& random) {
  if (random.one_in(3)) return 20s;
  return std::chrono::microseconds(random.below(400));
}

void lock_one(World& world, Random& random) {
  Guarded& guarded = world.guarded[random.below(kLocks)];
  auto guard = guarded.mutex.try_lock_for(some_time(random));
  if (!guard) {
    ++world.timed_out;
    return;
  }
  const Inside inside(world, guarded);
  pause(random);
  if (bulkhead::in_actor() && random.one_in(50)) throw std::runtime_error("with the lock in hand");
}

void put_or_take(World& world, Random& random) {
  Guarded& guarded = world.guarded[random.below(kLocks)];
  auto guard = guarded.mutex.lock();
  if (random.one_in(2)) {
    ++guarded.tokens;
    guarded.changed.notify_one();
  } else if (guarded.changed.wait_for(guard, some_time(random),
                                      [&] { return guarded.tokens > 0 || world.over; })) {
    if (guarded.tokens > 0) --guarded.tokens;
  }
  world.expect(static_cast<bool>(guard));
  const Inside inside(world, guarded);
}

void take_permits(World& world, Random& random) {
  const std::uint32_t count = 1 + random.below(kPermits);
  if (!world.permits.acquire_for(some_time(random), count)) {
    ++world.timed_out;
    return;
  }
  const Permits permits(world, count);
  pause(random);
}

void act(World& world, Random& random) {
  switch (random.below(3)) {
    case 0:
      lock_one(world, random);
      break;
    case 1:
      put_or_take(world, random);
      break;
    default:
      take_permits(world, random);
      break;
  }
}

class RandomLocks : public support::Running {
 protected:
  void actor(World& world, std::uint64_t seed) {
    Random random(seed);
    while (!world.over) {
      if (random.one_in(40)) {
        try {
          family(world, random);
        } catch (const std::runtime_error&) {
        }
      }
      try {
        act(world, random);
      } catch (const std::runtime_error&) {
      }
      if (random.one_in(10)) static_cast<void>(bulkhead::blocking([] { return 1; }));
    }
  }

  /// Children that are cancelled, fail, or come to their end.
  void family(World& world, Random& random) {
    CancellationScope scope;
    const std::uint32_t children = 1 + random.below(4);
    for (std::uint32_t i = 0; i < children; ++i) {
      scope.spawn_with(on_core(random.below(8)), [&world, seed = random.seed()] {
        Random mine(seed);
        const std::uint32_t steps = mine.below(20);
        for (std::uint32_t k = 0; k < steps; ++k) act(world, mine);
      });
    }
    pause(random);
    if (random.one_in(2)) scope.cancel();
    if (random.one_in(2)) scope.wait();
  }
};
ON_ONE_AND_SEVERAL_CORES(RandomLocks);

TEST_P(RandomLocks, keep_their_laws) {
  Random random(support::seed_of_test());
  World world;
  for (std::size_t i = 0; i < 12; ++i) {
    runtime.spawn_with(on_core(i), [this, &world, seed = random.seed()] { actor(world, seed); });
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&world, seed = random.seed()] {
      Random mine(seed);
      while (!world.over) act(world, mine);
    });
  }
  std::this_thread::sleep_for(support::stress_time());
  world.over = true;
  for (Guarded& guarded : world.guarded) {
    auto guard = guarded.mutex.lock();
    guarded.changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  wait_for_idle();
  EXPECT_EQ(world.wrong, 0u);
  EXPECT_EQ(world.permits.available(), kPermits);
  EXPECT_GT(world.locked, 0u);
  EXPECT_GT(world.timed_out, 0u);
  for (Guarded& guarded : world.guarded) {
    EXPECT_TRUE(guarded.mutex.try_lock());
    EXPECT_EQ(guarded.first, guarded.second);
  }
}

// The runtime is shut down in the middle: all are unwound, whatever they wait for.
TEST_P(RandomLocks, keep_their_laws_when_all_are_ended) {
  Random random(support::seed_of_test());
  const auto end = support::Clock::now() + support::stress_time();
  while (support::Clock::now() < end) {
    World world;
    for (std::size_t i = 0; i < 12; ++i) {
      runtime.spawn_with(on_core(i), [this, &world, seed = random.seed()] { actor(world, seed); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(20)));
    static_cast<void>(support::stderr_of([&] { runtime.shutdown(0s); }));
    EXPECT_EQ(world.wrong, 0u);
    EXPECT_EQ(world.permits.available(), kPermits);
    for (Guarded& guarded : world.guarded) {
      EXPECT_TRUE(guarded.mutex.try_lock());
      EXPECT_EQ(guarded.first, guarded.second);
    }
    if (HasFailure()) return;
    runtime.start();
  }
}

}  // namespace
