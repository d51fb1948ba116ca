// A7, A12, A13, A15, A18, A20, A23, C9: random programs on one runtime, with threads outside that
// join in, over several lives of the runtime.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "stress/world.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace {

using bulkhead::Runtime;
using stress::Actor;
using stress::World;
using namespace std::chrono_literals;

class RandomPrograms : public support::OnCores {
 protected:
  RandomPrograms() : world(cores()), runtime(with_hook()) {}

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_dead_letter = [this](const bulkhead::DeadLetter& letter) { world.told(letter); };
    return config;
  }

  // A thread outside: it spawns, sends, asks and stops, like an actor.
  void outsider(std::uint64_t seed, std::uint32_t number) {
    stress::Sender sender(world, bulkhead::Pid(0xffffff00 + number, 1), seed);
    support::Random& random = sender.random();
    while (!world.over) {
      switch (random.below(10)) {
        case 0:
          if (world.laws.alive < 300) {
            world.make_known(
                runtime.spawn_with<Actor>(world.any_options(random), &world, random.seed()),
                random);
          }
          break;
        case 1:
          sender.ask(3);
          break;
        case 2:
          sender.send_or_wait(3);
          break;
        case 3:
          if (const auto somebody = world.anybody(random); somebody && random.one_in(20)) {
            bulkhead::stop(somebody);
          }
          break;
        default:
          sender.send_parcel(random.below(6));
      }
      // Keep the number of messages under way within bounds, as a real program would.
      if (random.one_in(50) &&
          world.laws.sent + world.laws.asked > world.laws.completed + world.laws.letters + 20'000) {
        std::this_thread::yield();
      }
    }
  }

  void run_for(std::chrono::milliseconds time, std::uint64_t seed) {
    world.over = false;
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < 2; ++i) {
      threads.emplace_back([this, seed, i] { outsider(seed + i, i); });
    }
    std::this_thread::sleep_for(time);
    world.over = true;
    for (std::thread& thread : threads) thread.join();
  }

  World world;
  Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(RandomPrograms);

TEST_P(RandomPrograms, obey_the_laws_when_all_is_quiet) {
  const std::uint64_t seed = support::seed_of_test();
  runtime.start();
  run_for(support::stress_time(), seed);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  world.expect_laws(runtime.stats());
  // Enough happened for the laws to mean something.
  EXPECT_GT(world.laws.completed, 1000u);
  EXPECT_GT(runtime.stats().actors_ended, 100u);
  EXPECT_GT(runtime.stats().actors_failed, 10u);
  runtime.shutdown();
  world.expect_laws(runtime.stats());
  world.expect_nothing_left(runtime.stats());
}

// The runtime is shut down in the middle of it all, and started again.
TEST_P(RandomPrograms, obey_the_laws_over_many_lives) {
  const std::uint64_t seed = support::seed_of_test();
  support::Random random(seed);
  const auto end = support::Clock::now() + support::stress_time();
  const std::string said = support::stderr_of([&] {
    for (int life = 0; life < 5 || support::Clock::now() < end; ++life) {
      world.forget_all();
      runtime.start();
      run_for(std::chrono::milliseconds(random.below(60)), random.seed());
      runtime.shutdown(std::chrono::milliseconds(random.below(5)));
      world.expect_laws(runtime.stats());
      world.expect_nothing_left(runtime.stats());
      if (HasFailure()) break;
    }
  });
  if (HasFailure()) std::cerr << said;
}

}  // namespace
