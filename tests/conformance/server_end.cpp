// C14: how servers end. Tests are named after the cases of OTP's gen_server_SUITE whose behaviour
// they check.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "support/process.hpp"
#include "support/served.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::kForever;
using bulkhead::Pid;
using bulkhead::ServerRef;
using support::Add;
using support::Ask;
using support::Break;
using support::Door;
using support::EndWith;
using support::eventually;
using support::Get;
using support::Note;
using support::Till;
using namespace std::chrono_literals;

class ServerEnd : public support::Served {
 protected:
  /// Has ended for that reason, after one terminate, and with so many reports.
  void expect_end(const ServerRef<Till>& server, const Exit& reason, std::size_t reports) {
    EXPECT_EQ(end_of(server.pid()), reason);
    EXPECT_EQ(notes.diary.count("terminate: " + to_string(reason)), 1u) << to_string(reason);
    EXPECT_TRUE(crashes->wait_for(reports));
    EXPECT_EQ(crashes->size(), reports);
  }
};
ON_ONE_AND_SEVERAL_CORES(ServerEnd);

TEST_P(ServerEnd, stop) {
  const auto server = till();
  EXPECT_TRUE(server.stop().has_value());
  expect_end(server, Exit::normal(), 0);
  EXPECT_EQ(server.stop().error(), AskError::kGone);  // noproc
  const auto other = till();
  EXPECT_TRUE(other.stop(Exit::custom("sold")).has_value());
  expect_end(other, Exit::custom("sold"), 1);
  run([&] { EXPECT_TRUE(till().stop(Exit::shutdown()).has_value()); });
}

// It returns after the death: what terminate does has been done, and neither the actor nor its name
// is there.
TEST_P(ServerEnd, stop_returns_after_death) {
  struct Slow : Till {
    using Till::Till;
    void terminate(const Exit& reason) {
      this_actor::sleep_for(2ms);
      Till::terminate(reason);
    }
  };
  for (std::size_t i = 1; i <= 10; ++i) {
    const auto server = serve<Slow>({.name = "mine"}, &notes);
    EXPECT_TRUE(server.stop().has_value());
    EXPECT_FALSE(bulkhead::actor_info(server.pid()).has_value());
    EXPECT_EQ(notes.diary.count("terminate: normal"), i);
    EXPECT_EQ(runtime.whereis("mine"), Pid());
    EXPECT_EQ(server.stop().error(), AskError::kGone);
  }
}

// It hangs: the stop times out; and is carried out when it has come to it, before what waits.
TEST_P(ServerEnd, stop_timeout) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  server.cast(Note{"never"});
  EXPECT_EQ(server.stop(Exit::shutdown(), 10ms).error(), AskError::kTimedOut);
  door.send(Door::Open{});
  expect_end(server, Exit::shutdown(), 0);
  EXPECT_EQ(notes.diary.line(), "passes passed terminate: shutdown");
}

// It ends for another reason meanwhile.
TEST_P(ServerEnd, stop_of_one_that_fails) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  std::optional<bulkhead::CallError> error;
  support::Event over;
  runtime.spawn_with(on_core(2), [&] {
    error = server.stop().error();
    over.set();
  });
  std::this_thread::sleep_for(2ms);
  bulkhead::kill(server.pid());
  ASSERT_TRUE(over.wait());
  EXPECT_TRUE(error == AskError::kDied || error == AskError::kGone);
  if (*error == AskError::kDied && error->exit != Exit::no_actor()) {
    EXPECT_EQ(error->exit, Exit::killed());
  }
}

// No report for normal and shutdown; otherwise exactly one.
TEST_P(ServerEnd, crash) {
  const auto normal = till();
  EXPECT_TRUE(normal.call(EndWith{Exit::normal()}).has_value());
  expect_end(normal, Exit::normal(), 0);
  const auto shutdown = till();
  EXPECT_TRUE(shutdown.call(EndWith{Exit::shutdown("for today")}).has_value());
  expect_end(shutdown, Exit::shutdown("for today"), 0);
  const auto custom = till();
  EXPECT_TRUE(custom.call(EndWith{Exit::custom("enough")}).has_value());
  expect_end(custom, Exit::custom("enough"), 1);
  const auto failed = till(12);
  failed.cast(Break{});
  expect_end(failed, Exit::panic(std::make_exception_ptr(std::runtime_error("broken"))), 2);
  const bulkhead::CrashReport report = crashes->reports().at(1);
  EXPECT_EQ(report.actor, failed.pid());
  EXPECT_EQ(report.reason, "broken");
  EXPECT_EQ(report.reason_type, "std::runtime_error");
  EXPECT_EQ(report.message, "cast support::Break");
  EXPECT_EQ(report.state, "sum 12");
}

