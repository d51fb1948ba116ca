// A13: asking, from actors, from threads outside, and from actors with a thread of their own.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Reply;
using support::Clock;
using namespace std::chrono_literals;

struct Add {
  int a;
  int b;
};
struct Nothing {};
struct Hello {
  using Answer = std::string;
};
struct Fail {};
struct Stop {};
struct Silent {
  using Answer = int;
};
struct Never {
  using Answer = int;
};
struct Catch {
  using Answer = int;
};

class Answerer {
 public:
  int receive(Add add) { return add.a + add.b; }
  void receive(Nothing /*message*/) {}
  void receive(Hello /*message*/, Reply<std::string> reply) { reply("hello"); }
  int receive(Fail /*message*/) { throw std::runtime_error("failed"); }
  int receive(Stop /*message*/) {
    this_actor::stop();
    return 5;
  }
  void receive(Silent /*message*/, Reply<int> /*reply*/) {}
  void receive(Never /*message*/, Reply<int> reply) { kept_.push_back(std::move(reply)); }
  void receive(Catch /*message*/, Reply<int> reply) {
    try {
      const Reply<int> mine = std::move(reply);
      throw 1;
    } catch (int) {
    }
  }

 private:
  std::vector<Reply<int>> kept_;
};

// Holds its thread with a message in hand, and then fails.
class Holding {
 public:
  Holding(support::Event* held, const support::Event* go) : held_(held), go_(go) {}
  void receive(Nothing /*message*/) {
    held_->set();
    go_->wait();
    throw std::runtime_error("failed");
  }
  int receive(Add add) { return add.a; }

 private:
  support::Event* held_;
  const support::Event* go_;
};

// Who asks: the tests below hold for each.
enum class Asker { kOutside, kSameCore, kOtherCore, kOwnThread };

std::string name_of_asker(const testing::TestParamInfo<std::tuple<std::size_t, Asker>>& info) {
  static const char* const kNames[] = {"from_outside", "from_its_core", "from_another_core",
                                       "from_an_own_thread"};
  return std::string(kNames[static_cast<int>(std::get<1>(info.param))]) + "_on_" +
         std::to_string(std::get<0>(info.param));
}

class Ask : public testing::TestWithParam<std::tuple<std::size_t, Asker>> {
 protected:
  Ask() : runtime(config()) {
    runtime.start();
    answerer = runtime.spawn_with<Answerer>(at(0));
  }

  static bulkhead::Config config() {
    bulkhead::Config config;
    config.cores = std::get<0>(GetParam());
    config.run_queue = support::run_queue();
    return config;
  }
  // With a shared run queue nobody is given a core, or they would keep out of it.
  static bulkhead::SpawnOptions at(std::size_t core) {
    bulkhead::SpawnOptions options;
    if (is_shared(support::run_queue())) return options;
    options.core = core % std::get<0>(GetParam());
    options.pinned = true;
    return options;
  }

  // Runs it where the asker is to be.
  void as_asker(const std::function<void()>& body) {
    bulkhead::SpawnOptions options;
    switch (std::get<1>(GetParam())) {
      case Asker::kOutside:
        std::thread(body).join();
        return;
      case Asker::kSameCore:
        options = at(0);
        break;
      case Asker::kOtherCore:
        options = at(1);
        break;
      case Asker::kOwnThread:
        options.own_thread = true;
        break;
    }
    support::Event done;
    runtime.spawn_with(options, [&] {
      body();
      done.set();
    });
    ASSERT_TRUE(done.wait());
  }

  // Waits until the asker's question has been sent.
  bool asked() {
    // An asker that is an actor was itself sent its start.
    const std::uint64_t expected = std::get<1>(GetParam()) == Asker::kOutside ? 1 : 2;
    return support::eventually([&] { return runtime.stats().sent >= sent_before_ + expected; });
  }
  void expect_question() { sent_before_ = runtime.stats().sent; }

  // Asks, and expects a failure long before its time is up.
  template <class M>
  void expect_failure(M message, AskError error) {
    as_asker([&, this] {
      const auto start = Clock::now();
      const auto result = answerer.ask(std::move(message), support::kDeadline);
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error(), error) << to_string(result.error());
      EXPECT_LT(Clock::now() - start, support::kDeadline / 2);
    });
  }

  bulkhead::Runtime runtime;
  Address<Answerer> answerer;

 private:
  std::uint64_t sent_before_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Askers, Ask,
                         testing::Combine(testing::Values<std::size_t>(1, 2, 5),
                                          testing::Values(Asker::kOutside, Asker::kSameCore,
                                                          Asker::kOtherCore, Asker::kOwnThread)),
                         name_of_asker);

// A13
TEST_P(Ask, is_answered_with_what_the_handler_returns) {
  as_asker([this] { EXPECT_EQ(answerer.ask(Add{2, 3}, support::kDeadline), 5); });
}

