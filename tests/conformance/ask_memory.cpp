// A15: when an ask returns, nothing of it is left.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::DropCause;
using bulkhead::Reply;
using support::Live;
using namespace std::chrono_literals;

struct Question {
  using Answer = Live;
  Live live;
};
struct Fails {
  using Answer = Live;
  Live live;
};
struct Never {
  using Answer = Live;
  Live live;
};
struct Later {
  using Answer = Live;
};
struct Release {};

class Answerer {
 public:
  void receive(Question question, Reply<Live> reply) { reply(question.live.value() + 1); }
  Live receive(Fails /*message*/) { throw std::runtime_error("failed"); }
  void receive(Never /*message*/, Reply<Live> /*reply*/) {}
  void receive(Later /*message*/, Reply<Live> reply) { kept_.push_back(std::move(reply)); }
  int receive(Release /*message*/) {
    int used = 0;
    for (auto& reply : kept_) used += reply(7) ? 1 : 0;
    kept_.clear();
    return used;
  }

 private:
  std::vector<Reply<Live>> kept_;
};

class AskMemory : public support::Running {
 protected:
  AskMemory() {
    Live::reset();
    answerer = runtime.spawn_with<Answerer>(pinned_to(1));
  }

  // From outside, from the answerer's core and from another one.
  void as_each(const std::function<void()>& body) {
    body();
    for (std::size_t core = 0; core < std::min<std::size_t>(cores(), 2); ++core) {
      support::Event done;
      runtime.spawn_with(pinned_to(core), [&] {
        body();
        done.set();
      });
      ASSERT_TRUE(done.wait());
    }
  }

  Address<Answerer> answerer;
};
ON_ONE_AND_SEVERAL_CORES(AskMemory);

// A15
TEST_P(AskMemory, nothing_is_left_when_an_answer_has_come) {
  as_each([this] {
    for (int i = 0; i < 200; ++i) {
      {
        const auto answer = answerer.ask(Question{Live(i)}, support::kDeadline);
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->value(), i + 1);
      }
      // A handler that gives its answer to a Reply may still be on its way out of its own frames.
      EXPECT_TRUE(support::eventually([] { return Live::alive() == 0; }));
    }
  });
}

// What a handler returns is on its way only when the handler's frames are gone.
struct Measure {
  Live live;
};
class Returner {
 public:
  Live receive(Question question) { return std::move(question.live); }
  int receive(const Measure& measure) { return measure.live.value(); }
  void receive(Fails /*message*/) {}
};

// A15
TEST_P(AskMemory, nothing_at_all_is_left_of_one_whose_handler_returned_its_answer) {
  const auto returner = runtime.spawn_with<Returner>(pinned_to(1));
  as_each([returner] {
    for (int i = 0; i < 200; ++i) {
      {
        const auto answer = returner.ask(Question{Live(i)}, support::kDeadline);
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->value(), i);
        EXPECT_EQ(Live::values(), 1) << "the answer";
      }
      EXPECT_EQ(returner.ask(Measure{Live(i)}, support::kDeadline), i);
      EXPECT_EQ(Live::values(), 0);
      EXPECT_TRUE(returner.ask(Fails{Live(i)}, support::kDeadline).has_value());
      EXPECT_EQ(Live::values(), 0);
    }
  });
}

// A15
TEST_P(AskMemory, nothing_is_left_when_an_ask_has_failed) {
  as_each([this] {
    const auto fresh = runtime.spawn_with<Answerer>(pinned_to(1));
    EXPECT_EQ(fresh.ask(Never{Live(1)}, support::kDeadline).error(), AskError::kNoReply);
    EXPECT_TRUE(support::eventually([] { return Live::alive() == 0; }));
    EXPECT_EQ(fresh.ask(Fails{Live(1)}, support::kDeadline).error(), AskError::kDied);
    EXPECT_TRUE(support::eventually([] { return Live::alive() == 0; }));
    // It is about to end, or has ended.
    EXPECT_FALSE(fresh.ask(Question{Live(1)}, support::kDeadline).has_value());
    EXPECT_EQ(Live::alive(), 0);
  });
}

// A15
TEST_P(AskMemory, a_late_reply_is_destroyed_and_counted) {
  as_each([this] {
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(answerer.ask(Later{}, 1ms).error(), AskError::kTimedOut);
    }
    EXPECT_EQ(answerer.ask(Release{}, support::kDeadline), 0);
    EXPECT_EQ(Live::alive(), 0);
  });
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kLateReply), cores() == 1 ? 20u : 30u);
}

