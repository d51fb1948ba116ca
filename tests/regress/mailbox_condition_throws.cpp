// C2: a condition of Mailbox::next that throws. What was wrong: a message whose sender waited for
// room had been taken over before it was asked about, and was lost with the exception.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>

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

}  // namespace
