// Green threads that take their messages themselves: typed, with a time limit, and selectively.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/wait.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Delivery;
using bulkhead::DropCause;
using bulkhead::Mailbox;
using bulkhead::Reply;
using bulkhead::when;
using namespace std::chrono_literals;

struct Number {
  int value;
};
struct Text {
  std::string value;
};
struct Double {
  using Answer = int;
  int value;
};
struct Last {};
struct Large : Number {};
struct Owned {
  std::unique_ptr<support::Live> live;
};

class Mailboxes : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Mailboxes);

using Box = Mailbox<Number, Text, Double, Last, Owned>;

TEST_P(Mailboxes, give_messages_in_the_order_sent) {
  support::Log<int> log;
  const auto box = runtime.spawn_with<Box>(on_core(1), [&log](Box& mailbox) {
    for (bool more = true; more;) {
      mailbox.next([&](Number number) { log.add(number.value); }, [&](Last) { more = false; });
    }
  });
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(box.send(Number{i}), Delivery::kQueued);
    expected.push_back(i);
  }
  box.send(Last{});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.entries(), expected);
  EXPECT_EQ(box.send(Number{1}), Delivery::kGone);
}

TEST_P(Mailboxes, leave_what_no_handler_takes_in_order) {
  support::Log<std::string> log;
  std::atomic<bool> go{false};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    while (!go) this_actor::sleep_for(100us);
    log.add(mailbox.next<Text>().value);
    log.add(mailbox.next<Text>().value);
    log.add(std::to_string(mailbox.next<Number>().value));
    mailbox.next([&](Last) { log.add("last"); });
    log.add(std::to_string(mailbox.next<Number>().value));
  });
  box.send(Number{1});
  box.send(Text{"a"});
  box.send(Number{2});
  box.send(Last{});
  box.send(Text{"b"});
  go = true;
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.entries(), (std::vector<std::string>{"a", "b", "1", "last", "2"}));
}

TEST_P(Mailboxes, select_by_content) {
  support::Log<int> log;
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    for (int i = 0; i < 3; ++i) {
      mailbox.next(when([](const Number& number) { return number.value % 2 == 1; },
                        [&](Number number) { log.add(number.value); }));
    }
    for (bool more = true; more;) {
      mailbox.next(
          when([](const Number& number) { return number.value > 100; },
               [&](Number number) { log.add(-number.value); }),
          [&](Number number) { log.add(number.value); },  // all others
          [&](Last) { more = false; });
    }
  });
  for (const int value : {2, 1, 4, 3, 200, 5, 6}) box.send(Number{value});
  box.send(Last{});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.entries(), (std::vector<int>{1, 3, 5, 2, 4, -200, 6}));
}

TEST_P(Mailboxes, answer_asks_at_once_or_later) {
  const auto box = runtime.spawn_with<Box>(on_core(1), [](Box& mailbox) {
    mailbox.next([](Double question) { return 2 * question.value; });
    std::vector<std::pair<Reply<int>, int>> later;
    while (later.size() < 2) {
      mailbox.next([&](Double question, Reply<int> reply) {
        later.emplace_back(std::move(reply), question.value);
      });
    }
    for (auto& [reply, value] : later) reply(2 * value);
    mailbox.next([](Double question) { return 2 * question.value; });
    mailbox.next([](const Double&, Reply<int>) {});  // gives no answer
    mailbox.next([](const auto&) {});                // nor does this
    mailbox.next([](Number) {});
  });
  EXPECT_EQ(box.ask(Double{1}), 2);
  std::thread first([&] { EXPECT_EQ(box.ask(Double{5}), 10); });
  EXPECT_EQ(box.ask(Double{6}), 12);
  first.join();
  EXPECT_EQ(box.ask(Double{7}), 14);
  EXPECT_EQ(box.ask(Double{8}).error(), bulkhead::AskError::kNoReply);
  EXPECT_EQ(box.ask(Double{9}).error(), bulkhead::AskError::kNoReply);
  EXPECT_TRUE(box.ask(Number{1}).has_value());
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
}

TEST_P(Mailboxes, wait_for_a_limited_time) {
  std::atomic<bool> timed_out{false};
  std::atomic<bool> looked{false};
  std::atomic<int> got{0};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    EXPECT_FALSE(mailbox.next_for<Number>(0s).has_value());
    looked = true;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(mailbox.next_for(5ms, [](Number) {}));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
    timed_out = true;
    const auto number = mailbox.next_for<Number>(support::kDeadline);
    ASSERT_TRUE(number.has_value());
    got = number->value;
    EXPECT_THROW(mailbox.next_for(-1s, [](Number) {}), std::invalid_argument);
  });
  EXPECT_TRUE(support::eventually([&] { return looked.load(); }));
  box.send(Text{"wakes it, and is left"});
  EXPECT_TRUE(support::eventually([&] { return timed_out.load(); }));
  box.send(Number{3});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(got, 3);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 1u);
}