// A15: it may come at the very moment in which time is up; one of the two has happened, never both.
TEST_P(AskMemory, an_answer_and_a_timeout_at_once_are_one_of_the_two) {
  constexpr int kRounds = 300;
  std::atomic<int> answered{0};
  std::atomic<int> timed_out{0};
  std::atomic<int> used{0};
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [&, this] {
      for (int i = 0; i < kRounds; ++i) {
        const auto result = answerer.ask(Later{}, std::chrono::microseconds(50 + i % 100));
        if (result.has_value()) {
          EXPECT_EQ(result->value(), 7);
          ++answered;
        } else {
          EXPECT_EQ(result.error(), AskError::kTimedOut);
          ++timed_out;
        }
      }
    });
  }
  const std::uint64_t all = kRounds * cores();
  while (static_cast<std::uint64_t>(answered + timed_out) < all) {
    used += answerer.ask(Release{}, support::kDeadline).value();
  }
  used += answerer.ask(Release{}, support::kDeadline).value();
  wait_for_idle();
  EXPECT_EQ(used, answered);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kLateReply),
            static_cast<std::uint64_t>(timed_out.load()));
  EXPECT_EQ(Live::alive(), 0);
}

// A15: the same for threads outside.
TEST_P(AskMemory, an_answer_and_a_timeout_at_once_are_one_of_the_two_outside) {
  std::atomic<int> answered{0};
  std::atomic<int> timed_out{0};
  std::atomic<bool> asking{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, this] {
      for (int i = 0; i < 300; ++i) {
        if (answerer.ask(Later{}, std::chrono::microseconds(20 + i))) {
          ++answered;
        } else {
          ++timed_out;
        }
      }
    });
  }
  std::atomic<int> used{0};
  std::thread releaser([&, this] {
    while (asking) used += answerer.ask(Release{}, support::kDeadline).value();
  });
  for (std::thread& thread : threads) thread.join();
  asking = false;
  releaser.join();
  used += answerer.ask(Release{}, support::kDeadline).value();
  wait_for_idle();
  EXPECT_EQ(used, answered);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kLateReply),
            static_cast<std::uint64_t>(timed_out.load()));
  EXPECT_EQ(Live::alive(), 0);
}

// A15: shutdown ends an asker in the middle of its ask.
TEST_P(AskMemory, nothing_is_left_of_asks_that_a_shutdown_cut_short) {
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [this] {
      const Live mine(3);
      static_cast<void>(answerer.ask(Later{}, bulkhead::kForever));
    });
  }
  ASSERT_TRUE(support::eventually([this] { return runtime.stats().handled >= 20; }));
  runtime.shutdown(0s);
  EXPECT_EQ(Live::alive(), 0);
}

// A15: an answer that cannot be made, or moved, fails the ask.
class Fragile {
 public:
  explicit Fragile(bool on_making) {
    if (on_making) throw std::runtime_error("not made");
  }
  Fragile(Fragile&& /*other*/) noexcept(false) { throw std::runtime_error("not moved"); }
};
struct Make {
  using Answer = Fragile;
  bool on_making;
};
class Maker {
 public:
  void receive(Make make, Reply<Fragile> reply) {
    try {
      reply(make.on_making);
    } catch (const std::runtime_error&) {
    }
  }
};

// A13, A15
TEST_P(AskMemory, an_answer_that_throws_fails_the_ask_at_once) {
  const auto maker = runtime.spawn_with<Maker>(pinned_to(1));
  as_each([maker] {
    for (const bool on_making : {true, false}) {
      const auto result = maker.ask(Make{on_making}, support::kDeadline);
      ASSERT_FALSE(result.has_value());
      EXPECT_NE(result.error(), AskError::kTimedOut);
    }
  });
}

// A message that cannot be moved when it is to be sent.
struct Unsendable {
  Live live{1};
  Unsendable() = default;
  Unsendable(Unsendable&& other) : live(std::move(other.live)) {
    throw std::runtime_error("not moved");
  }
};
class Sink {
 public:
  void receive(Unsendable /*message*/) {}
  int receive(char /*message*/) { return 1; }
};

// A11, A15
TEST_P(AskMemory, a_message_that_throws_on_its_way_is_the_senders_affair) {
  const auto sink = runtime.spawn_with<Sink>(pinned_to(1));
  as_each([sink] {
    Unsendable message;
    EXPECT_THROW(static_cast<void>(sink.try_send(message)), std::runtime_error);
    EXPECT_EQ(sink.ask('?', support::kDeadline), 1);
  });
  wait_for_idle();
  EXPECT_EQ(Live::alive(), 0);
}

}  // namespace
