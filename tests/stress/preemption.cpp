// C10: the random programs of programs.cpp, while every allocation of an actor, every check and
// every stretch of code that is compiled for it may let others run. The laws hold all the same, and
// when the runtime is shut down in the middle of it all, nothing is left.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "preemptible/loops.hpp"
#include "stress/world.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace {

using bulkhead::NoPreempt;
using bulkhead::Runtime;
using stress::Actor;
using stress::World;
using namespace std::chrono_literals;

namespace this_actor = bulkhead::this_actor;

class PreemptedPrograms : public support::OnCores {
 protected:
  PreemptedPrograms() : world(cores()), runtime(preempting()) {}

  bulkhead::Config preempting() {
    bulkhead::Config config = support::OnCores::config();
    config.preempt_allocations = 1;
    config.preempt_reductions = 50;
    config.time_slice = 0ns;
    // Hooks allocate too, and are in the middle of what the runtime does.
    config.on_dead_letter = [this](const bulkhead::DeadLetter& letter) {
      const auto text = std::make_unique<std::string>(letter.message_type);
      world.told(letter);
    };
    config.on_death = [](const bulkhead::Death& death) {
      if (to_string(death.exit).empty()) std::abort();
    };
    return config;
  }

  // Actors that do nothing but give way, in all ways, and make others.
  void add_noise(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 4 * cores(); ++i) {
      runtime.spawn_with(on_core(i), [this, seed, i] {
        support::Random random(seed + i);
        while (!world.over) {
          switch (random.below(6)) {
            case 0:
              faults += preemptible::unwind(2);
              break;
            case 1: {
              const NoPreempt scope;
              preemptible::work(random.below(500));
              bulkhead::check();
              break;
            }
            case 2:
              bulkhead::spawn([] { preemptible::work(200); });
              break;
            case 3:
              this_actor::sleep_for(std::chrono::microseconds(random.below(200)));
              break;
            default:
              preemptible::work(random.below(1000));
              bulkhead::check();
          }
        }
      });
    }
  }

  void run_for(std::chrono::milliseconds time, std::uint64_t seed) {
    world.over = false;
    add_noise(seed);
    std::thread outsider([&] {
      stress::Sender sender(world, bulkhead::Pid(0xffffff00, 1), seed);
      support::Random& random = sender.random();
      while (!world.over) {
        if (random.one_in(10) && world.laws.alive < 200) {
          world.make_known(
              runtime.spawn_with<Actor>(world.any_options(random), &world, random.seed()), random);
        } else if (random.one_in(5)) {
          sender.ask(3);
        } else {
          sender.send_parcel(random.below(6));
        }
        if (world.laws.sent + world.laws.asked >
            world.laws.completed + world.laws.letters + 5'000) {
          std::this_thread::sleep_for(1ms);
        }
      }
    });
    std::this_thread::sleep_for(time);
    world.over = true;
    outsider.join();
  }

  void expect_nothing_left() {
    world.expect_nothing_left(runtime.stats());
    EXPECT_EQ(faults, 0);
  }

  World world;
  std::atomic<int> faults{0};
  Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(PreemptedPrograms);

TEST_P(PreemptedPrograms, obey_the_laws_when_all_is_quiet) {
  const std::uint64_t seed = support::seed_of_test();
  runtime.start();
  run_for(support::stress_time(), seed);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  world.expect_laws(runtime.stats());
  EXPECT_GT(world.laws.completed, 1000u);
  runtime.shutdown();
  expect_nothing_left();
}

// Ticks and checks are where actors are unwound then; the programs' own counts are not kept.
TEST_P(PreemptedPrograms, leave_nothing_when_they_are_shut_down) {
  const std::uint64_t seed = support::seed_of_test();
  support::Random random(seed);
  const auto end = support::Clock::now() + support::stress_time();
  const std::string said = support::stderr_of([&] {
    for (int life = 0; life < 5 || support::Clock::now() < end; ++life) {
      world.forget_all();
      runtime.start();
      run_for(std::chrono::milliseconds(random.below(60)), random.seed());
      runtime.shutdown(std::chrono::milliseconds(random.below(5)));
      expect_nothing_left();
      if (HasFailure()) break;
    }
  });
  if (HasFailure()) std::cerr << said;
}

}  // namespace
