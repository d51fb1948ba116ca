// C14: how servers are started. Tests are named after the cases of OTP's gen_server_SUITE and
// proc_lib_SUITE whose behaviour they check.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/served.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::InitResult;
using bulkhead::MonitorRef;
using bulkhead::Pid;
using bulkhead::ServerOptions;
using bulkhead::ServerRef;
using bulkhead::start_server;
using bulkhead::StartError;
using support::Get;
using support::Note;
using support::Till;
using namespace std::chrono_literals;

enum class How { kOk, kContinue, kIgnore, kStop, kError, kThrow, kSlow };

class Starting : public Till {
 public:
  Starting(support::Notes* notes, How how) : Till(notes), how_(how) {}

  InitResult init() {
    note("init");
    switch (how_) {
      case How::kOk:
        return InitResult::ok();
      case How::kContinue: {
        // Waits in the mailbox before the start has returned.
        const ServerRef<Starting> self(this_actor::pid());
        self.cast(Note{"first message"});
        self.info(support::Tick{1});
        return InitResult::ok_continue();
      }
      case How::kIgnore:
        return InitResult::ignore();
      case How::kStop:
        return InitResult::stop(Exit::custom("not now"));
      case How::kError:
        return InitResult::error(Exit::custom("cannot"));
      case How::kThrow:
        throw std::runtime_error("no init");
      case How::kSlow:
        this_actor::sleep_for(bulkhead::kForever);
        break;
    }
    return InitResult::ok();
  }
  void handle_continue() {
    note("continue");
    if (++continued_ < 3) continue_later();
  }

 private:
  How how_;
  int continued_ = 0;
};

/// A starter that would hear of it.
struct Start {
  using Answer = bool;
  How how;
  bool linked;
  bool monitored;
};
struct Heard {};

class Starter {
 public:
  explicit Starter(support::Notes* notes) : notes_(notes) {}

  void started() { this_actor::trap_exits(true); }
  StartError receive(Start start) {
    MonitorRef monitor;
    ServerOptions options{.linked = start.linked, .timeout = 50ms};
    if (start.how != How::kSlow) options.timeout = bulkhead::kForever;
    if (start.monitored) options.monitor = &monitor;
    auto started = start_server<Starting>(options, notes_, start.how);
    EXPECT_EQ(monitor == MonitorRef(), !(started.has_value() && start.monitored));
    EXPECT_EQ(this_actor::links().empty(), !(started.has_value() && start.linked));
    if (started) {
      EXPECT_TRUE(started->stop(Exit::shutdown()).has_value());
      return {StartError::Kind::kStopped};
    }
    return started.error();
  }
  void receive(Down down) { notes_->diary.add("down: " + to_string(down.exit)); }
  void receive(Exited exited) { notes_->diary.add("exited: " + to_string(exited.exit)); }
  void receive(Heard /*message*/) {}

 private:
  support::Notes* notes_;
};

class ServerStart : public support::Served {
 protected:
  StartError start(How how, bool linked, bool monitored) {
    const auto starter = runtime.spawn_with<Starter>(on_core(1), &notes);
    auto error = starter.ask(Start{how, linked, monitored}, bulkhead::kForever);
    EXPECT_TRUE(error.has_value());
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    return *error;
  }
};
ON_ONE_AND_SEVERAL_CORES(ServerStart);

// {anonymous, linked, monitored} x {ok, ignore, stop, error, crash}. In OTP a linked starter that
// traps exits gets an 'EXIT' of each of the failed ones; here the result says it all.
TEST_P(ServerStart, start) {
  for (const bool linked : {false, true}) {
    for (const bool monitored : {false, true}) {
      EXPECT_EQ(start(How::kIgnore, linked, monitored).kind, StartError::Kind::kIgnored);
      auto error = start(How::kStop, linked, monitored);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(error.exit, Exit::custom("not now"));
      error = start(How::kError, linked, monitored);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(error.exit, Exit::custom("cannot"));
      error = start(How::kThrow, linked, monitored);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(to_string(error.exit), "panic: no init (std::runtime_error)");
      EXPECT_EQ(to_string(error), "the server's init failed: panic: no init (std::runtime_error)");
    }
  }
  // Nothing but the inits has happened: no terminate, no Down, no Exited.
  EXPECT_EQ(notes.diary.count("init"), 16u);
  EXPECT_EQ(notes.diary.line().find_first_not_of("init "), std::string::npos);
  EXPECT_TRUE(crashes->wait_for(8));  // of those that threw, and of those that stopped
  runtime.shutdown();
  EXPECT_EQ(crashes->size(), 8u);
}