// A13: a zero is an answer like any other.
TEST_P(Ask, tells_a_zero_from_a_failure) {
  as_asker([this] {
    const auto zero = answerer.ask(Add{2, -2}, support::kDeadline);
    ASSERT_TRUE(zero.has_value());
    EXPECT_EQ(*zero, 0);
  });
}

// A13
TEST_P(Ask, is_answered_with_what_the_reply_is_given) {
  as_asker([this] { EXPECT_EQ(answerer.ask(Hello{}, support::kDeadline), "hello"); });
}

// A13
TEST_P(Ask, of_a_handler_without_a_result_is_answered_when_it_returns) {
  as_asker([this] { EXPECT_TRUE(answerer.ask(Nothing{}, support::kDeadline).has_value()); });
}

// A13
TEST_P(Ask, is_answered_also_when_its_handler_stops_the_actor) {
  as_asker([this] {
    EXPECT_EQ(answerer.ask(Stop{}, support::kDeadline), 5);
    EXPECT_TRUE(support::eventually([this] {
      const auto after = answerer.ask(Add{1, 1}, support::kDeadline);
      return !after.has_value() && after.error() == AskError::kGone;
    }));
  });
}

// A13
TEST_P(Ask, fails_at_once_when_the_actor_has_ended) {
  bulkhead::stop(answerer);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  expect_failure(Add{1, 1}, AskError::kGone);
}

// A13
TEST_P(Ask, fails_at_once_when_its_handler_fails) { expect_failure(Fail{}, AskError::kDied); }

// A13
TEST_P(Ask, fails_at_once_when_its_handler_returns_without_a_reply) {
  expect_failure(Silent{}, AskError::kNoReply);
}

// A13
TEST_P(Ask, fails_at_once_when_its_reply_is_lost_to_an_exception_that_is_caught) {
  as_asker([this] {
    EXPECT_FALSE(answerer.ask(Catch{}, support::kDeadline).has_value());
    EXPECT_EQ(answerer.ask(Add{1, 1}, support::kDeadline), 2) << "the actor lives on";
  });
}

// A13: the actor ends with the question still in its mailbox.
TEST_P(Ask, fails_at_once_when_its_message_is_dropped_undelivered) {
  support::Event held;
  support::Event go;
  bulkhead::SpawnOptions own;
  own.own_thread = true;  // it holds up nobody
  const auto holding = runtime.spawn_with<Holding>(own, &held, &go);
  holding.send(Nothing{});
  ASSERT_TRUE(held.wait());
  expect_question();
  std::thread opener([&] {
    EXPECT_TRUE(asked());
    go.set();
  });
  as_asker([&] {
    const auto result = holding.ask(Add{1, 2}, support::kDeadline);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error(), AskError::kDied);
  });
  opener.join();
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
}

// A13
TEST_P(Ask, fails_when_time_is_up_and_not_before) {
  as_asker([this] {
    const auto start = Clock::now();
    const auto result = answerer.ask(Never{}, 30ms);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error(), AskError::kTimedOut);
    EXPECT_GE(Clock::now() - start, 30ms);
    EXPECT_EQ(answerer.ask(Add{1, 1}, support::kDeadline), 2) << "the next one is not disturbed";
  });
}

// A13
TEST_P(Ask, with_no_time_at_all_fails_or_is_answered_but_does_not_hang) {
  as_asker([this] {
    for (int i = 0; i < 100; ++i) {
      const auto result = answerer.ask(Add{1, i}, 0ms);
      if (result.has_value()) {
        EXPECT_EQ(*result, 1 + i);
      } else {
        EXPECT_EQ(result.error(), AskError::kTimedOut);
      }
    }
    EXPECT_EQ(answerer.ask(Add{1, 1}, support::kDeadline), 2);
  });
}

// A13
TEST_P(Ask, for_ever_ends_when_the_actor_does) {
  const auto keeper = answerer;
  expect_question();
  std::thread stopper([&] {
    EXPECT_TRUE(asked());
    bulkhead::stop(keeper);
  });
  as_asker([this] {
    const auto result = answerer.ask(Never{}, bulkhead::kForever);
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(result.error() == AskError::kDied || result.error() == AskError::kGone);
  });
  stopper.join();
}

// A13
TEST_P(Ask, fails_when_the_mailbox_is_full) {
  support::Event held;
  support::Event go;
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  options.mailbox_bound = 1;
  const auto holding = runtime.spawn_with<Holding>(options, &held, &go);
  holding.send(Nothing{});
  ASSERT_TRUE(held.wait());
  EXPECT_EQ(holding.send(Nothing{}), bulkhead::Delivery::kQueued);
  as_asker([&] { EXPECT_EQ(holding.ask(Add{1, 2}).error(), AskError::kFull); });
  go.set();
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
}

// A13
TEST_P(Ask, a_thousand_times_gives_each_its_own_answer) {
  as_asker([this] {
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) {
      if (answerer.ask(Add{i, 1}, support::kDeadline) != i + 1) ++wrong;
    }
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace
