// A thread outside was between the admission of its message and the push when the receiver ended
// and its slot, without a home at that moment, was being made another actor's: the sender looked
// its runtime up through the slot, and found none (A18, A23).
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <thread>

namespace {

using namespace bulkhead;

std::atomic<int> stage{0};

void wait_for_stage(int wanted) {
  while (stage.load() < wanted) std::this_thread::yield();
}

// Its move into the signal takes until the slot has no home.
struct SlowToMove {
  bool slow = false;
  explicit SlowToMove(bool is_slow) : slow(is_slow) {}
  SlowToMove(SlowToMove&& other) noexcept : slow(other.slow) {
    if (!slow || stage.load() != 0) return;
    stage = 1;
    wait_for_stage(2);
  }
};

struct Receiver {
  void receive(SlowToMove) {}
};

// While it is constructed, its slot has no home.
struct Successor {
  Successor() {
    stage = 2;
    wait_for_stage(3);
  }
  void receive(int) {}
};

TEST(Outside, a_sender_whose_receiver_is_being_replaced_finds_its_way_out) {
  Runtime runtime({.cores = 1, .max_actors = 1});
  runtime.start();
  const auto receiver = runtime.spawn<Receiver>();
  std::thread sender([&] {
    receiver.send(SlowToMove(true));
    stage = 3;
  });
  wait_for_stage(1);
  stop(receiver);
  ASSERT_TRUE(runtime.wait_for_idle());
  const auto successor = runtime.spawn<Successor>();
  sender.join();
  ASSERT_TRUE(runtime.wait_for_idle());
  EXPECT_TRUE(successor);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 1u);
}

}  // namespace
