// A14: who waits for an answer holds nobody up, and nobody holds up the answer.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Reply;
using support::Door;
using namespace std::chrono_literals;

class AskWhileWaiting : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(AskWhileWaiting);

// A14
TEST_P(AskWhileWaiting, a_core_runs_its_other_actors) {
  const auto door = runtime.spawn<Door>();
  std::atomic<int> passed{0};
  constexpr int kWaiting = 100;
  for (std::size_t core = 0; core < cores(); ++core) {
    for (int i = 0; i < kWaiting; ++i) {
      runtime.spawn_with(pinned_to(core), [&passed, door] {
        if (door.ask(Door::Pass{}, bulkhead::kForever)) ++passed;
      });
    }
    // All of its actors wait, and it still has room for one that opens the door.
  }
  const std::size_t all = kWaiting * cores();
  ASSERT_TRUE(
      support::eventually([&] { return door.ask(Door::Waiting{}, support::kDeadline) == all; }));
  EXPECT_EQ(passed, 0);
  runtime.spawn_with(pinned_to(cores() - 1), [door] { door.send(Door::Open{}); });
  wait_for_idle();
  EXPECT_EQ(passed, static_cast<int>(all));
}

struct Down {
  int left;
};

// Asks the next one, which asks the next one, and so on.
class Link {
 public:
  struct Next {
    bulkhead::Pid next;
  };
  void receive(Next message) { next_ = Address<Link>(message.next); }
  int receive(Down down) {
    if (down.left == 0) return 0;
    return next_.ask(Down{down.left - 1}, support::kDeadline).value() + 1;
  }

 private:
  Address<Link> next_;
};

// A14
TEST_P(AskWhileWaiting, chains_of_asks_over_all_cores_are_answered) {
  constexpr int kLinks = 60;
  std::vector<Address<Link>> links;
  for (std::size_t i = 0; i < kLinks; ++i) links.push_back(runtime.spawn_with<Link>(pinned_to(i)));
  for (std::size_t i = 0; i + 1 < kLinks; ++i) links[i].send(Link::Next{links[i + 1].pid()});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(links[0].ask(Down{kLinks - 1}, support::kDeadline), kLinks - 1);
  }
}

// A14
TEST_P(AskWhileWaiting, chains_of_asks_on_one_core_are_answered) {
  constexpr int kLinks = 60;
  std::vector<Address<Link>> links;
  for (std::size_t i = 0; i < kLinks; ++i) links.push_back(runtime.spawn_with<Link>(pinned_to(0)));
  for (std::size_t i = 0; i + 1 < kLinks; ++i) links[i].send(Link::Next{links[i + 1].pid()});
  std::atomic<int> answer{0};
  runtime.spawn_with(pinned_to(0),
                     [&] { answer = links[0].ask(Down{kLinks - 1}, support::kDeadline).value(); });
  wait_for_idle();
  EXPECT_EQ(answer, kLinks - 1);
}

// Two that ask each other. What the other asks meanwhile waits until this one's handler is done.
class Mutual {
 public:
  struct Meet {
    bulkhead::Pid other;
  };
  struct Start {
    int milliseconds;
  };
  struct Question {};
  void receive(Meet meet) { other_ = Address<Mutual>(meet.other); }
  std::optional<AskError> receive(Start start) {
    asked_ = true;
    const auto result =
        other_.ask(Start2{start.milliseconds / 2}, std::chrono::milliseconds(start.milliseconds));
    if (!result) return result.error();
    return *result;
  }
  // Asks back: the asker is in the middle of its handler.
  struct Start2 {
    int milliseconds;
  };
  std::optional<AskError> receive(Start2 start) {
    const auto result = other_.ask(Question{}, std::chrono::milliseconds(start.milliseconds));
    if (!result) return result.error();
    return std::nullopt;
  }
  bool receive(Question /*message*/) { return asked_; }

 private:
  Address<Mutual> other_;
  bool asked_ = false;
};

// A14
TEST_P(AskWhileWaiting, who_asks_its_asker_can_only_time_out) {
  const auto a = runtime.spawn_with<Mutual>(on_core(0));
  const auto b = runtime.spawn_with<Mutual>(on_core(1));
  a.send(Mutual::Meet{b.pid()});
  b.send(Mutual::Meet{a.pid()});
  const auto outcome = a.ask(Mutual::Start{2000}, support::kDeadline);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(*outcome, AskError::kTimedOut) << "of the inner ask; the outer one was answered";
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kLateReply), 1u);
  const auto again = b.ask(Mutual::Question{}, support::kDeadline);
  EXPECT_TRUE(again.has_value()) << "both go on";
}

// A14
TEST_P(AskWhileWaiting, who_asks_itself_is_told_so_at_once) {
  class Selfish {
   public:
    int receive(char /*message*/) { return 1; }
    bool receive(int /*message*/) {
      const auto result = this_actor::address(this).ask('?', 1h);
      return !result.has_value() && result.error() == AskError::kSelf;
    }
  };
  const auto selfish = runtime.spawn<Selfish>();
  EXPECT_EQ(selfish.ask(1, support::kDeadline), true);
  wait_for_idle();
}

