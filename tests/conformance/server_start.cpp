// C14: how servers are started. Tests are named after the cases of OTP's gen_server_SUITE and
// proc_lib_SUITE whose behaviour they check.
#include <gtest/gtest.h>

#include <atomic>
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

enum class How { kOk, kContinue, kIgnore, kStop, kError, kThrow, kSlow, kStuck };

/// For one that is stuck.
std::atomic<bool> released{false};

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
      case How::kStuck:
        EXPECT_TRUE(support::eventually([] { return released.load(); }));
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
  bool named;
};
struct Heard {};

class Starter {
 public:
  explicit Starter(support::Notes* notes) : notes_(notes) {}

  void started() { this_actor::trap_exits(true); }
  StartError receive(Start start) {
    MonitorRef monitor;
    ServerOptions options{.linked = start.linked, .timeout = 50ms};
    if (start.how != How::kSlow && start.how != How::kStuck) options.timeout = bulkhead::kForever;
    if (start.monitored) options.monitor = &monitor;
    if (start.named) options.name = "the server";
    auto started = start_server<Starting>(options, notes_, start.how);
    released = true;
    EXPECT_EQ(bulkhead::whereis("the server"),
              started.has_value() && start.named ? started->pid() : Pid());
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
  StartError start(How how, bool linked, bool monitored, bool named) {
    const auto starter = runtime.spawn_with<Starter>(on_core(1), &notes);
    auto error = starter.ask(Start{how, linked, monitored, named}, bulkhead::kForever);
    EXPECT_TRUE(error.has_value());
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    return *error;
  }

  void fail_to_start(bool named) {
    for (int tied = 0; tied < 4; ++tied) {
      const bool linked = (tied & 1) != 0;
      const bool monitored = (tied & 2) != 0;
      EXPECT_EQ(start(How::kIgnore, linked, monitored, named).kind, StartError::Kind::kIgnored);
      auto error = start(How::kStop, linked, monitored, named);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(error.exit, Exit::custom("not now"));
      error = start(How::kError, linked, monitored, named);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(error.exit, Exit::custom("cannot"));
      error = start(How::kThrow, linked, monitored, named);
      EXPECT_EQ(error.kind, StartError::Kind::kFailed);
      EXPECT_EQ(to_string(error.exit), "panic: no init (std::runtime_error)");
      EXPECT_EQ(to_string(error), "the server's init failed: panic: no init (std::runtime_error)");
    }
  }
};
ON_ONE_AND_SEVERAL_CORES(ServerStart);

// {anonymous, linked, monitored} x {ignore, stop, error, crash}. In OTP a linked starter that traps
// exits gets an 'EXIT' of each of the failed ones; here the result says it all.
TEST_P(ServerStart, start) {
  fail_to_start(false);
  // Nothing but the inits has happened: no terminate, no Down, no Exited.
  EXPECT_EQ(notes.diary.count("init"), 16u);
  EXPECT_EQ(notes.diary.line().find_first_not_of("init "), std::string::npos);
  EXPECT_TRUE(crashes->wait_for(8));  // of those that threw, and of those that stopped
  runtime.shutdown();
  EXPECT_EQ(crashes->size(), 8u);
}

// The same with a name. The starter looks for it as soon as it has the result: it is free.
TEST_P(ServerStart, start_named) {
  fail_to_start(true);
  EXPECT_EQ(notes.diary.line().find_first_not_of("init "), std::string::npos);
  EXPECT_EQ(notes.diary.count("init"), 16u);
}

// {anonymous, linked, monitored, named} x ok.
TEST_P(ServerStart, start_ok) {
  for (unsigned tied = 0; tied < 8; ++tied) {
    const std::size_t linked = tied & 1;
    const std::size_t monitored = tied >> 1 & 1;
    const std::size_t downs = notes.diary.count("down: shutdown") + monitored;
    const std::size_t exits = notes.diary.count("exited: shutdown") + linked;
    start(How::kOk, linked == 1, monitored == 1, (tied & 4) != 0);
    EXPECT_EQ(notes.diary.count("down: shutdown"), downs);
    EXPECT_EQ(notes.diary.count("exited: shutdown"), exits);
    EXPECT_EQ(notes.diary.count("terminate: shutdown"), tied + 1u);
    EXPECT_EQ(runtime.whereis("the server"), Pid());
  }
  EXPECT_EQ(notes.reports.line(), "");
}

// A start timeout kills the child, and leaves no stray Exited or Down; so in OTP (25).
TEST_P(ServerStart, start_timeout) {
  for (const bool tied : {false, true}) {
    for (const bool named : {false, true}) {
      EXPECT_EQ(start(How::kSlow, tied, tied, named).kind, StartError::Kind::kTimedOut);
    }
  }
  EXPECT_EQ(notes.diary.line(), "init init init init");
}

// Also of one whose init does not wait, and so ends later than its start returns: its name is free
// at once.
TEST_P(ServerStart, start_timeout_of_one_that_is_stuck) {
  released = false;
  EXPECT_EQ(start(How::kStuck, true, true, true).kind, StartError::Kind::kTimedOut);
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(notes.diary.line(), "init");
}

// A second one of a name is not started, nor constructed; so in OTP (25), {error,
// {already_started, Pid}}. Whatever has the name.
TEST_P(ServerStart, already_started) {
  const auto first = serve<Starting>({.name = "mine"}, &notes, How::kOk);
  const ServerOptions options{.name = "mine"};
  auto second = start_server<Starting>(runtime, options, &notes, How::kOk);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, StartError::Kind::kAlreadyStarted);
  EXPECT_EQ(second.error().pid, first.pid());
  EXPECT_EQ(to_string(second.error()), "the server's name is that of " + to_string(first.pid()));
  run([&] {
    EXPECT_EQ(start_server<Starting>(options, &notes, How::kOk).error().pid, first.pid());
    EXPECT_TRUE(bulkhead::register_name("yours", this_actor::pid()).has_value());
    EXPECT_EQ(start_server<Till>({.name = "yours"}, &notes).error().pid, this_actor::pid());
  });
  EXPECT_EQ(notes.diary.line(), "init");
  EXPECT_TRUE(first.stop().has_value());
  EXPECT_TRUE(start_server<Starting>(runtime, options, &notes, How::kOk).has_value());
}

