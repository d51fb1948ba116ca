// A18, A19: an actor that is to end while it waits in a destructor of a local object or of a
// message, or in another noexcept function. What was wrong: the exception that unwinds it left that
// function, which ended the process.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <utility>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using support::Door;

// Waits at the door in its destructor, for ever but for the end.
struct Waiting {
  bulkhead::Address<Door> door;
  support::Log<AskError>* errors;
  Waiting(bulkhead::Address<Door> at, support::Log<AskError>* log) : door(at), errors(log) {}
  Waiting(Waiting&& other) noexcept
      : door(std::exchange(other.door, {})), errors(std::exchange(other.errors, nullptr)) {}
  ~Waiting() {
    if (errors == nullptr) return;
    const auto passed = door.ask(Door::Pass{}, bulkhead::kForever);
    if (!passed) errors->add(passed.error());
  }
};

class WaitsInDestructors : public support::OnCores {
 protected:
  WaitsInDestructors() : runtime(with_log()) {
    runtime.start();
    door = runtime.spawn_with<Door>(on_core(1));
  }
  bulkhead::Config with_log() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) { exits.add(death.exit); };
    return config;
  }
  // Until `count` actors wait at the door.
  void wait_until_blocked(std::size_t count) {
    ASSERT_TRUE(support::eventually(
        [&] { return door.ask(Door::Waiting{}, support::kDeadline).value_or(0) == count; }));
  }

  support::Log<Exit> exits;
  support::Log<AskError> errors;
  std::atomic<int> went_on{0};
  std::atomic<int> wrong{0};
  bulkhead::Address<Door> door;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(WaitsInDestructors);

struct Receiver {
  std::atomic<int>* wrong;
  void receive(const Waiting& /*message*/) {}
  void receive(int /*message*/) { ++*wrong; }
};

TEST_P(WaitsInDestructors, end_when_the_actor_is_to_end) {
  const bulkhead::Pid local = runtime.spawn_with(on_core(0), [this] {
    { const Waiting waiting(door, &errors); }
    ++went_on;
    this_actor::yield();  // here it is unwound
    ++wrong;
  });
  const auto receiver = runtime.spawn_with<Receiver>(on_core(1), &wrong);
  receiver.send(Waiting(door, &errors));
  receiver.send(1);
  const bulkhead::Pid other = runtime.spawn_with(on_core(1), [this] {
    const auto in_noexcept = [this]() noexcept {
      if (!door.ask(Door::Pass{}, bulkhead::kForever)) ++went_on;
    };
    in_noexcept();
    this_actor::sleep_for(support::kDeadline);
    ++wrong;
  });
  wait_until_blocked(3);
  for (const bulkhead::Pid pid : {local, receiver.pid(), other}) bulkhead::request_stop(pid);
  ASSERT_TRUE(support::eventually([&] { return exits.size() == 3; }));
  for (const Exit& exit : exits.entries()) EXPECT_EQ(exit, Exit::stopped());
  EXPECT_EQ(errors.entries(), std::vector<AskError>(2, AskError::kStopped));
  EXPECT_EQ(went_on, 2);
  EXPECT_EQ(wrong, 0);
}

TEST_P(WaitsInDestructors, end_when_the_runtime_shuts_down) {
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [this] {
      const Waiting outer(door, &errors);
      const Waiting inner(door, &errors);
    });
  }
  wait_until_blocked(10);
  runtime.shutdown(std::chrono::seconds(0));
  EXPECT_EQ(errors.size(), 20u);  // the door may have ended first
  EXPECT_EQ(exits.size(), 11u);
}

// What has no such function among its frames is unwound where it waits.
TEST_P(WaitsInDestructors, elsewhere_unwind) {
  runtime.spawn_with(on_core(1), [this] {
    struct Count {
      std::atomic<int>* count;
      ~Count() { ++*count; }
    } const count{&went_on};
    static_cast<void>(door.ask(Door::Pass{}, bulkhead::kForever));
    ++wrong;
  });
  wait_until_blocked(1);
  runtime.shutdown(std::chrono::seconds(0));
  EXPECT_EQ(went_on, 1);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