// A handler that sends, asks, and is asked, before it answers its own asker.
class Middle {
 public:
  Middle(Address<support::NumberedReceiver> to, Address<Link> end) : to_(to), end_(end) {}
  int receive(Down down) {
    to_.send(support::Numbered{0, number_++});
    EXPECT_EQ(end_.ask(Down{0}, support::kDeadline), 0);
    EXPECT_EQ(to_.ask(support::NumberedAsk{0, number_}, support::kDeadline), number_);
    ++number_;
    bulkhead::spawn([] {});
    return down.left;
  }

 private:
  Address<support::NumberedReceiver> to_;
  Address<Link> end_;
  std::uint32_t number_ = 0;
};

// A14
TEST_P(AskWhileWaiting, a_handler_that_sends_and_asks_first_still_answers_its_own_asker) {
  support::Tally tally;
  const auto to = runtime.spawn_with<support::NumberedReceiver>(on_core(1), &tally, std::size_t{1});
  const auto end = runtime.spawn_with<Link>(on_core(2));
  const auto middle = runtime.spawn_with<Middle>(on_core(0), to, end);
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < 10; ++i) {
    runtime.spawn_with(on_core(i), [middle, i, &wrong] {
      for (int k = 0; k < 20; ++k) {
        const int mine = static_cast<int>(i) * 100 + k;
        if (middle.ask(Down{mine}, support::kDeadline) != mine) ++wrong;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, 400u);
}

struct Question {
  using Answer = int;
  int number;
};
struct Pending {
  Reply<int> reply;
  int number;
};
struct Flush {};

// Passes the right to answer on to another actor.
class Clerk {
 public:
  void receive(Pending pending) { pending.reply(pending.number * 2); }
};
class Forwarder {
 public:
  explicit Forwarder(Address<Clerk> clerk) : clerk_(clerk) {}
  void receive(Question question, Reply<int> reply) {
    clerk_.send(Pending{std::move(reply), question.number});
  }

 private:
  Address<Clerk> clerk_;
};

// A13, A14
TEST_P(AskWhileWaiting, a_reply_may_be_given_by_another_actor) {
  const auto clerk = runtime.spawn_with<Clerk>(on_core(1));
  const auto forwarder = runtime.spawn_with<Forwarder>(on_core(0), clerk);
  std::atomic<int> wrong{0};
  runtime.spawn_with(on_core(1), [forwarder, &wrong] {
    for (int i = 0; i < 200; ++i) {
      if (forwarder.ask(Question{i}, support::kDeadline) != i * 2) ++wrong;
    }
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(forwarder.ask(Question{i}, support::kDeadline), i * 2);
  }
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
  // When who was to answer is gone, the ask fails at once, from either side.
  bulkhead::stop(clerk);
  wait_for_idle();
  const auto lost = forwarder.ask(Question{1}, support::kDeadline);
  ASSERT_FALSE(lost.has_value());
  EXPECT_NE(lost.error(), AskError::kTimedOut);
}

// Keeps the rights to answer, and uses them later and in reverse.
class Late {
 public:
  void receive(Question question, Reply<int> reply) {
    EXPECT_TRUE(static_cast<bool>(reply));
    kept_.emplace_back(std::move(reply), question.number);
    EXPECT_FALSE(static_cast<bool>(reply));  // NOLINT: looks at what was moved from
    EXPECT_FALSE(reply(1));                  // NOLINT
  }
  std::size_t receive(Flush /*message*/) {
    std::size_t used = 0;
    while (!kept_.empty()) {
      used += kept_.back().first(kept_.back().second + 1000) ? 1 : 0;
      EXPECT_FALSE(kept_.back().first(5)) << "a reply is used once";
      kept_.pop_back();
    }
    return used;
  }

 private:
  std::vector<std::pair<Reply<int>, int>> kept_;
};

// A13, A14
TEST_P(AskWhileWaiting, a_reply_may_be_kept_and_given_later_in_any_order) {
  const auto late = runtime.spawn<Late>();
  std::atomic<int> right{0};
  constexpr int kAskers = 50;
  for (int i = 0; i < kAskers; ++i) {
    runtime.spawn_with(on_core(static_cast<std::size_t>(i)), [late, i, &right] {
      if (late.ask(Question{i}, bulkhead::kForever) == i + 1000) ++right;
    });
  }
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().sent >= 2 * kAskers; }));
  std::size_t used = 0;
  while (used < kAskers) used += late.ask(Flush{}, support::kDeadline).value();
  wait_for_idle();
  EXPECT_EQ(right, kAskers);
}

// A13: one that is answered after its asker gave up says so.
TEST_P(AskWhileWaiting, a_reply_that_comes_too_late_says_so) {
  const auto late = runtime.spawn<Late>();
  EXPECT_EQ(late.ask(Question{1}, 1ms).error(), AskError::kTimedOut);
  EXPECT_EQ(late.ask(Flush{}, support::kDeadline), 0u);
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kLateReply), 1u);
}

}  // namespace
