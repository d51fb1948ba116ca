// C6, C11: in a destructor of an actor that is being unwound nothing waits. What was wrong: after a
// select there had chosen its on_stop arm, whatever waited next in a destructor waited for ever.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <utility>

#include "support/on_cores.hpp"

namespace {

using bulkhead::ChannelError;
using bulkhead::Exit;
using bulkhead::on_receive;
using bulkhead::on_stop;

class StopRequestsHeardInDestructors : public support::Running {
 protected:
  /// What a destructor does that waits for a value or a stop, and then for another value.
  struct Cleanup {
    StopRequestsHeardInDestructors* test;
    Cleanup(StopRequestsHeardInDestructors* of) : test(of) {}  // NOLINT
    Cleanup(Cleanup&& other) noexcept : test(std::exchange(other.test, nullptr)) {}
    Cleanup& operator=(Cleanup&&) = delete;
    ~Cleanup() {
      if (test == nullptr) return;
      for (int i = 0; i < 2; ++i) {
        bulkhead::select(on_stop([this] { ++test->heard; }),
                         on_receive(test->quiet.receiver, [](const auto&) {}));
      }
      if (test->quiet.receiver.recv().error() == ChannelError::kStopped) ++test->refused;
    }
  };

  template <class Body>
  void stop_when_it_waits(Body body) {
    auto actor = runtime.spawn_joinable_with(on_core(1), std::move(body));
    EXPECT_TRUE(support::eventually([this] { return waits.load(); }));
    bulkhead::request_stop(actor.pid());
    const auto outcome = actor.join_for(support::kDeadline);
    ASSERT_TRUE(outcome.has_value()) << "it waits in its destructor";
    EXPECT_EQ(outcome->error(), Exit::stopped());
    EXPECT_EQ(heard, 2);
    EXPECT_EQ(refused, 1);
  }
  void wait() {
    waits = true;
    static_cast<void>(quiet.receiver.recv());
  }

  bulkhead::Channel<int> quiet = bulkhead::make_channel<int>();
  std::atomic<bool> waits{false};
  std::atomic<int> heard{0};
  std::atomic<int> refused{0};
};
ON_ONE_AND_SEVERAL_CORES(StopRequestsHeardInDestructors);

TEST_P(StopRequestsHeardInDestructors, of_frames_leave_the_actor_unwound) {
  stop_when_it_waits([this] {
    const Cleanup cleanup(this);
    wait();
  });
}

TEST_P(StopRequestsHeardInDestructors, of_its_state_too) {
  stop_when_it_waits([this, cleanup = Cleanup(this)] { wait(); });
}

}  // namespace
