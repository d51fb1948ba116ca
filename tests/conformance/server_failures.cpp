// C14: what comes of exceptions, of whatever type, that leave a callback: of a server, a state
// machine, an event handler, and of functions that sys runs.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "support/served.hpp"

namespace {

namespace sys = bulkhead::sys;
namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::EventHandler;
using bulkhead::Exit;
using bulkhead::From;
using bulkhead::GenStateMachine;
using bulkhead::InitResult;
using bulkhead::ServerRef;
using bulkhead::StartError;
using support::Add;
using support::Ask;
using support::Get;
using support::Note;
using support::Notes;
using support::Tick;
using support::Till;
using namespace std::chrono_literals;

/// What is thrown: an exception, or a number, as anybody may.
struct Bang {
  bool number;
  [[noreturn]] void go() const {
    if (number) throw 42;
    throw std::runtime_error("bang");
  }
  [[nodiscard]] bool is(const Exit& exit) const {
    return exit.kind() == Exit::Kind::kPanic && (number || exit.message() == "bang");
  }
};
constexpr Bang kBoth[] = {{false}, {true}};

/// Fails in the callback of that name.
class Fragile : public Till {
 public:
  Fragile(Notes* notes, std::string where, Bang bang)
      : Till(notes), where_(std::move(where)), bang_(bang) {
    at("constructor");
  }
  void init() {
    at("init");
    if (where_ == "continue") continue_later();
    if (where_ == "idle") idle_after(1ms);
  }
  void handle_call(Ask /*message*/, From<int> /*from*/) { at("from"); }
  int handle_call(Get /*message*/) {
    at("call");
    return 1;
  }
  void handle_cast(Add /*message*/) { at("cast"); }
  void handle_info(Tick /*message*/) { at("info"); }
  void handle_info(const bulkhead::Exited& /*exited*/) { at("exited"); }
  void handle_continue() { at("continue"); }
  void handle_timeout() { at("idle"); }
  void terminate(const Exit& reason) {
    Till::terminate(reason);
    at("terminate");
  }
  [[nodiscard]] std::string format_status() const {
    at("status");
    return "whole";
  }

 private:
  void at(const std::string& place) const {
    if (where_ == place) bang_.go();
  }

  std::string where_;
  Bang bang_;
};

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

class ServerFailures : public support::Served {
 protected:
  std::expected<ServerRef<Fragile>, StartError> start(const std::string& where, Bang bang) {
    return bulkhead::start_server<Fragile>(runtime, {.spawn = on_core(1)}, &notes, where, bang);
  }
};
ON_ONE_AND_SEVERAL_CORES(ServerFailures);

// The constructor is the starter's, and so is what it throws; init's is told by the start.
TEST_P(ServerFailures, of_a_start) {
  for (const Bang bang : kBoth) {
    if (bang.number) {
      EXPECT_THROW(static_cast<void>(start("constructor", bang)), int);
    } else {
      EXPECT_THROW(static_cast<void>(start("constructor", bang)), std::runtime_error);
    }
    const auto started = start("init", bang);
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().kind, StartError::Kind::kFailed);
    EXPECT_TRUE(bang.is(started.error().exit)) << to_string(started.error());
  }
  EXPECT_EQ(notes.diary.line(), "");
}

// OTP (25) the same: whichever callback it is, the server ends, and terminate runs once.
TEST_P(ServerFailures, of_each_callback_end_the_server) {
  for (const Bang bang : kBoth) {
    for (const char* where : {"call", "from", "cast", "info", "continue", "idle"}) {
      const auto started = start(where, bang);
      ASSERT_TRUE(started.has_value()) << where;
      const std::string place = where;
      if (place == "call" || place == "from") {
        const auto answer = place == "call" ? started->call(Get{}) : started->call(Ask{});
        EXPECT_EQ(answer.error(), AskError::kDied);
        EXPECT_TRUE(bang.is(answer.error().exit)) << to_string(answer.error());
      }
      if (place == "cast") started->cast(Add{1});
      if (place == "info") started->info(Tick{});
      EXPECT_TRUE(bang.is(end_of(started->pid()))) << where;
    }
  }
  EXPECT_EQ(times(notes.diary.line(), "terminate:"), 12u);
}

// The reason of its end stands.
TEST_P(ServerFailures, of_terminate) {
  for (const Bang bang : kBoth) {
    const auto server = start("terminate", bang);
    EXPECT_TRUE(server->stop(Exit::shutdown("closed")).has_value());
    EXPECT_EQ(end_of(server->pid()), Exit::shutdown("closed"));
    const auto exited = start("terminate", bang);
    bulkhead::exit(exited->pid(), Exit::shutdown("told"));
    EXPECT_EQ(end_of(exited->pid()), Exit::shutdown("told"));
  }
  EXPECT_EQ(times(notes.reports.line(), "terminate failed"), 4u);
}

