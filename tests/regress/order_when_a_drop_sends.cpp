// A7: the destructor of a message that is dropped sends. What was wrong: it ran in the middle of
// taking in what had come to its slot, and its own send took in what had come since: that was then
// handled before what stood behind the dropped message, which the same sender had sent earlier.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace {

using namespace bulkhead;

std::atomic<int> stage{0};
std::function<void()> when_dropped;

void wait_for_stage(int wanted) {
  while (stage.load() < wanted) std::this_thread::yield();
}

// For an actor that ends, and whose slot is another one's, while it moves into its signal.
struct Late {
  enum { kNew, kMoved, kOver } state = kNew;
  Late() = default;
  Late(Late&& other) noexcept : state(other.state) {
    other.state = kOver;
    if (state != kNew) return;
    state = kMoved;
    stage = 1;
    wait_for_stage(2);
  }
  ~Late() {
    if (state == kMoved) when_dropped();
  }
};

struct Former {
  void receive(Late) {}
};

struct Hold {};

struct Busy {
  void receive(Hold) {
    stage = 3;
    wait_for_stage(4);
  }
};

struct Present {
  std::vector<int>* seen;
  void receive(int number) { seen->push_back(number); }
};

TEST(Order, is_kept_when_the_destructor_of_a_dropped_message_sends) {
  Config config{.cores = 1, .max_actors = 2};
  config.hand_over_after = kForever;
  Runtime runtime(config);
  runtime.start();
  const auto busy = runtime.spawn<Busy>();
  const auto former = runtime.spawn<Former>();
  std::thread late([&] { former.send(Late()); });
  wait_for_stage(1);
  stop(former);
  ASSERT_TRUE(runtime.wait_for_idle());
  std::vector<int> seen;
  const auto present = runtime.spawn<Present>(Present{&seen});
  ASSERT_EQ(present.pid().index(), former.pid().index());
  when_dropped = [&] {
    std::thread([&] { present.send(2); }).join();  // what has come since
    present.send(3);
  };
  ASSERT_TRUE(runtime.wait_for_idle());
  busy.send(Hold{});
  wait_for_stage(3);
  stage = 2;
  stage = 3;
  late.join();
  std::thread([&] { present.send(1); }).join();
  stage = 4;
  ASSERT_TRUE(runtime.wait_for_idle());
  EXPECT_EQ(seen, (std::vector{1, 2, 3}));
}

}  // namespace
