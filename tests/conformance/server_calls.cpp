// C14: calls, casts and infos. Tests are named after the cases of OTP's gen_server_SUITE whose
// behaviour they check.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/served.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::Exit;
using bulkhead::kForever;
using bulkhead::Pid;
using bulkhead::ServerRef;
using support::Add;
using support::Answer;
using support::Ask;
using support::Break;
using support::BreakLater;
using support::Door;
using support::EndSilently;
using support::EndWith;
using support::eventually;
using support::Get;
using support::Note;
using support::Tick;
using support::Till;
using namespace std::chrono_literals;

class ServerCalls : public support::Served {};
ON_ONE_AND_SEVERAL_CORES(ServerCalls);

TEST_P(ServerCalls, call) {
  const auto server = till(5);
  EXPECT_EQ(server.call(Get{}), 5);
  run([&] { EXPECT_EQ(server.call(Get{}), 5); });
  EXPECT_TRUE(server.call(Note{"noted"}).has_value());  // that is answered by nothing
  EXPECT_EQ(notes.diary.line(), "noted");
}

// Delayed, and from elsewhere.
TEST_P(ServerCalls, call_delayed_reply) {
  const auto server = till();
  support::Log<int> answers;
  for (int i = 0; i < 3; ++i) {
    runtime.spawn_with(on_core(2), [&] { answers.add(*server.call(Ask{}, kForever)); });
  }
  EXPECT_TRUE(eventually([&] {
    server.cast(Answer{8});
    return answers.size() == 3;
  }));
  EXPECT_EQ(answers.entries(), (std::vector<int>{8, 8, 8}));
}

struct Forward {
  using Answer = int;
};
struct Clerk {
  void receive(bulkhead::From<int> from) { from.reply(3); }
};
struct Desk : bulkhead::GenServer {
  void handle_call(Forward /*message*/, bulkhead::From<int> from) { clerk.send(std::move(from)); }
  Address<Clerk> clerk;
  explicit Desk(Address<Clerk> c) : clerk(c) {}
};

TEST_P(ServerCalls, call_reply_from_another_actor) {
  const auto server = serve<Desk>({}, runtime.spawn_with<Clerk>(on_core(2)));
  EXPECT_EQ(server.call(Forward{}), 3);
}

// The caller's timeout leaves the server alive, and the call is handled all the same; its late
// answer is dropped.
TEST_P(ServerCalls, call_timeout) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  EXPECT_EQ(server.call(Note{"late"}, 10ms).error(), AskError::kTimedOut);
  door.send(Door::Open{});
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "passes passed late");
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kLateReply), 1u);
}

// The server's death gives the caller the reason: of a failure in the handler, with and without a
// From; when it ends and has not answered; and when the call waits in the mailbox.
TEST_P(ServerCalls, call_server_dies) {
  auto error = till().call(Break{}).error();
  EXPECT_EQ(error, AskError::kDied);
  EXPECT_EQ(to_string(error),
            "the actor ended before it replied: panic: broken (std::runtime_error)");
  error = till().call(BreakLater{}).error();
  EXPECT_EQ(error, AskError::kDied);
  EXPECT_EQ(to_string(error.exit), "panic: broken later (std::runtime_error)");
  // {stop, why, State} without a reply, in OTP (25): the caller exits with why.
  error = till().call(EndSilently{Exit::custom("why")}).error();
  EXPECT_EQ(error, AskError::kDied);
  EXPECT_EQ(error.exit, Exit::custom("why"));

  const auto server = till();
  support::Log<bulkhead::CallError> errors;
  for (int i = 0; i < 2; ++i) {
    runtime.spawn_with(on_core(2), [&] { errors.add(server.call(Ask{}, kForever).error()); });
  }
  ASSERT_TRUE(eventually([&] { return bulkhead::sys::statistics(server)->calls == 2; }));
  bulkhead::exit(server.pid(), Exit::custom("enough"));
  ASSERT_TRUE(eventually([&] { return errors.size() == 2; }));
  for (const auto& each : errors.entries()) {
    EXPECT_EQ(each, AskError::kDied);
    EXPECT_EQ(each.exit, Exit::custom("enough"));
  }
  EXPECT_EQ(server.call(Get{}).error(), AskError::kGone);
  EXPECT_EQ(server.call(Get{}).error().exit, Exit::no_actor());
}