TEST_P(ServerFailures, of_format_status) {
  for (const Bang bang : kBoth) {
    const auto server = start("status", bang);
    const auto status = sys::get_status(*server);
    ASSERT_TRUE(status.has_value()) << to_string(status.error());
    EXPECT_TRUE(status->starts_with("(format_status failed: panic")) << *status;
    EXPECT_EQ(server->call(Get{}), 1);
  }
}

// A report that cannot be made is lost; the server lives.
TEST_P(ServerFailures, of_report) {
  struct Mute : Till {
    Mute(Notes* n, Bang b) : Till(n), bang(b) {}
    void report(std::string_view /*text*/) const { bang.go(); }
    void terminate(const Exit& /*reason*/) { bang.go(); }
    Bang bang;
  };
  for (const Bang bang : kBoth) {
    const auto server = serve<Mute>({}, &notes, bang);
    const bulkhead::Pid other = runtime.spawn([] { this_actor::sleep_for(1h); });
    EXPECT_TRUE(server.call(support::Monitor{other}).has_value());
    bulkhead::kill(other);  // there is no handle_info(Down)
    EXPECT_EQ(end_of(other), Exit::killed());
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    EXPECT_EQ(server.call(Get{}), 0);
    EXPECT_TRUE(server.stop(Exit::shutdown()).has_value());
    EXPECT_EQ(end_of(server.pid()), Exit::shutdown());
  }
}

// OTP (25): sys:replace_state exits in the caller with callback_failed, and the state stays.
TEST_P(ServerFailures, of_what_sys_runs_leave_the_server_alone) {
  const auto purse = serve<support::Purse>({}, 5);
  for (const Bang bang : kBoth) {
    const auto looked = sys::get_state(purse, [bang](const support::Purse& state) {
      if (state.sum == 5) bang.go();
      return 0;
    });
    EXPECT_EQ(looked.error(), AskError::kNoReply);
    EXPECT_TRUE(bang.is(looked.error().exit)) << to_string(looked.error());
    const auto replaced = sys::replace_state(purse, [bang](support::Purse& state) {
      state.sum = 6;
      bang.go();
    });
    EXPECT_EQ(replaced.error(), AskError::kNoReply);
    EXPECT_TRUE(bang.is(replaced.error().exit)) << to_string(replaced.error());
    EXPECT_TRUE(sys::trace(purse, [bang](const bulkhead::ServerEvent& /*event*/) {
                  bang.go();
                }).has_value());
    EXPECT_EQ(purse.call(Get{}), 5);
    EXPECT_EQ(purse.call(Get{}), 5);
  }
}

// One that waits in such a function ends as others do.
TEST_P(ServerFailures, an_end_in_what_sys_runs_is_an_end) {
  const auto purse = serve<support::Purse>({}, 5);
  support::Event looks;
  support::Event over;
  std::optional<bulkhead::CallError> error;
  runtime.spawn_with(on_core(2), [&] {
    error = sys::get_state(
                purse,
                [&looks](const support::Purse& state) {
                  looks.set();
                  this_actor::sleep_for(1h);
                  return state.sum;
                },
                bulkhead::kForever)
                .error();
    over.set();
  });
  ASSERT_TRUE(looks.wait());
  bulkhead::exit(purse.pid(), Exit::custom("enough"));
  ASSERT_TRUE(over.wait());
  EXPECT_EQ(error->error, AskError::kDied);
  EXPECT_EQ(error->exit, Exit::custom("enough"));
}

// --- state machines ------------------------------------------------------------------------------

struct Query {
  using Answer = int;
};
struct Internal {};

class Brittle : public GenStateMachine<Brittle, int> {
 public:
  Brittle(Notes* notes, std::string where, Bang bang)
      : GenStateMachine(0), notes_(notes), where_(std::move(where)), bang_(bang) {}
  void init() {
    at("init");
    if (where_ == "internal") next_event(Internal{});
    if (where_ == "state timeout") state_timeout(1ms);
    if (where_ == "timeout") set_timeout("t", 1ms);
  }
  void enter(const int& /*before*/) { at(state() == 0 ? "first enter" : "enter"); }
  int handle_call(const Query& /*message*/) {
    at("call");
    return 1;
  }
  void handle_cast(const Add& /*message*/) {
    at("cast");
    next_state(1);
  }
  void handle_info(const Tick& /*message*/) { at("info"); }
  void handle_internal(const Internal& /*event*/) { at("internal"); }
  void handle_state_timeout() { at("state timeout"); }
  void handle_timeout(std::string_view /*name*/) { at("timeout"); }
  void terminate(const Exit& /*reason*/) {
    notes_->diary.add("terminate");
    at("terminate");
  }
  void report(std::string_view text) const { notes_->reports.add(std::string(text)); }
  [[nodiscard]] std::string format_status() const {
    at("status");
    return "whole";
  }