// In OTP (25) terminate is not called for exits that are not trapped. Here it is, always: in the
// destructor of the actor, where nothing waits.
TEST_P(ServerEnd, terminate_by_an_exit) {
  const auto server = till();
  bulkhead::exit(server.pid(), Exit::custom("link"));
  expect_end(server, Exit::custom("link"), 1);
}

TEST_P(ServerEnd, terminate_by_an_exit_in_a_handler) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  bulkhead::exit(server.pid(), Exit::shutdown());
  expect_end(server, Exit::shutdown(), 0);
}

TEST_P(ServerEnd, terminate_by_request_stop) {
  const auto server = till();
  bulkhead::request_stop(server.pid());
  expect_end(server, Exit::stopped(), 0);
}

TEST_P(ServerEnd, terminate_by_stop) {
  const auto server = till();
  server.cast(Note{"before"});
  bulkhead::stop(server.pid());
  expect_end(server, Exit::normal(), 0);
  EXPECT_EQ(notes.diary.line(), "before terminate: normal");
}

TEST_P(ServerEnd, terminate_by_shutdown_of_the_runtime) {
  const auto server = till();
  const auto blocked = till();
  blocked.cast(support::Pass{runtime.spawn<Door>()});
  ASSERT_TRUE(eventually([&] { return notes.diary.count("passes") == 1; }));
  runtime.shutdown(0s);
  EXPECT_EQ(notes.diary.count("terminate: shutdown"), 2u);
}

TEST_P(ServerEnd, not_terminate_by_kill) {
  const auto server = till();
  bulkhead::kill(server.pid());
  EXPECT_EQ(end_of(server.pid()), Exit::killed());
  EXPECT_EQ(notes.diary.line(), "");
  EXPECT_EQ(notes.reports.line(), "");
}

// One that is linked to its starter ends with it; also when it traps exits.
struct Trapping : Till {
  using Till::Till;
  void init() { this_actor::trap_exits(true); }
};

TEST_P(ServerEnd, parent_ends) {
  Pid servers[2];
  run([&] {
    servers[0] = bulkhead::start_server<Till>({.linked = true}, &notes)->pid();
    servers[1] = bulkhead::start_server<Trapping>({.linked = true}, &notes)->pid();
    this_actor::stop(Exit::custom("parent"));
  });
  for (const Pid server : servers) EXPECT_EQ(end_of(server), Exit::custom("parent"));
  EXPECT_EQ(notes.diary.count("terminate: parent"), 2u);
}

// An exit of another is an info for one that traps them.
TEST_P(ServerEnd, exits_that_are_trapped) {
  const auto server = serve<Trapping>({}, &notes);
  bulkhead::exit(server.pid(), Exit::custom("other"));
  ASSERT_TRUE(eventually([&] { return !notes.reports.line().empty(); }));
  EXPECT_NE(notes.reports.line().find("has no handle_info(Exited)"), std::string::npos);
  EXPECT_EQ(server.call(Get{}), 0);
}

// What terminate throws is reported, and the reason stands.
struct Unruly : Till {
  using Till::Till;
  void terminate(const Exit& /*reason*/) { throw std::runtime_error("no end"); }
};

TEST_P(ServerEnd, terminate_that_throws) {
  const auto server = serve<Unruly>({}, &notes);
  EXPECT_TRUE(server.stop(Exit::shutdown()).has_value());
  EXPECT_EQ(end_of(server.pid()), Exit::shutdown());
  EXPECT_NE(notes.reports.line().find("terminate failed: panic: no end (std::runtime_error)"),
            std::string::npos);
}

// In terminate one may call others, and wait for them, when the server ends by itself.
struct Polite : Till {
  Polite(support::Notes* n, ServerRef<Till> other) : Till(n), other_(other) {}
  void terminate(const Exit& /*reason*/) {
    this_actor::sleep_for(1ms);
    note(other_.call(Note{"goodbye"}, kForever).has_value() ? "said" : "not said");
  }
  ServerRef<Till> other_;
};