TEST_P(ServerCalls, call_that_waits_when_the_server_dies) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  auto request = server.send_request(Get{});
  bulkhead::exit(server.pid(), Exit::custom("enough"));
  const auto answer = request.wait();
  EXPECT_EQ(answer.error(), AskError::kDied);
  EXPECT_EQ(answer.error().exit, Exit::custom("enough"));
}

// An exception that a handler catches itself does not end it.
struct Careful : bulkhead::GenServer {
  void handle_call(Ask /*message*/, bulkhead::From<int> from) {
    try {
      const auto mine = std::move(from);
      throw std::runtime_error("caught");
    } catch (const std::exception&) {
    }
  }
  int handle_call(Get /*message*/) { return 1; }
};

TEST_P(ServerCalls, call_whose_from_is_lost_is_told) {
  const auto server = serve<Careful>({});
  EXPECT_FALSE(server.call(Ask{}).has_value());
  EXPECT_EQ(server.call(Get{}), 1);
}

TEST_P(ServerCalls, calling_self) { EXPECT_EQ(till().call(support::CallMe{}), AskError::kSelf); }

// {stop, Reason, Reply, State}.
TEST_P(ServerCalls, reply_and_stop) {
  const auto server = till(4);
  EXPECT_EQ(server.call(EndWith{Exit::shutdown("done")}), 4);
  EXPECT_EQ(end_of(server.pid()), Exit::shutdown("done"));
  EXPECT_EQ(notes.diary.line(), "terminate: shutdown: done");
}

TEST_P(ServerCalls, cast) {
  const auto server = till();
  EXPECT_EQ(server.cast(Add{3}), Delivery::kQueued);
  EXPECT_EQ(server.call(Get{}), 3);  // they are in order
}

// Never blocks, even to the unreachable.
TEST_P(ServerCalls, cast_to_nobody) {
  const auto server = till();
  EXPECT_TRUE(server.stop().has_value());
  EXPECT_EQ(server.cast(Add{3}), Delivery::kGone);
  EXPECT_EQ(ServerRef<Till>().cast(Add{1}), Delivery::kGone);
  EXPECT_EQ(ServerRef<Till>().call(Get{}).error(), AskError::kGone);
  EXPECT_EQ(ServerRef<Till>().info(Tick{}), Delivery::kGone);
}

// Nor to one that has no room, and handles nothing: its message is dropped, and that is said.
TEST_P(ServerCalls, cast_to_one_that_is_full) {
  bulkhead::ServerOptions options{.spawn = begun_on(1)};
  options.spawn.mailbox_bound = 10;
  const auto server = till(0, options);
  EXPECT_TRUE(bulkhead::sys::suspend(server).has_value());
  const auto cast_many = [&] {
    std::size_t queued = 0;
    for (int i = 0; i < 30; ++i) {
      const Delivery delivery = server.cast(Add{1});
      EXPECT_TRUE(delivery == Delivery::kQueued || delivery == Delivery::kFull);
      if (delivery == Delivery::kQueued) ++queued;
    }
    return queued;
  };
  EXPECT_EQ(cast_many(), 10u);
  run([&] { EXPECT_EQ(cast_many(), 0u); });
  EXPECT_EQ(server.info(Tick{1}), Delivery::kFull);
  EXPECT_EQ(server.call(Get{}).error(), AskError::kFull);
  EXPECT_EQ(server.send_request(Get{}).wait().error(), AskError::kFull);
  bulkhead::kill(server.pid());
  EXPECT_EQ(end_of(server.pid()), Exit::killed());
}

// Each caller's calls and casts are handled in the order sent.
TEST_P(ServerCalls, calls_and_casts_are_in_order) {
  const auto server = till();
  run([&] {
    for (int i = 1; i <= 100; ++i) {
      server.cast(Add{1});
      EXPECT_EQ(server.call(Get{}), i);
    }
  });
}

TEST_P(ServerCalls, info) {
  const auto server = till();
  EXPECT_EQ(server.info(Tick{1}), Delivery::kQueued);
  server.address().send(Tick{2});
  run([&] {
    bulkhead::send_after(1ms, server.address(), Tick{3});
    this_actor::sleep_for(3ms);
  });
  EXPECT_TRUE(
      eventually([&] { return notes.diary.count("tick3") + notes.diary.count("tick2") >= 1; }));
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line().substr(0, 11), "tick1 tick2");
}

