// A13, C14: who asks learns why the one that it asked has ended.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::kForever;
using bulkhead::Pid;
using bulkhead::Reply;
using support::Door;
using support::eventually;
using namespace std::chrono_literals;

struct Fail {};
struct FailVoid {};
struct Keep {
  using Answer = int;
};
struct End {
  Exit reason;
};
struct Work {
  Address<Door> door;
};

class Asked {
 public:
  int receive(Fail /*message*/) { throw std::runtime_error("no"); }
  void receive(FailVoid /*message*/) { throw std::runtime_error("nothing"); }
  void receive(Keep /*message*/, Reply<int> reply) { kept_.push_back(std::move(reply)); }
  void receive(End message) { this_actor::stop(message.reason); }
  void receive(Work message) { static_cast<void>(message.door.ask(Door::Pass{}, kForever)); }

 private:
  std::vector<Reply<int>> kept_;
};

class AskExits : public support::Running {
 protected:
  AskExits() : Running(quiet()), asked(runtime.spawn_with<Asked>(on_core(1))) {}

  static bulkhead::Config quiet() {
    bulkhead::Config config = OnCores::config();
    config.on_death = [](const bulkhead::Death&) {};
    return config;
  }
  // In an actor of another core, and in this thread.
  template <class M>
  void expect(M message, AskError error, const Exit& exit) {
    support::Event over;
    runtime.spawn_with(on_core(2), [&, asked = asked] {
      Exit why;
      const auto answer = asked.ask(message, kForever, &why);
      EXPECT_EQ(answer.error(), error);
      EXPECT_EQ(why, exit);
      over.set();
    });
    ASSERT_TRUE(over.wait());
    asked = runtime.spawn_with<Asked>(on_core(1));
  }

  Address<Asked> asked;
};
ON_ONE_AND_SEVERAL_CORES(AskExits);

TEST_P(AskExits, an_exception_is_the_reason) {
  expect(Fail{}, AskError::kDied, Exit::panic(std::make_exception_ptr(std::runtime_error("no"))));
  expect(FailVoid{}, AskError::kDied,
         Exit::panic(std::make_exception_ptr(std::runtime_error("nothing"))));
}

TEST_P(AskExits, one_that_holds_the_reply_in_its_state_ends) {
  for (const Exit& reason : {Exit::normal(), Exit::shutdown("done"), Exit::custom("tired"),
                             Exit::killed(), Exit::stopped()}) {
    const auto one = runtime.spawn_with<Asked>(on_core(1));
    Exit why = Exit::custom("not told");
    runtime.spawn_with(on_core(2), [one, reason] {
      this_actor::sleep_for(2ms);
      if (reason == Exit::killed()) {
        bulkhead::kill(one);
      } else if (reason == Exit::stopped()) {
        bulkhead::request_stop(one);
      } else {
        one.send(End{reason});
      }
    });
    const auto answer = one.ask(Keep{}, kForever, &why);
    ASSERT_FALSE(answer.has_value());
    // The end may have come before the question.
    if (answer.error() == AskError::kDied && why != Exit::no_actor()) {
      EXPECT_EQ(why, reason);
    } else {
      EXPECT_EQ(why, Exit::no_actor());
    }
  }
}

TEST_P(AskExits, a_question_that_waits_in_the_mailbox) {
  const auto door = runtime.spawn<Door>();
  asked.send(Work{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  support::Event over;
  Exit why;
  AskError error{};
  runtime.spawn_with(on_core(2), [&, asked = asked] {
    error = asked.ask(Keep{}, kForever, &why).error();
    over.set();
  });
  std::this_thread::sleep_for(5ms);
  bulkhead::exit(asked, Exit::custom("enough"));
  ASSERT_TRUE(over.wait());
  if (error == AskError::kDied) {
    EXPECT_EQ(why, Exit::custom("enough"));
  } else {
    EXPECT_EQ(error, AskError::kGone);  // the machine is so slow that it came too late
  }
}

TEST_P(AskExits, there_is_none) {
  asked.send(End{Exit::custom("x")});
  wait_for_idle();
  Exit why;
  EXPECT_EQ(asked.ask(Fail{}, kForever, &why).error(), AskError::kGone);
  EXPECT_EQ(why, Exit::no_actor());
  EXPECT_EQ(Address<Asked>().ask(Fail{}, kForever, &why).error(), AskError::kGone);
}

TEST_P(AskExits, others_leave_it_alone) {
  Exit why = Exit::custom("mine");
  EXPECT_EQ(asked.ask(Keep{}, 5ms, &why).error(), AskError::kTimedOut);
  EXPECT_EQ(why, Exit::custom("mine"));
}

// Askers on all cores, while it ends: by an exit of its own round, or by a failure.
TEST_P(AskExits, whoever_asks_meanwhile_learns_the_reason_or_that_there_is_none) {
  struct Outcome {
    AskError error;
    Exit why;
  };
  for (int round = 0; round < 100; ++round) {
    const Exit reason = Exit::custom("round " + std::to_string(round));
    const auto one = runtime.spawn_with<Asked>(on_core(1));
    support::Log<Outcome> outcomes;
    constexpr std::size_t kAskers = 6;
    for (std::size_t i = 0; i < kAskers; ++i) {
      runtime.spawn_with(on_core(i), [one, i, &outcomes] {
        Exit why = Exit::custom("not told");
        auto answer = one.ask(Keep{}, i % 2 == 0 ? kForever : 1ms, &why);
        while (answer || answer.error() == AskError::kTimedOut) {
          answer = one.ask(Keep{}, 1ms, &why);
        }
        outcomes.add({answer.error(), why});
      });
    }
    runtime.spawn_with(on_core(2), [one, reason, round] {
      for (int i = round % 5; i > 0; --i) this_actor::yield();
      bulkhead::exit(one, reason);
    });
    ASSERT_TRUE(eventually([&] { return outcomes.size() == kAskers; }));
    for (const auto& [error, why] : outcomes.entries()) {
      if (error == AskError::kDied && why == reason) continue;
      EXPECT_TRUE(error == AskError::kDied || error == AskError::kGone);
      EXPECT_EQ(why, Exit::no_actor());
    }
  }
}

// In a destructor the reason is known.
TEST_P(AskExits, exit_reason) {
  struct Told {
    std::optional<Exit>* reason;
    ~Told() { *reason = this_actor::exit_reason(); }
    void receive(End message) {
      EXPECT_FALSE(this_actor::exit_reason().has_value());
      this_actor::stop(message.reason);
    }
  };
  std::optional<Exit> reason;
  const auto told = runtime.spawn_with<Told>(on_core(1), &reason);
  told.send(End{Exit::custom("done")});
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(reason, Exit::custom("done"));
  EXPECT_FALSE(this_actor::exit_reason().has_value());
}

}  // namespace