 private:
  void at(const std::string& place) const {
    if (where_ == place) bang_.go();
  }

  Notes* notes_;
  std::string where_;
  Bang bang_;
};

TEST_P(ServerFailures, of_state_machines) {
  const auto start = [this](const std::string& where, Bang bang) {
    return bulkhead::start_state_machine<Brittle>(runtime, {.spawn = on_core(1)}, &notes, where,
                                                  bang);
  };
  for (const Bang bang : kBoth) {
    for (const char* where : {"init", "first enter"}) {
      const auto started = start(where, bang);
      ASSERT_FALSE(started.has_value()) << where;
      EXPECT_TRUE(bang.is(started.error().exit)) << where;
    }
  }
  EXPECT_EQ(notes.diary.line(), "");
  std::size_t terminated = 0;
  for (const Bang bang : kBoth) {
    for (const char* where :
         {"call", "cast", "enter", "info", "state timeout", "timeout", "internal"}) {
      const auto started = start(where, bang);
      if (std::string(where) == "internal") {  // it is handled at the start
        EXPECT_TRUE(bang.is(started.error().exit));
        continue;
      }
      ASSERT_TRUE(started.has_value()) << where;
      const std::string place = where;
      auto call = started->send_request(Query{});
      if (place == "cast" || place == "enter") started->cast(Add{1});
      if (place == "info") started->info(Tick{});
      EXPECT_TRUE(bang.is(end_of(started->pid()))) << where;
      if (place == "call") {
        EXPECT_TRUE(bang.is(call.wait().error().exit));
      }
      EXPECT_EQ(notes.diary.count("terminate"), ++terminated) << where;
    }
    const auto stopped = start("terminate", bang);
    EXPECT_TRUE(stopped->stop(Exit::shutdown()).has_value());
    EXPECT_EQ(end_of(stopped->pid()), Exit::shutdown());
    EXPECT_EQ(notes.diary.count("terminate"), ++terminated);
    const auto status = sys::get_status(*start("status", bang));
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->starts_with("(format_status failed: panic")) << *status;
  }
}

// --- event managers ------------------------------------------------------------------------------

class Listener final : public EventHandler<std::string> {
 public:
  Listener(Notes* notes, std::string where, Bang bang)
      : notes_(notes), where_(std::move(where)), bang_(bang) {}
  void init() override { at("init"); }
  Next handle_event(const std::string& event) override {
    notes_->diary.add(where_ + ":" + event);
    at("event");
    return Next::kStay;
  }
  void terminate(const Exit& reason) override {
    notes_->diary.add(where_ + "-" +
                      (reason.kind() == Exit::Kind::kPanic ? "panic" : to_string(reason)));
    at("terminate");
  }

 private:
  void at(const std::string& place) const {
    if (where_ == place) bang_.go();
  }

  Notes* notes_;
  std::string where_;
  Bang bang_;
};

// OTP (25) the same: sync_notify is answered with ok, and the handler is removed, told {error,
// oops}.
TEST_P(ServerFailures, of_event_handlers_end_none_but_themselves) {
  for (const Bang bang : kBoth) {
    support::Notes own;
    const auto events =
        bulkhead::start_event_manager<std::string>(runtime, {.spawn = on_core(1)}).value();
    const auto add = [&](const std::string& where) {
      return events.add_handler(where, std::make_unique<Listener>(&own, where, bang));
    };
    EXPECT_EQ(add("init").error().kind, bulkhead::HandlerError::Kind::kFailed);
    EXPECT_TRUE(add("event").has_value());
    EXPECT_TRUE(add("terminate").has_value());
    EXPECT_TRUE(add("fine").has_value());
    EXPECT_TRUE(events
                    .add_handler("function",
                                 [bang](const std::string& event) {
                                   if (event == "two") bang.go();
                                 })
                    .has_value());
    EXPECT_TRUE(events.sync_notify("one").has_value());
    EXPECT_EQ(events.which_handlers(), (std::vector<std::string>{"terminate", "fine", "function"}));
    EXPECT_TRUE(events.sync_notify("two").has_value());
    EXPECT_EQ(events.which_handlers(), (std::vector<std::string>{"terminate", "fine"}));
    EXPECT_TRUE(events.delete_handler("terminate").has_value());
    EXPECT_TRUE(add("terminate").has_value());
    bulkhead::exit(events.pid(), Exit::shutdown());  // all are told, whoever fails
    EXPECT_EQ(end_of(events.pid()), Exit::shutdown());
    EXPECT_EQ(own.diary.line(),
              "event:one event-panic terminate:one fine:one terminate:two fine:two "
              "terminate-normal fine-shutdown terminate-shutdown");
  }
}

}  // namespace
