// A17, A19: what is read from an exception that ends an actor, and when it goes. What was wrong:
// a long name of its type overflowed the stack, what() that is null ended the process, and the
// runtime was idle before the exception, or what a body had returned, was destroyed.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

using bulkhead::Exit;
using namespace std::chrono_literals;

template <class T>
struct Failed : std::runtime_error {
  Failed() : std::runtime_error("failed") {}
};

class WhatFailuresLeave : public support::OnCores {
 protected:
  [[nodiscard]] bulkhead::Config with_log() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { exits.add(death.exit); };
    return config;
  }

  template <class E>
  void throw_in_actor(std::size_t stack_size) {
    bulkhead::Runtime runtime(with_log());
    runtime.start();
    bulkhead::SpawnOptions options = on_core(1);
    options.stack_size = stack_size;
    runtime.spawn_with(options, [] { throw E(); });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }

  support::Log<Exit> exits;
};
ON_ONE_AND_SEVERAL_CORES(WhatFailuresLeave);

// Under sanitizers, whose frames are larger, the smaller stack is too small for much else.
TEST_P(WhatFailuresLeave, a_long_name_of_a_type_fits_any_stack) {
  for (const std::size_t stack : std::initializer_list<std::size_t>{16, 64}) {
    const std::size_t size = bulkhead::Config::kDefaultStackSize / 64 * stack;
    throw_in_actor<Failed<std::make_index_sequence<10>>>(size);
    throw_in_actor<Failed<std::make_index_sequence<60>>>(size);
    throw_in_actor<Failed<std::make_index_sequence<130>>>(size);
    throw_in_actor<Failed<std::make_index_sequence<300>>>(size);
  }
  ASSERT_EQ(exits.size(), 8u);
  for (const Exit& exit : exits.entries()) {
    EXPECT_EQ(exit.message(), "failed");
    EXPECT_NE(exit.type().find("Failed"), std::string::npos) << exit.type();
  }
  EXPECT_NE(exits.entries()[2].type().find("129ul"), std::string::npos) << "readable";
}

struct Silent : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

TEST_P(WhatFailuresLeave, what_may_be_null) {
  throw_in_actor<Silent>(bulkhead::Config::kDefaultStackSize);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits.entries()[0].message(), "");
  EXPECT_NE(exits.entries()[0].type().find("Silent"), std::string::npos);
}

struct Bye {};
struct Counter {
  std::atomic<int>* byes;
  void receive(Bye /*message*/) { ++*byes; }
};

// Takes its time to go, and then sends.
struct Parting {
  bulkhead::Address<Counter> counter;
  explicit Parting(bulkhead::Address<Counter> to) : counter(to) {}
  Parting(const Parting& other) = delete;
  Parting(Parting&& other) noexcept : counter(std::exchange(other.counter, {})) {}
  ~Parting() {
    if (!counter) return;
    support::burn(3ms);
    counter.send(Bye{});
  }
};

TEST_P(WhatFailuresLeave, goes_before_the_runtime_is_idle) {
  bulkhead::Runtime runtime(config());
  runtime.start();
  std::atomic<int> byes{0};
  const auto counter = runtime.spawn<Counter>(&byes);
  for (int round = 1; round <= 10; ++round) {
    runtime.spawn_with(on_core(1), [counter] { throw Parting(counter); });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(byes, 2 * round - 1);
    runtime.spawn_with(on_core(1), [counter] {
      static_cast<void>(bulkhead::spawn_joinable([counter] { return Parting(counter); }));
    });
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(byes, 2 * round);
  }
}

}  // namespace
