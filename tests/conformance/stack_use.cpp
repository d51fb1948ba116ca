// C2: an actor can find out how much of its stack it has used, and give back what it has not.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

constexpr std::size_t kPage = 4096;

// Uses so many KiB of stack.
[[gnu::noinline]] void use_kib(int kib) {  // NOLINT(misc-no-recursion)
  char frame[1024];                        // NOLINT(modernize-avoid-c-arrays)
  frame[0] = 1;
  frame[1023] = 1;
  asm volatile("" : : "r"(frame) : "memory");  // or the compiler would make do with less
  if (kib > 1) use_kib(kib - 1);
  asm volatile("" : : "r"(frame) : "memory");
}

class StackUse : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(StackUse);

TEST_P(StackUse, is_exact_to_two_pages_after_the_rest_was_given_back) {
  struct Seen {
    std::size_t size = 0;
    std::size_t fresh = 0;
    std::size_t deep = 0;
    std::size_t later = 0;
    std::size_t again = 0;
  };
  Seen seen;
  runtime.spawn_with({.core = cores() - 1, .stack_size = 1024 * 1024}, [&seen] {
    seen.size = this_actor::stack_size();
    this_actor::discard_unused_stack();
    seen.fresh = this_actor::stack_used();
    use_kib(300);
    seen.deep = this_actor::stack_used();
    this_actor::sleep_for(1ms);
    seen.later = this_actor::stack_used();
    this_actor::discard_unused_stack();
    seen.again = this_actor::stack_used();
  });
  wait_for_idle();
  EXPECT_EQ(seen.size, 1024u * 1024);
  EXPECT_GE(seen.fresh, kPage);
  EXPECT_LE(seen.fresh, 4 * kPage * support::kMemoryFactor);
  EXPECT_GE(seen.deep, 300u * 1024);
  EXPECT_LE(seen.deep, (300u * 1024 + 20'000) * (support::kMemoryFactor == 1 ? 1 : 3));
  EXPECT_EQ(seen.later, seen.deep) << "it is the most there ever was";
  EXPECT_LE(seen.again, seen.fresh + 2 * kPage);
}

TEST_P(StackUse, can_be_asked_for_in_a_handler_and_in_a_destructor) {
  struct Ask {
    int kib = 0;
  };
  struct Actor {
    explicit Actor(std::atomic<std::size_t>* last) : at_the_end(last) {}
    ~Actor() { *at_the_end = this_actor::stack_used(); }
    std::size_t receive(Ask ask) {
      this_actor::discard_unused_stack();
      use_kib(ask.kib);
      return this_actor::stack_used();
    }
    std::atomic<std::size_t>* at_the_end;
  };
  std::atomic<std::size_t> at_the_end{0};
  const auto actor = runtime.spawn<Actor>(&at_the_end);
  EXPECT_GE(actor.ask(Ask{30}).value_or(0), 30u * 1024);
  bulkhead::stop(actor.pid());
  wait_for_idle();
  EXPECT_GE(at_the_end, kPage);
}

TEST_P(StackUse, a_blocked_actor_can_give_back_what_a_deep_call_has_used) {
  constexpr int kActors = 50;
  std::atomic<int> asleep{0};
  for (int i = 0; i < kActors; ++i) {
    runtime.spawn_with({.core = static_cast<std::size_t>(i) % cores(), .stack_size = 4096 * 1024},
                       [&asleep] {
                         use_kib(1000);
                         this_actor::discard_unused_stack();
                         ++asleep;
                         this_actor::sleep_for(10min);
                       });
  }
  const std::size_t before = support::resident_bytes();
  ASSERT_TRUE(support::eventually([&] { return asleep == kActors; }));
  EXPECT_LT(support::resident_bytes(), before + kActors * 1000 * 1024 / 2 * support::kMemoryFactor);
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(0s); }));
}

TEST(StackUseOutside, is_for_actors_only) {
  EXPECT_THROW(static_cast<void>(this_actor::stack_size()), std::logic_error);
  EXPECT_THROW(static_cast<void>(this_actor::stack_used()), std::logic_error);
  EXPECT_THROW(this_actor::discard_unused_stack(), std::logic_error);
}

}  // namespace