// Of many that are started at once with one name one is, and the others learn which.
TEST_P(ServerStart, already_started_at_the_same_time) {
  for (int round = 0; round < 20; ++round) {
    support::Log<Pid> won;
    support::Log<Pid> told;
    std::atomic<int> left{6};
    for (std::size_t i = 0; i < 6; ++i) {
      runtime.spawn_with(on_core(i), [&] {
        auto started = start_server<Till>({.name = "mine", .linked = true}, &notes);
        if (started) {
          won.add(started->pid());
          while (left != 1) this_actor::yield();
          EXPECT_TRUE(started->stop().has_value());
        } else {
          EXPECT_EQ(started.error().kind, StartError::Kind::kAlreadyStarted);
          told.add(started.error().pid);
          EXPECT_TRUE(this_actor::links().empty());
        }
        --left;
      });
    }
    ASSERT_TRUE(support::eventually([&] { return left == 0; }));
    ASSERT_EQ(won.size(), 1u);
    EXPECT_EQ(told.entries(), std::vector<Pid>(5, won.entries()[0]));
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }
}

// It has its name in its init, and is called by it, also when it was started again.
TEST_P(ServerStart, named) {
  struct Named : Till {
    using Till::Till;
    void init() { note(bulkhead::name_of(this_actor::pid())); }
  };
  const bulkhead::NamedServer<Named> named(runtime, "by name");
  EXPECT_EQ(named.call(Get{}).error(), bulkhead::AskError::kGone);
  EXPECT_EQ(named.cast(Note{"lost"}), bulkhead::Delivery::kGone);
  for (int i = 1; i <= 2; ++i) {
    const auto server = serve<Named>({.name = "by name"}, &notes, i);
    EXPECT_EQ(named.ref(), server);
    EXPECT_EQ(named.call(Get{}), i);
    EXPECT_EQ(named.cast(support::Add{10}), bulkhead::Delivery::kQueued);
    EXPECT_EQ(named.info(support::Tick{i}), bulkhead::Delivery::kQueued);
    EXPECT_EQ(named.send_request(Get{}).wait(), 10 + i);
    run([&] { EXPECT_EQ(bulkhead::NamedServer<Named>("by name").call(Get{}), 10 + i); });
    EXPECT_TRUE(named.stop(Exit::shutdown()).has_value());
  }
  EXPECT_EQ(notes.diary.line(),
            "by name tick1 terminate: shutdown by name tick2 terminate: shutdown");
  EXPECT_EQ(bulkhead::NamedServer<Named>().call(Get{}).error(), bulkhead::AskError::kGone);
  const auto other = serve<Till>({.name = "by name"}, &notes);
  EXPECT_THROW(static_cast<void>(named.call(Get{})), std::logic_error);
}

TEST_P(ServerStart, names_that_are_malformed_are_refused) {
  for (const std::string& name : {std::string(), std::string(256, 'x')}) {
    const ServerOptions options{.name = name};
    EXPECT_THROW(static_cast<void>(start_server<Till>(runtime, options, &notes)),
                 std::invalid_argument);
    run([&] {
      EXPECT_THROW(static_cast<void>(start_server<Till>(options, &notes)), std::invalid_argument);
    });
  }
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().actors(), 0u);
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