TEST_P(ServerEnd, terminate_that_waits) {
  const auto other = till();
  const auto server = serve<Polite>({}, &notes, other);
  EXPECT_TRUE(server.stop().has_value());
  EXPECT_EQ(end_of(server.pid()), Exit::normal());
  EXPECT_EQ(notes.diary.line(), "goodbye said");
}

// A report's own failures lose neither the report nor the end.
struct Shy : Till {
  using Till::Till;
  std::string format_status() const { throw std::runtime_error("secret"); }
};
struct Mute : bulkhead::GenServer {
  void handle_cast(Break /*message*/) { throw std::runtime_error("broken"); }
  void terminate(const Exit& /*reason*/) { throw std::runtime_error("no end"); }
  void report(std::string_view /*text*/) const { throw std::runtime_error("mute"); }
};

TEST_P(ServerEnd, format_status) {
  const auto server = serve<Shy>({}, &notes);
  EXPECT_EQ(bulkhead::sys::get_status(server),
            "(format_status failed: panic: secret (std::runtime_error))");
  server.cast(Break{});
  EXPECT_EQ(end_of(server.pid()).message(), "broken");
  ASSERT_TRUE(crashes->wait_for(1));
  EXPECT_EQ(crashes->reports()[0].state,
            "(format_status failed: panic: secret (std::runtime_error))");
  const auto mute = serve<Mute>({});
  mute.cast(Break{});
  EXPECT_EQ(end_of(mute.pid()).message(), "broken");
  EXPECT_TRUE(crashes->wait_for(2));
}

// Also of one that is killed: idle, or in mid-handler. Its terminate does not run.
TEST_P(ServerEnd, a_killed_one_shows_its_state) {
  const auto idle = till(7);
  EXPECT_EQ(idle.call(Get{}), 7);
  EXPECT_EQ(bulkhead::kill(idle.pid()), bulkhead::Delivery::kQueued);
  ASSERT_TRUE(crashes->wait_for(1));
  EXPECT_EQ(crashes->reports()[0].state, "sum 7");
  const auto busy = till(8);
  const auto door = runtime.spawn<support::Door>();
  busy.cast(support::Pass{door});
  EXPECT_TRUE(support::eventually([&] { return notes.diary.count("passes") == 1; }));
  EXPECT_EQ(bulkhead::kill(busy.pid()), bulkhead::Delivery::kQueued);
  ASSERT_TRUE(crashes->wait_for(2));
  EXPECT_EQ(crashes->reports()[1].state, "sum 8");
  EXPECT_NE(crashes->reports()[1].message.find("Pass"), std::string::npos);
  EXPECT_EQ(notes.diary.count("terminate: killed"), 0u);
}

// All handles gone: it ends in order, after what was sent before.
TEST_P(ServerEnd, owned_by_refs) {
  auto server = till(0, {.owned_by_refs = true});
  const Pid pid = server.pid();
  {
    const ServerRef<Till> copy = server;
    const ServerRef<Till> weak(pid);  // does not count
    server = {};
    EXPECT_EQ(copy.call(Get{}), 0);
    copy.cast(Note{"last"});
  }
  EXPECT_EQ(end_of(pid), Exit::normal());
  EXPECT_EQ(notes.diary.line(), "last terminate: normal");
}

// Heap and stack shrink: an idle server has no stack, and needs no hibernation for it. A message
// wakes it.
TEST_P(ServerEnd, hibernate) {
  constexpr int kMany = 5000;
  std::vector<ServerRef<support::Purse>> servers;
  const auto start_more = [&](int many) {
    for (int i = 0; i < many; ++i) servers.push_back(serve<support::Purse>({}, i));
  };
  start_more(100);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const std::size_t mappings = support::mappings();
  const std::size_t resident = support::resident_bytes();
  start_more(kMany);
  for (const auto& server : servers) EXPECT_TRUE(server.call(Get{}).has_value());
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  // A stack has at least one page that was touched, and a guard, which takes mappings.
  EXPECT_LT(support::resident_bytes() - resident,
            kMany * std::size_t{2048} * support::kMemoryFactor);
  EXPECT_LT(support::mappings(), mappings + 100 * support::kMemoryFactor);
  EXPECT_EQ(servers.back().call(Get{}), kMany - 1);
}

}  // namespace