TEST_P(ServerStart, start_ok) {
  start(How::kOk, true, true);
  EXPECT_TRUE(support::eventually([this] { return notes.diary.count("down: shutdown") == 1; }));
  EXPECT_TRUE(support::eventually([this] { return notes.diary.count("exited: shutdown") == 1; }));
  EXPECT_EQ(notes.diary.count("terminate: shutdown"), 1u);
  EXPECT_EQ(notes.reports.line(), "");
}

// A start timeout kills the child, and leaves no stray Exited or Down; so in OTP (25).
TEST_P(ServerStart, start_timeout) {
  for (const bool tied : {false, true}) {
    EXPECT_EQ(start(How::kSlow, tied, tied).kind, StartError::Kind::kTimedOut);
  }
  EXPECT_EQ(notes.diary.line(), "init init");
}

// From outside, and what makes no sense there.
TEST_P(ServerStart, start_from_outside) {
  const auto started = start_server<Till>(runtime, {}, &notes, 5);
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->call(Get{}), 5);
  EXPECT_THROW(static_cast<void>(start_server<Till>(runtime, {.linked = true}, &notes)),
               bulkhead::ConfigError);
  EXPECT_EQ(start_server<Starting>(runtime, {}, &notes, How::kThrow).error().kind,
            StartError::Kind::kFailed);
}

// What the constructor throws the starter gets.
TEST_P(ServerStart, constructor_throws) {
  struct Never : bulkhead::GenServer {
    Never() { throw std::logic_error("never"); }
  };
  EXPECT_THROW(static_cast<void>(start_server<Never>(runtime, {})), std::logic_error);
}

// The starter ends while init runs: so does the server, if they are linked.
TEST_P(ServerStart, starter_ends_during_init) {
  Pid starter = runtime.spawn(
      [this] { static_cast<void>(start_server<Starting>({.linked = true}, &notes, How::kSlow)); });
  ASSERT_TRUE(support::eventually([this] { return notes.diary.count("init") == 1; }));
  bulkhead::exit(starter, Exit::custom("enough"));
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(notes.diary.line(), "init");
}

// handle_continue runs before any queued message, as often as it is asked for.
TEST_P(ServerStart, continue) {
  const auto server = serve<Starting>({}, &notes, How::kContinue);
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "init continue continue continue tick1 first message");
}

struct Careless : bulkhead::GenServer {
  explicit Careless(support::Notes* n) : notes(n) {}
  void handle_cast(Note /*message*/) { continue_later(); }
  void handle_cast(support::Add /*message*/) { idle_after(1s); }
  void report(std::string_view text) const { notes->reports.add(std::string(text)); }
  support::Notes* notes;
};

TEST_P(ServerStart, idle_time_without_a_handler) {
  const auto server = serve<Careless>({}, &notes);
  server.cast(support::Add{});
  EXPECT_EQ(end_of(server.pid()).kind(), Exit::Kind::kPanic);
  ASSERT_TRUE(crashes->wait_for(1));
  EXPECT_NE(crashes->reports()[0].reason.find("has no public handle_timeout()"), std::string::npos);
}

TEST_P(ServerStart, continue_without_a_handler) {
  const auto server = serve<Careless>({}, &notes);
  server.cast(Note{""});
  EXPECT_EQ(end_of(server.pid()).kind(), Exit::Kind::kPanic);
  ASSERT_TRUE(crashes->wait_for(1));
  EXPECT_NE(crashes->reports()[0].reason.find("has no public handle_continue()"),
            std::string::npos);
}

// A supervisor's child: its init is waited for, and one that wants to be left out is.
TEST_P(ServerStart, child_of_a_supervisor) {
  const auto supervisor =
      Supervised::start({.children = {bulkhead::child_server<Till>("till", &notes, 7)}});
  const Pid first = pid_of(supervisor, "till");
  EXPECT_EQ(ServerRef<Till>(first).call(Get{}), 7);
  ServerRef<Till>(first).cast(support::Break{});
  const Pid second = await_restart(supervisor, "till", first);
  EXPECT_EQ(ServerRef<Till>(second).call(Get{}), 7);
  EXPECT_EQ(
      supervisor.start_child(bulkhead::child_server<Starting>("ignored", &notes, How::kIgnore)),
      Pid());
  const auto failed =
      supervisor.start_child(bulkhead::child_server<Starting>("failed", &notes, How::kStop));
  EXPECT_EQ(failed.error().exit, Exit::custom("not now"));
  EXPECT_TRUE(supervisor.stop());
}

}  // namespace