// It waits with a stack of its own, but has nothing to do: such a runtime is idle, and can be shut
// down without being patient.
TEST_P(Mailboxes, that_wait_are_idle) {
  std::atomic<int> sum{0};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    for (;;) sum += mailbox.next<Number>().value;
  });
  wait_for_idle();
  box.send(Number{1});
  box.send(Number{2});
  wait_for_idle();
  EXPECT_EQ(sum, 3);
  runtime.shutdown();
  const bulkhead::Stats stats = runtime.stats();
  EXPECT_EQ(stats.handled, stats.sent);
  EXPECT_EQ(stats.actors_started, stats.actors_ended);
}

TEST_P(Mailboxes, count_the_message_in_hand_as_dropped_when_the_body_fails) {
  std::atomic<bool> go{false};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&go](Box& mailbox) {
    while (!go) this_actor::sleep_for(100us);
    for (;;) {
      const int value = mailbox.next<Number>().value;
      if (value == 3) throw std::runtime_error("three");
    }
  });
  for (int i = 1; i <= 5; ++i) box.send(Number{i});
  go = true;
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  const bulkhead::Stats stats = runtime.stats();
  EXPECT_EQ(stats.dropped_for(DropCause::kHandlerFailed), 1u);
  EXPECT_EQ(stats.dropped_for(DropCause::kGone), 2u);
  EXPECT_EQ(stats.sent, stats.handled + 3);
}

TEST_P(Mailboxes, survive_a_handler_that_throws_when_the_body_catches_it) {
  std::atomic<int> caught{0};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    for (bool more = true; more;) {
      try {
        mailbox.next([](Owned) { throw 1; }, [&](Last) { more = false; });
      } catch (int) {
        ++caught;
      }
    }
  });
  for (int i = 0; i < 5; ++i) box.send(Owned{std::make_unique<support::Live>(1)});
  box.send(Last{});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(caught, 5);
  EXPECT_EQ(support::Live::alive(), 0);
}

TEST_P(Mailboxes, leave_nothing_behind_when_their_actor_is_stopped) {
  std::atomic<bool> waits{false};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    mailbox.next([&](Number) { waits = true; });
    mailbox.next([](Last) {});
  });
  box.send(Number{1});
  for (int i = 0; i < 10; ++i) box.send(Owned{std::make_unique<support::Live>(1)});
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  bulkhead::request_stop(box);
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(support::Live::alive(), 0);
}

TEST_P(Mailboxes, are_not_waited_for_in_a_destructor_of_an_actor_that_is_to_end) {
  std::atomic<bool> waits{false};
  std::atomic<int> found{-1};
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    struct Goodbye {
      Box& mailbox;
      std::atomic<bool>& waits;
      std::atomic<int>& found;
      [[gnu::noinline]] ~Goodbye() {  // or -fsanitize=thread would hide that it is noexcept
        waits = true;
        found = mailbox.next_for(1h, [](Number) {}) ? 1 : 0;
      }
    };
    { const Goodbye goodbye{mailbox, waits, found}; }
    this_actor::sleep_for(1h);
  });
  EXPECT_TRUE(support::eventually([&] { return waits.load(); }));
  bulkhead::request_stop(box);
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(found, 0);
}

TEST_P(Mailboxes, let_waiting_senders_in_when_they_are_taken_or_looked_at) {
  bulkhead::SpawnOptions options = on_core(1);
  options.mailbox_bound = 2;
  std::atomic<bool> go{false};
  support::Log<int> log;
  const auto box = runtime.spawn_with<Box>(options, [&](Box& mailbox) {
    while (!go) this_actor::sleep_for(100us);
    for (int i = 0; i < 3; ++i) {
      mailbox.next(when([](const Number& number) { return number.value >= 10; },
                        [&](Number number) { log.add(number.value); }));
    }
    for (int i = 0; i < 3; ++i) log.add(mailbox.next<Number>().value);
  });
  box.send(Number{1});
  box.send(Number{10});
  std::vector<bulkhead::JoinHandle<Delivery>> senders;
  for (const int value : {2, 11, 12}) {
    senders.push_back(runtime.spawn_joinable_with(on_core(0), [box, value] {
      Number number{value};
      return box.send_or_wait(number);
    }));
  }
  Number hasty{99};
  EXPECT_EQ(box.send_or_wait(hasty, 1ms), Delivery::kFull);
  go = true;
  for (auto& sender : senders) EXPECT_EQ(sender.join(), Delivery::kQueued);
  box.send(Number{3});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.size(), 6u);
  std::vector<int> entries = log.entries();
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(entries, (std::vector<int>{1, 2, 3, 10, 11, 12}));
}

TEST_P(Mailboxes, pass_messages_to_and_fro) {
  using Player = Mailbox<Number, bulkhead::Pid>;
  const auto body = [](Player& mailbox) {
    const bulkhead::Address<Player> other(mailbox.next<bulkhead::Pid>());
    for (int value = 0; value < 2000;) {
      mailbox.next([&](Number number) {
        value = number.value;
        other.send(Number{value + 1});
      });
    }
  };
  const auto first = runtime.spawn_with<Player>(on_core(0), body);
  const auto second = runtime.spawn_with<Player>(on_core(1), body);
  first.send(second.pid());
  second.send(first.pid());
  first.send(Number{0});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
}

