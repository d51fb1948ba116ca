// C2: what throws while Mailbox::next looks at a message. What was wrong: a message whose sender
// waited for room had been taken over before a condition was asked about it, and was lost with the
// exception; and when the move of such a message threw, the memory for it was lost.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

using support::Live;
using namespace std::chrono_literals;

struct Number {
  int value = 0;
  Live live;
};

using Box = bulkhead::Mailbox<Number>;

class MailboxCondition : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(MailboxCondition);

TEST_P(MailboxCondition, that_throws_loses_no_message) {
  std::atomic<int> sum{0};
  std::atomic<int> thrown{0};
  auto options = on_core(0);
  options.mailbox_bound = 1;
  const auto box = runtime.spawn_with<Box>(options, [&](Box& mailbox) {
    const auto refuses_two = [](const Number& number) {
      if (number.value == 2) throw std::runtime_error("two");
      return false;
    };
    while (thrown < 2) {
      try {
        static_cast<void>(mailbox.next_for(1ms, bulkhead::when(refuses_two, [](Number) {})));
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    }
    for (int i = 0; i < 3; ++i) mailbox.next([&](Number number) { sum += number.value; });
  });
  EXPECT_EQ(box.send(Number{1, {}}), bulkhead::Delivery::kQueued);
  for (int value = 2; value <= 3; ++value) {
    runtime.spawn_with(on_core(1), [box, value] {
      Number number{value, {}};
      EXPECT_EQ(box.send_or_wait(number, support::kDeadline), bulkhead::Delivery::kQueued);
    });
  }
  wait_for_idle();
  EXPECT_EQ(thrown, 2);
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(Live::values(), 0);
}

// What was wrong: a condition that received took out what was being looked at, or was itself taken
// for what had been received; that was counted never, or used after it was released.
TEST_P(MailboxCondition, that_receives_is_refused) {
  std::atomic<int> refused{0};
  std::atomic<int> sum{0};
  const auto box = runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
    const auto receives = [&](const Number&) {
      try {
        static_cast<void>(mailbox.next_for(0s, [](Number) {}));
      } catch (const std::logic_error& error) {
        if (std::string_view(error.what()).find("condition") != std::string_view::npos) ++refused;
      }
      return true;
    };
    for (int i = 0; i < 3; ++i) {
      mailbox.next(bulkhead::when(receives, [&](Number number) { sum += number.value; }));
    }
  });
  for (int value = 1; value <= 3; ++value) box.send(Number{value, {}});
  wait_for_idle();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(Live::values(), 0);
}

struct Heavy {
  Heavy() = default;
  Heavy(Heavy&& other) : throws(other.throws) {
    if (throws) throw std::runtime_error("heavy");
  }
  bool throws = false;
  char bytes[2 * 1024] = {};
};

TEST_P(MailboxCondition, a_message_whose_move_throws_leaves_no_memory) {
  using Heavies = bulkhead::Mailbox<Heavy>;
  constexpr int kThrown = 4000;
  auto options = on_core(0);
  options.mailbox_bound = 1;
  int thrown = 0;
  const auto box = runtime.spawn_with<Heavies>(options, [&](Heavies& mailbox) {
    const auto throws = [](const Heavy& heavy) { return heavy.throws; };
    while (thrown < kThrown) {
      try {
        static_cast<void>(mailbox.next_for(1ms, bulkhead::when(throws, [](const Heavy&) {})));
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    }
    mailbox.next([](const Heavy&) {});
  });
  EXPECT_EQ(box.send(Heavy()), bulkhead::Delivery::kQueued);
  runtime.spawn_with(on_core(1), [box] {
    Heavy heavy;
    heavy.throws = true;
    for (int i = 0; i < kThrown; ++i) {
      static_cast<void>(box.send_or_wait(heavy, support::kDeadline));
    }
  });
  wait_for_idle();
  EXPECT_EQ(thrown, kThrown);
  std::this_thread::sleep_for(20ms);  // cores count what they have when they go to sleep
  EXPECT_LT(runtime.stats().pool_bytes, kThrown * sizeof(Heavy) / 2);
}

}  // namespace