// Down and Exited that a server has no handler for are reported, and it lives.
TEST_P(ServerCalls, unknown_info) {
  const auto server = till();
  const Pid other = runtime.spawn([] { this_actor::sleep_for(kForever); });
  EXPECT_TRUE(server.call(support::Monitor{other}).has_value());
  bulkhead::kill(other);
  ASSERT_TRUE(eventually([&] { return !notes.reports.line().empty(); }));
  EXPECT_NE(notes.reports.line().find("has no handle_info(Down)"), std::string::npos);
  EXPECT_NE(notes.reports.line().find("has ended: killed"), std::string::npos);
  EXPECT_EQ(server.call(Get{}), 0);
}

// Down before system messages before infos before calls and casts.
TEST_P(ServerCalls, order_of_kinds) {
  struct Sorted : Till {
    using Till::handle_info;
    using Till::Till;
    void handle_info(bulkhead::Down /*down*/) { note("down"); }
  };
  const auto server = serve<Sorted>({}, &notes);
  const auto door = runtime.spawn<Door>();
  const Pid dead = runtime.spawn([] {});
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  server.cast(Note{"cast"});
  auto call = server.send_request(Note{"call"});
  auto monitor = server.send_request(support::Monitor{dead});
  server.info(Tick{1});
  support::Event looked;
  runtime.spawn_with(on_core(2), [&] {
    EXPECT_TRUE(bulkhead::sys::get_state(
        server, [](const Sorted&) { return 0; }, kForever));
    looked.set();
  });
  server.info(Tick{2});
  door.send(Door::Open{});
  EXPECT_TRUE(call.wait().has_value());
  EXPECT_TRUE(monitor.wait().has_value());
  EXPECT_TRUE(looked.wait());
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "passes passed tick1 tick2 cast call down");
}

// A call stays fast with a huge backlog in the caller's mailbox.
TEST_P(ServerCalls, call_with_huge_message_queue) {
  const auto server = till(0, {.spawn = pinned_to(1)});
  struct Backlog {};
  using Box = bulkhead::Mailbox<Backlog>;
  support::Event over;
  support::Clock::duration times[2];
  runtime.spawn_with<Box>(pinned_to(0), [&](Box& mailbox) {
    const auto measure = [&] {  // the best of some, since the machine may have more to do
      auto best = support::Clock::duration::max();
      for (int round = 0; round < 20; ++round) {
        const auto begun = support::Clock::now();
        for (int i = 0; i < 20; ++i) static_cast<void>(server.call(Get{}, kForever));
        best = std::min(best, support::Clock::now() - begun);
      }
      return best;
    };
    static_cast<void>(measure());
    times[0] = measure();
    for (int i = 0; i < 100'000; ++i) mailbox.address().send(Backlog{});
    times[1] = measure();
    for (int i = 0; i < 100'000; ++i) mailbox.next<Backlog>();
    over.set();
  });
  ASSERT_TRUE(over.wait());
  EXPECT_LT(times[1], 10 * times[0] + 1ms);
}

// The idle time begins anew with each message.
struct Sleepy : bulkhead::GenServer {
  explicit Sleepy(support::Notes* n) : notes(n) {}
  void init() { idle_after(20ms); }
  void handle_timeout() {
    notes->diary.add("idle");
    if (++times == 2) idle_after(kForever);
  }
  int handle_call(Get /*message*/) { return times; }
  support::Notes* notes;
  int times = 0;
};

TEST_P(ServerCalls, idle_timeout) {
  const auto server = serve<Sleepy>({}, &notes);
  EXPECT_TRUE(eventually([&] { return notes.diary.count("idle") == 1; }));
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(notes.diary.count("idle"), 1u);  // once for each time that it is idle
  EXPECT_EQ(server.call(Get{}), 1);
  EXPECT_TRUE(eventually([&] { return notes.diary.count("idle") == 2; }));
  EXPECT_EQ(server.call(Get{}), 2);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(notes.diary.count("idle"), 2u);
}

}  // namespace
