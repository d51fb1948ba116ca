// C14, C15: what was wrong: a server or supervisor that was started in a hook, or in the destructor
// of an actor that others have ended, lived on though its start had failed.
#include <gtest/gtest.h>
#include <bulkhead/otp.hpp>

#include <atomic>

#include "support/on_cores.hpp"

namespace {

using bulkhead::StartError;

struct Server : bulkhead::GenServer {};

bulkhead::SupervisorSpec with_a_child() {
  return {.children = {bulkhead::child_thread(
              "child", [] { bulkhead::this_actor::sleep_for(bulkhead::kForever); })}};
}

struct Ended {
  void receive(int /*message*/) {}
  ~Ended() {
    const auto server = bulkhead::start_server<Server>({.name = "server"});
    EXPECT_EQ(server.error().kind, StartError::Kind::kStopped);
    EXPECT_FALSE(bulkhead::start_supervisor(with_a_child()));
  }
};

class StartsWhereNobodyWaits : public support::OnCores {
 protected:
  static void expect_nothing_left(bulkhead::Runtime& runtime) {
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    EXPECT_EQ(runtime.whereis("server"), bulkhead::Pid());
  }
};
ON_ONE_AND_SEVERAL_CORES(StartsWhereNobodyWaits);

TEST_P(StartsWhereNobodyWaits, leave_nothing_in_hooks) {
  bulkhead::Config settings = config();
  bulkhead::Runtime* running = nullptr;
  std::atomic<int> deaths{0};
  settings.on_death = [&](const bulkhead::Death& /*death*/) {
    if (deaths++ != 0) return;
    const auto server = bulkhead::start_server<Server>(*running, {.name = "server"});
    EXPECT_EQ(server.error().kind, StartError::Kind::kStopped);
    EXPECT_FALSE(bulkhead::start_supervisor(*running, with_a_child()));
  };
  bulkhead::Runtime runtime(settings);
  running = &runtime;
  runtime.start();
  runtime.spawn([] {});
  EXPECT_TRUE(support::eventually([&] { return deaths > 0; }));
  expect_nothing_left(runtime);
}

TEST_P(StartsWhereNobodyWaits, leave_nothing_in_destructors) {
  bulkhead::Runtime runtime(config());
  runtime.start();
  bulkhead::kill(runtime.spawn<Ended>().pid());
  expect_nothing_left(runtime);
}

}  // namespace