// How often each was called; the mailbox's actor is the only one to touch it.
int functions_called = 0;
void count(Number number) { functions_called += number.value; }
int twice(const Double& question) noexcept { return 2 * question.value; }

struct Counter {
  int* sum;
  void operator()(Number number) { *sum += number.value; }
  void operator()(Number number) const { *sum += 100 * number.value; }
};

class Job {
 public:
  Job(std::atomic<int>& done, int weight) : done_(&done), weight_(weight) {}
  bool is_heavy() const { return weight_ > 10; }
  void perform() { *done_ = *done_ * 100 + weight_; }

 private:
  std::atomic<int>* done_;
  int weight_;
};

// C2
TEST_P(Mailboxes, take_any_kind_of_function) {
  functions_called = 0;
  int sum = 0;
  bool answered = false;
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    mailbox.next(count);
    mailbox.next(&count, twice);
    mailbox.next(twice);
    Counter counter{&sum};
    const Counter constant{&sum};
    mailbox.next(counter);
    mailbox.next(constant);
    mailbox.next(Counter{&sum});
    const auto large = when([](const Number& number) { return number.value > 5; }, constant);
    mailbox.next(large);
    EXPECT_TRUE(mailbox.next_for(support::kDeadline, count));
    const std::size_t chosen =
        bulkhead::select(on_message(mailbox, twice), on_message(mailbox, constant));
    EXPECT_EQ(chosen, 1u);
    answered = true;
  });
  box.send(Number{1});
  box.send(Number{2});
  EXPECT_EQ(box.ask(Double{21}), 42);
  for (const int value : {3, 4, 5, 1, 7, 2}) box.send(Number{value});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(functions_called, 1 + 2 + 1);
  EXPECT_EQ(sum, 3 + 400 + 5 + 700 + 2);
  EXPECT_TRUE(answered);
}

// C2
TEST_P(Mailboxes, take_member_functions_of_messages) {
  using Jobs = Mailbox<Job, Last>;
  std::atomic<int> done{0};
  const auto box = runtime.spawn_with<Jobs>(on_core(1), [](Jobs& mailbox) {
    mailbox.next(when(&Job::is_heavy, &Job::perform));
    mailbox.next(&Job::perform);
  });
  box.send(Job(done, 7));
  box.send(Job(done, 20));
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(done, 2007);
}

// C2: a condition that is for one type narrows a generic handler to that.
TEST_P(Mailboxes, ask_a_condition_only_of_what_it_is_for) {
  support::Log<int> log;
  const auto box = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    const auto large = [](const Number& number) { return number.value > 10; };
    mailbox.next(when(large, [&](auto message) { log.add(message.value); }));
    mailbox.next(when([](const auto&) { return true; }, [&](Text) { log.add(0); }));
    log.add(mailbox.next<Number>().value);
  });
  for (const int value : {3, 30}) box.send(Number{value});
  box.send(Text{"not looked at"});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.entries(), (std::vector{30, 0, 3}));
}

// C2: as send does, a handler takes a number that its parameter can hold, and no other.
TEST_P(Mailboxes, do_not_cut_numbers) {
  using Numbers = Mailbox<long, short>;
  std::vector<long> got;
  const auto box = runtime.spawn_with<Numbers>(on_core(1), [&](Numbers& mailbox) {
    mailbox.next([&](short number) { got.push_back(number); });
    mailbox.next([&](short number) { got.push_back(number); },
                 [&](long number) { got.push_back(-number); });
    mailbox.next([&](long number) { got.push_back(number); });
    mailbox.next(when([](short number) { return number == 5; },
                      [&](auto number) { got.push_back(10 * number); }));
    got.push_back(mailbox.next<long>());
  });
  box.send(70'000L);
  box.send(short{1});
  box.send(short{2});
  box.send(5L);
  box.send(short{5});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(got, (std::vector<long>{1, -70'000, 2, 50, 5}));
}

// C2
TEST_P(Mailboxes, return_exactly_the_type_that_is_asked_for) {
  using Numbers = Mailbox<Number, Large>;
  std::vector<int> got;
  const auto box = runtime.spawn_with<Numbers>(on_core(1), [&](Numbers& mailbox) {
    got.push_back(mailbox.next<Number>().value);
    got.push_back(mailbox.next<Large>().value);
    mailbox.next([&](const Number& number) { got.push_back(number.value); });  // or what is one
  });
  box.send(Large{{1}});
  box.send(Number{2});
  box.send(Large{{3}});
  EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(got, (std::vector{2, 1, 3}));
}

TEST_P(Mailboxes, outside_their_actor_are_of_no_use) {
  Box stray([](Box&) {});
  EXPECT_THROW(stray.next([](Number) {}), std::logic_error);
  auto other = runtime.spawn_joinable(
      [&stray] { EXPECT_THROW(stray.next([](Number) {}), std::logic_error); });
  EXPECT_TRUE(other.join().has_value());
}

}  // namespace
