// C6, C11: selects over what belongs to the actor itself: its mailbox, and requests to stop.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::after;
using bulkhead::Exit;
using bulkhead::Mailbox;
using bulkhead::on_message;
using bulkhead::on_receive;
using bulkhead::on_stop;
using namespace std::chrono_literals;

struct Number {
  int value;
};
struct Double {
  using Answer = int;
  int value;
};
struct Last {};
using Box = Mailbox<Number, Double, Last>;

class SelectActor : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(SelectActor);

TEST_P(SelectActor, takes_from_mailbox_and_channel_whatever_comes) {
  auto [sender, receiver] = bulkhead::make_channel<int>();
  support::Log<int> log;
  std::atomic<int> closed{0};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&, receiver = receiver](Box& mailbox) {
    for (bool more = true; more;) {
      bulkhead::select(on_receive(receiver,
                                  [&](auto value) {
                                    if (value) {
                                      log.add(*value);
                                    } else {
                                      ++closed;
                                      more = false;
                                    }
                                  }),
                       on_message(mailbox, [&](Number number) { log.add(100 + number.value); }));
    }
    while (auto number = mailbox.next_for<Number>(0s)) log.add(200 + number->value);
  });
  auto feeder = runtime.spawn_joinable_with(on_core(0), [box, sender = std::move(sender)] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(box.send(Number{i}), bulkhead::Delivery::kQueued);
      EXPECT_TRUE(sender.send(i).has_value());
      if (i % 7 == 0) this_actor::sleep_for(200us);
    }
  });
  sender = {};
  EXPECT_TRUE(feeder.join().has_value());
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.size(), 100u);
  EXPECT_EQ(closed, 1);
}

TEST_P(SelectActor, leaves_messages_that_no_handler_takes_and_answers_asks) {
  const auto box = runtime.spawn_with<Box>(on_core(1), [](Box& mailbox) {
    for (bool more = true; more;) {
      bulkhead::select(on_message(
          mailbox, [](Double question) { return 2 * question.value; },
          [&](Last) { more = false; }));
    }
    EXPECT_EQ(mailbox.next<Number>().value, 1);
  });
  box.send(Number{1});
  EXPECT_EQ(box.ask(Double{21}), 42);
  box.send(Last{});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u);
}

TEST_P(SelectActor, times_out_beside_a_mailbox_that_stays_empty) {
  std::atomic<int> timed_out{0};
  runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    EXPECT_FALSE(bulkhead::select_for(1ms, on_message(mailbox, [](Number) {})).has_value());
    EXPECT_FALSE(bulkhead::try_select(on_message(mailbox, [](Number) {})).has_value());
    bulkhead::select(on_message(mailbox, [](Number) {}), after(1ms, [&] { ++timed_out; }));
  });
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(timed_out, 1);
}

TEST_P(SelectActor, may_be_given_an_arm_twice) {
  std::atomic<int> selects{0};
  std::atomic<bool> stopped{false};
  std::vector<int> got;
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    auto time = after(1ms, [&] { got.push_back(0); });
    auto message = on_message(mailbox, [&](Number number) { got.push_back(number.value); });
    auto stop = on_stop([&] { got.push_back(-1); });
    const std::vector<bulkhead::SelectArm*> timed = {&message, &time, &message, &time};
    EXPECT_EQ(bulkhead::select(timed), 1u);
    const std::vector<bulkhead::SelectArm*> arms = {&stop, &message, &message, &stop};
    for (std::size_t chosen = 1; chosen != 0;) {
      ++selects;
      chosen = bulkhead::select(arms);
    }
    stopped = true;
    got.push_back(mailbox.next<Number>().value);
  });
  for (const int value : {1, 2, 3}) {
    EXPECT_TRUE(support::eventually([&] { return selects == value; }));
    box.send(Number{value});
  }
  EXPECT_TRUE(support::eventually([&] { return selects == 4; }));
  bulkhead::request_stop(box);
  EXPECT_TRUE(support::eventually([&] { return stopped.load(); }));
  box.send(Number{4});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(got, (std::vector{0, 1, 2, 3, -1, 4}));
}

TEST_P(SelectActor, hears_a_request_to_stop_and_ends_in_its_own_way) {
  std::atomic<bool> waits{false};
  std::atomic<int> goodbyes{0};
  auto polite = runtime.spawn_joinable_with(on_core(1), [&] {
    for (bool more = true; more;) {
      waits = true;
      bulkhead::select(on_stop([&] { more = false; }), after(1h, [] {}));
    }
    this_actor::sleep_for(1ms);  // is not unwound any more
    ++goodbyes;
    return 7;
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  bulkhead::request_stop(polite.pid());
  EXPECT_EQ(polite.join(), 7);
  EXPECT_EQ(goodbyes, 1);
}

TEST_P(SelectActor, hears_a_request_that_came_before) {
  std::atomic<bool> begun{false};
  std::atomic<bool> asked{false};
  auto polite = runtime.spawn_joinable_with(on_core(1), [&] {
    begun = true;
    const bool alone = cores() == 1;
    if (alone) bulkhead::request_stop(this_actor::pid());
    while (!alone && !asked) {
    }
    std::size_t chosen = 0;
    do {
      chosen = bulkhead::select(on_stop([] {}), after(1ms, [] {}));
    } while (chosen != 0);
    return 1;
  });
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  if (cores() > 1) bulkhead::request_stop(polite.pid());
  asked = true;
  EXPECT_EQ(polite.join(), 1);
}

TEST_P(SelectActor, is_unwound_by_a_second_request_and_by_a_shutdown) {
  std::atomic<int> heard{0};
  std::atomic<bool> begun{false};
  auto stubborn = runtime.spawn_joinable_with(on_core(1), [&] {
    begun = true;
    bulkhead::select(on_stop([&] { ++heard; }));
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return begun.load(); }));
  bulkhead::request_stop(stubborn.pid());
  EXPECT_TRUE(support::eventually([&] { return heard == 1; }));
  bulkhead::request_stop(stubborn.pid());
  EXPECT_EQ(stubborn.join().error(), Exit::stopped());
  std::atomic<bool> waits{false};
  auto deaf = runtime.spawn_joinable_with(on_core(1), [&] {
    waits = true;
    for (;;) bulkhead::select(on_stop([&] { ++heard; }));
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  runtime.shutdown(0s);
  EXPECT_EQ(deaf.join().error(), Exit::shutdown());
  EXPECT_EQ(heard, 1);
}

TEST_P(SelectActor, of_a_strangers_mailbox_is_refused) {
  Box stray([](Box&) {});
  EXPECT_THROW(static_cast<void>(bulkhead::try_select(on_message(stray, [](Number) {}))),
               std::logic_error);
}

}  // namespace
