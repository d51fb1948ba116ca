// C14: system messages. Tests are named after the cases of OTP's gen_server_SUITE and sys_SUITE
// whose behaviour they check.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "support/served.hpp"

namespace {

namespace sys = bulkhead::sys;
namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::kForever;
using bulkhead::ServerEvent;
using bulkhead::ServerRef;
using support::Add;
using support::Door;
using support::eventually;
using support::Get;
using support::Note;
using support::Purse;
using support::Tick;
using support::Till;
using namespace std::chrono_literals;

class ServerSystem : public support::Served {};
ON_ONE_AND_SEVERAL_CORES(ServerSystem);

TEST_P(ServerSystem, get_state) {
  const auto purse = serve<Purse>({}, 5);
  EXPECT_EQ(sys::get_state(purse)->sum, 5);
  EXPECT_EQ(sys::get_state(purse, [](const Purse& state) { return state.sum * 2; }), 10);
  run([&] { EXPECT_EQ(sys::get_state(purse)->sum, 5); });
  EXPECT_TRUE(sys::suspend(purse).has_value());
  EXPECT_EQ(sys::get_state(purse)->sum, 5);
  const auto failed = sys::get_state(purse, [](const Purse& state) {
    if (state.sum == 5) throw std::runtime_error("cannot look");
    return 0;
  });
  EXPECT_EQ(failed.error(), AskError::kNoReply);
  EXPECT_EQ(to_string(failed.error()),
            "the handler returned without replying: panic: cannot look (std::runtime_error)");
  EXPECT_EQ(sys::get_status(till(3)), "sum 3");
  EXPECT_TRUE(purse.stop().has_value());
  EXPECT_EQ(sys::get_state(purse).error(), AskError::kGone);
}

TEST_P(ServerSystem, replace_state) {
  const auto purse = serve<Purse>({}, 5);
  EXPECT_TRUE(sys::replace_state(purse, [](Purse& state) { state.sum += 2; }).has_value());
  EXPECT_EQ(purse.call(Get{}), 7);
  // One that fails leaves the state, also what it has changed already; so in OTP (25).
  const auto failed = sys::replace_state(purse, [](Purse& state) {
    state.sum = 100;
    throw std::runtime_error("changed my mind");
  });
  EXPECT_EQ(to_string(failed.error().exit), "panic: changed my mind (std::runtime_error)");
  EXPECT_EQ(purse.call(Get{}), 7);
  EXPECT_TRUE(sys::suspend(purse).has_value());
  EXPECT_TRUE(sys::replace_state(purse, [](Purse& state) { state.sum = 1; }).has_value());
  EXPECT_TRUE(sys::resume(purse).has_value());
  EXPECT_EQ(purse.call(Get{}), 1);
}

// A mailbox that is full has room for system messages, or nobody could have its server go on.
TEST_P(ServerSystem, with_a_full_mailbox) {
  bulkhead::ServerOptions options{.spawn = on_core(1)};
  options.spawn.mailbox_bound = 10;
  const auto server = till(0, options);
  EXPECT_TRUE(sys::suspend(server).has_value());
  int queued = 0;
  for (int i = 0; i < 30; ++i) queued += server.cast(Add{1}) == bulkhead::Delivery::kQueued;
  EXPECT_EQ(queued, 10);
  EXPECT_EQ(server.call(Get{}).error(), bulkhead::AskError::kFull);
  EXPECT_EQ(server.info(Tick{1}), bulkhead::Delivery::kFull);
  EXPECT_EQ(sys::get_status(server), "sum 0");
  EXPECT_EQ(sys::statistics(server)->casts, 0u);
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_TRUE(eventually([&] { return server.call(Get{}) == 10; }));
  EXPECT_TRUE(sys::suspend(server).has_value());
  for (int i = 0; i < 30; ++i) server.cast(Add{1});
  EXPECT_TRUE(server.stop().has_value());
  EXPECT_EQ(end_of(server.pid()), bulkhead::Exit::normal());
}

// Suspend is idempotent, and what is sent meanwhile is not lost.
TEST_P(ServerSystem, suspend_and_resume) {
  const auto server = till();
  EXPECT_TRUE(sys::suspend(server).has_value());
  EXPECT_TRUE(sys::suspend(server).has_value());
  auto call = server.send_request(Get{});
  for (int i = 1; i <= 100; ++i) server.cast(Add{1});
  server.info(Tick{1});
  EXPECT_EQ(server.call(Get{}, 10ms).error(), AskError::kTimedOut);
  EXPECT_EQ(sys::get_status(server), "sum 0");
  EXPECT_FALSE(call.check().has_value());
  EXPECT_EQ(notes.diary.line(), "");
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_EQ(call.wait(), 0);
  EXPECT_EQ(server.call(Get{}), 100);
  EXPECT_EQ(notes.diary.line(), "tick1");
  EXPECT_TRUE(sys::resume(server).has_value());  // also idempotent
  EXPECT_TRUE(sys::suspend(server).has_value());
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_EQ(server.call(Get{}), 100);
}

// Stopped while it is suspended: terminate runs, and what waits is told.
TEST_P(ServerSystem, stop_while_suspended) {
  const auto server = till();
  EXPECT_TRUE(sys::suspend(server).has_value());
  auto call = server.send_request(Get{});
  EXPECT_TRUE(server.stop(Exit::shutdown("gone")).has_value());
  EXPECT_EQ(call.wait().error().exit, Exit::shutdown("gone"));
  EXPECT_EQ(notes.diary.line(), "terminate: shutdown: gone");
}

TEST_P(ServerSystem, exit_while_suspended) {
  const auto server = till();
  EXPECT_TRUE(sys::suspend(server).has_value());
  bulkhead::exit(server.pid(), Exit::custom("enough"));
  EXPECT_EQ(end_of(server.pid()), Exit::custom("enough"));
  EXPECT_EQ(notes.diary.line(), "terminate: enough");
}

struct Trapping : Till {
  using Till::Till;
  void init() { this_actor::trap_exits(true); }
};

TEST_P(ServerSystem, parent_ends_while_suspended) {
  bulkhead::Pid server;
  run([&] {
    const auto started = bulkhead::start_server<Trapping>({.linked = true}, &notes);
    server = started->pid();
    EXPECT_TRUE(sys::suspend(*started).has_value());
    bulkhead::exit(server, Exit::normal());  // of its parent: that is all
    this_actor::stop(Exit::custom("parent"));
  });
  EXPECT_TRUE(eventually([&] { return has_ended(server); }));
  EXPECT_EQ(notes.diary.line().substr(0, 10), "terminate:");
}

TEST_P(ServerSystem, shutdown_while_suspended) {
  const auto server = till();
  EXPECT_TRUE(sys::suspend(server).has_value());
  server.cast(Note{"never"});
  runtime.shutdown(0s);
  EXPECT_EQ(notes.diary.line(), "terminate: shutdown");
}

// Ahead of a backlog: of those that come in time one, at least, sees little of it handled.
TEST_P(ServerSystem, ahead_of_a_backlog) {
  constexpr int kMany = 20'000;
  EXPECT_TRUE(eventually([&] {
    const auto purse = serve<Purse>({}, 0);
    EXPECT_TRUE(sys::suspend(purse).has_value());
    for (int i = 0; i < kMany; ++i) purse.cast(Add{1});
    support::Event over;
    int sum = kMany;
    runtime.spawn_with(on_core(2), [&] {
      sum = *sys::get_state(
          purse, [](const Purse& state) { return state.sum; }, kForever);
      over.set();
    });
    EXPECT_TRUE(sys::resume(purse).has_value());
    EXPECT_TRUE(over.wait());
    EXPECT_EQ(purse.call(Get{}, kForever), kMany);
    EXPECT_TRUE(purse.stop().has_value());
    return sum < kMany / 2;
  }));
}

TEST_P(ServerSystem, statistics) {
  const auto server = till();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(server.call(Get{}).has_value());
  server.cast(Add{1});
  server.cast(Add{1});
  server.info(Tick{1});
  EXPECT_TRUE(server.call(Get{}).has_value());
  const auto statistics = sys::statistics(server);
  ASSERT_TRUE(statistics.has_value());
  EXPECT_LE(statistics->started, begun);
  EXPECT_EQ(statistics->calls, 2u);
  EXPECT_EQ(statistics->casts, 2u);
  EXPECT_EQ(statistics->infos, 1u);
  EXPECT_EQ(statistics->system, 1u);
}

TEST_P(ServerSystem, trace) {
  const auto server = till();
  support::Log<std::string> events;
  EXPECT_TRUE(sys::trace(server, [&events](const ServerEvent& event) {
                events.add(to_string(event));
              }).has_value());
  EXPECT_EQ(server.call(Get{}), 0);
  server.cast(Add{1});
  server.info(Tick{1});
  EXPECT_EQ(server.call(Get{}), 1);
  EXPECT_TRUE(sys::no_trace(server).has_value());
  EXPECT_EQ(server.call(Get{}), 1);
  ASSERT_EQ(events.size(), 6u);
  std::size_t calls = 0;
  for (const auto& event : events.entries()) {
    if (event.starts_with("call ")) ++calls;
  }
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(events.entries()[1], "reply int");
  // One that fails is let go, and the server lives.
  EXPECT_TRUE(
      sys::trace(server, [](const ServerEvent&) { throw std::runtime_error("no"); }).has_value());
  EXPECT_EQ(server.call(Get{}), 1);
  EXPECT_EQ(server.call(Get{}), 1);
}

TEST_P(ServerSystem, log) {
  const auto server = till();
  EXPECT_TRUE(sys::log(server, 3).has_value());
  for (int i = 0; i < 5; ++i) server.cast(Add{1});
  EXPECT_EQ(server.call(Get{}), 5);
  auto log = sys::get_log(server);
  ASSERT_TRUE(log.has_value());
  ASSERT_EQ(log->size(), 3u);
  EXPECT_EQ(log->back(), "reply int");
  EXPECT_TRUE(log->front().starts_with("cast "));
  EXPECT_TRUE(sys::log(server, 0).has_value());
  EXPECT_TRUE(sys::get_log(server)->empty());
}

// All of them are answered while it is suspended, and nothing else is handled.
TEST_P(ServerSystem, while_it_is_suspended) {
  const auto server = till(3);
  EXPECT_EQ(server.call(Get{}), 3);
  EXPECT_TRUE(sys::suspend(server).has_value());
  auto waits = server.send_request(Get{});
  server.cast(Add{1});
  server.info(Tick{1});
  const auto statistics = sys::statistics(server);
  ASSERT_TRUE(statistics.has_value());
  EXPECT_EQ(statistics->calls, 1u);
  EXPECT_EQ(statistics->casts, 0u);
  EXPECT_EQ(statistics->infos, 0u);
  support::Log<std::string> events;
  EXPECT_TRUE(sys::trace(server, [&events](const ServerEvent& event) {
                events.add(to_string(event));
              }).has_value());
  EXPECT_TRUE(sys::log(server, 10).has_value());
  EXPECT_TRUE(sys::get_log(server)->empty());
  EXPECT_EQ(sys::get_status(server), "sum 3");
  EXPECT_EQ(sys::get_state(server, [](const Till& state) { return state.format_status(); }),
            "sum 3");
  EXPECT_FALSE(waits.check().has_value());
  EXPECT_EQ(events.size(), 0u);
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_EQ(waits.wait(), 3);
  EXPECT_EQ(server.call(Get{}), 4);
  // They have been on since: an info, a call and its reply, a cast, a call and its reply.
  EXPECT_EQ(sys::get_log(server)->size(), 6u);
  EXPECT_EQ(events.entries(), *sys::get_log(server));
  EXPECT_TRUE(sys::suspend(server).has_value());
  EXPECT_TRUE(sys::no_trace(server).has_value());
  EXPECT_TRUE(sys::log(server, 2).has_value());
  EXPECT_EQ(sys::get_log(server)->size(), 2u);
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_EQ(server.call(Get{}), 4);
  EXPECT_EQ(events.size(), 6u);
  EXPECT_EQ(sys::statistics(server)->calls, 4u);
}

// A Down that comes while it is suspended waits for its turn, too.
TEST_P(ServerSystem, ends_of_others_while_it_is_suspended) {
  struct Watching : Till {
    using Till::handle_info;
    using Till::Till;
    void handle_info(const bulkhead::Down& down) { note("down: " + to_string(down.exit)); }
  };
  const auto server = serve<Watching>({}, &notes);
  const bulkhead::Pid other = runtime.spawn([] { this_actor::sleep_for(kForever); });
  EXPECT_TRUE(server.call(support::Monitor{other}).has_value());
  EXPECT_TRUE(sys::suspend(server).has_value());
  server.cast(Note{"cast"});
  bulkhead::kill(other);
  EXPECT_EQ(end_of(other), Exit::killed());
  EXPECT_TRUE(sys::get_status(server).has_value());
  EXPECT_EQ(notes.diary.line(), "");
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "down: killed cast");
}

// Supervisors answer them, too; while one is suspended its children are not started again.
TEST_P(ServerSystem, supervisors) {
  const auto supervisor = start({.children = {worker("a"), worker("b")}});
  EXPECT_EQ(sys::get_status(supervisor), "supervisor, one_for_one, children: 2, running: 2");
  EXPECT_TRUE(sys::suspend(supervisor).has_value());
  const auto a = sys::get_state(supervisor)->front().pid;
  tell(a, support::Fail{});
  EXPECT_TRUE(eventually([&] { return has_ended(a); }));
  EXPECT_EQ(sys::get_state(supervisor)->front().pid, a);
  EXPECT_EQ(sys::statistics(supervisor)->system, 5u);
  EXPECT_TRUE(sys::resume(supervisor).has_value());
  await_restart(supervisor, "a", a);
  EXPECT_TRUE(sys::suspend(supervisor).has_value());
  bulkhead::kill(supervisor.pid());
  EXPECT_EQ(end_of(supervisor.pid()), Exit::killed());
  EXPECT_EQ(sys::get_status(supervisor).error(), AskError::kGone);
}

}  // namespace
