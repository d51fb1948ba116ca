// C14: times that make no sense, and replies that nobody waits for. What OTP (25) does was tried;
// it stands in the comments.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/served.hpp"

namespace {

namespace sys = bulkhead::sys;
namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::From;
using bulkhead::kForever;
using bulkhead::ServerRef;
using bulkhead::StartError;
using bulkhead::Timeout;
using support::Add;
using support::Ask;
using support::Door;
using support::eventually;
using support::Get;
using support::Note;
using support::Notes;
using support::Till;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class ServerBadInput : public support::Served {};
ON_ONE_AND_SEVERAL_CORES(ServerBadInput);

// OTP: a negative time, and one above 2^32 - 1 ms, are errors of the caller, and nothing is sent.
TEST_P(ServerBadInput, times_that_are_none) {
  const auto server = till(5);
  const auto refused = [&](auto time) {
    EXPECT_THROW(static_cast<void>(server.call(Note{"never"}, time)), std::invalid_argument);
    EXPECT_THROW(server.stop(Exit::normal(), time), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(server.send_request(Get{}).wait_for(time)),
                 std::invalid_argument);
    EXPECT_THROW(sys::suspend(server, time), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(sys::get_status(server, time)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(bulkhead::ServerOptions{.timeout = time}),
                 std::invalid_argument);
  };
  refused(-1ns);
  refused(-1h);
  refused(nanoseconds::min());
  refused(nanoseconds::max());
  refused(std::chrono::hours::max());
  refused(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
  refused(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(server.call(Get{}), 5);
  EXPECT_EQ(notes.diary.line(), "");
}

TEST_P(ServerBadInput, times_that_are_very_long) {
  const auto server = till(5);
  const auto centuries = std::chrono::hours(24 * 365 * 290);
  EXPECT_EQ(server.call(Get{}, centuries), 5);
  EXPECT_EQ(server.call(Get{}, kForever), 5);
  EXPECT_EQ(server.send_request(Get{}).wait_for(centuries), 5);
  EXPECT_EQ(sys::get_status(server, centuries), "sum 5");
  run([&] {
    EXPECT_EQ(server.call(Get{}, centuries), 5);
    auto other = bulkhead::start_server<Till>({.timeout = centuries}, &notes);
    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(other->stop(Exit::normal(), centuries).has_value());
  });
}

// OTP: exit(timeout), and the call is handled all the same; a start fails with {error, timeout}.
// (By chance an answer may be there.)
TEST_P(ServerBadInput, no_time_at_all) {
  const auto server = till();
  const auto door = runtime.spawn<Door>();
  server.cast(support::Pass{door});
  ASSERT_TRUE(eventually([&] { return door.ask(Door::Waiting{}) == 1u; }));
  EXPECT_EQ(server.call(Note{"call"}, 0ns).error(), AskError::kTimedOut);
  EXPECT_EQ(sys::get_status(server, 0ns).error(), AskError::kTimedOut);
  auto request = server.send_request(Get{});
  EXPECT_EQ(request.wait_for(0ns, bulkhead::IfLate::kKeep).error(), AskError::kTimedOut);
  EXPECT_EQ(server.stop(Exit::shutdown(), 0ns).error(), AskError::kTimedOut);  // but it is asked to
  door.send(Door::Open{});
  EXPECT_EQ(request.wait().error().exit, Exit::shutdown());
  EXPECT_EQ(end_of(server.pid()), Exit::shutdown());
  EXPECT_EQ(notes.diary.line(), "passes passed terminate: shutdown");

  struct Slow : Till {
    using Till::Till;
    void init() { this_actor::sleep_for(kForever); }
  };
  auto started = bulkhead::start_server<Slow>(runtime, {.timeout = 0ns}, &notes);
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().kind, StartError::Kind::kTimedOut);
}

// OTP: a timeout of 0 is due when no message waits.
struct Hasty : bulkhead::GenServer {
  explicit Hasty(Notes* n) : notes(n) {}
  void handle_cast(Add message) {
    notes->diary.add("add");
    if (message.n == 0) idle_after(0ns);
    if (message.n < 0) idle_after(std::chrono::nanoseconds(message.n));
    if (message.n == 9) idle_after(std::chrono::hours(24 * 365 * 290));
  }
  void handle_timeout() {
    notes->diary.add("idle");
    idle_after(kForever);
  }
  int handle_call(Get /*message*/) { return 1; }
  void report(std::string_view text) const { notes->reports.add(std::string(text)); }
  Notes* notes;
};

TEST_P(ServerBadInput, idle_times) {
  const auto server = serve<Hasty>({}, &notes);
  EXPECT_TRUE(sys::suspend(server).has_value());
  server.cast(Add{0});
  server.cast(Add{1});
  EXPECT_TRUE(sys::resume(server).has_value());
  EXPECT_TRUE(eventually([&] { return notes.diary.line() == "add add idle"; }))
      << notes.diary.line();
  server.cast(Add{9});
  EXPECT_EQ(server.call(Get{}), 1);
  EXPECT_EQ(notes.diary.line(), "add add idle add");
  server.cast(Add{-1});  // its handler has failed
  const Exit exit = end_of(server.pid());
  EXPECT_EQ(exit.kind(), Exit::Kind::kPanic);
  EXPECT_NE(to_string(exit).find("std::invalid_argument"), std::string::npos);
}

struct Later {
  nanoseconds time;
};
struct Where {
  using Answer = int;
};
class Clock : public bulkhead::GenStateMachine<Clock, int> {
 public:
  explicit Clock(Notes* notes) : GenStateMachine(0), notes_(notes) {}
  void handle_cast(const Later& later) {
    state_timeout(later.time);
    set_timeout("", later.time);
    set_timeout("named", later.time);
  }
  void handle_cast(const Note& note) { cancel_timeout(note.word); }
  int handle_call(const Where& /*message*/) { return state(); }
  void handle_state_timeout() { notes_->diary.add("state"); }
  void handle_timeout(std::string_view name) { notes_->diary.add("<" + std::string(name) + ">"); }
  void report(std::string_view /*text*/) const {}

 private:
  Notes* notes_;
};

TEST_P(ServerBadInput, times_of_state_machines) {
  const auto clock = bulkhead::start_state_machine<Clock>(runtime, {}, &notes).value();
  clock.cast(Note{"never set"});
  clock.cast(Later{std::chrono::hours(24 * 365 * 290)});
  EXPECT_EQ(clock.call(Where{}), 0);
  EXPECT_EQ(notes.diary.line(), "");
  clock.cast(Later{0ns});  // takes the places of those
  EXPECT_TRUE(eventually([&] { return notes.diary.count("<named>") == 1; }));
  EXPECT_EQ(clock.call(Where{}), 0);
  EXPECT_EQ(notes.diary.line(), "state <> <named>");
  clock.cast(Later{-1ns});
  EXPECT_EQ(end_of(clock.pid()).kind(), Exit::Kind::kPanic);
}

// --- replies -------------------------------------------------------------------------------------

struct Twice {
  using Answer = int;
};
struct GiveUp {};
class Teller : public bulkhead::GenServer {
 public:
  explicit Teller(Notes* notes) : notes_(notes) {}
  void handle_call(Twice /*message*/, From<int> from) {
    note(from.reply(1));
    note(static_cast<bool>(from));
    note(from.reply(2));
    const From<int> moved = std::move(from);
    note(from.reply(3));  // NOLINT: that is what is tried
  }
  void handle_call(Ask /*message*/, From<int> from) { kept_.push_back(std::move(from)); }
  void handle_call(GiveUp /*message*/) { kept_.clear(); }
  int handle_call(Get /*message*/) { return static_cast<int>(kept_.size()); }
  void handle_cast(support::Answer answer) {
    for (auto& from : kept_) note(from.reply(answer.n));
  }
  /// From where it is not alive.
  static std::vector<From<int>>& shared() {
    static std::vector<From<int>> all;
    return all;
  }
  void handle_cast(GiveUp /*message*/) {
    for (auto& from : kept_) shared().push_back(std::move(from));
    kept_.clear();
  }

 private:
  void note(bool sent) { notes_->diary.add(sent ? "yes" : "no"); }

  Notes* notes_;
  std::vector<From<int>> kept_;
};

// OTP: the first one is the answer, and the second a stray message to the caller, which cannot be.
TEST_P(ServerBadInput, replies_that_are_sent_twice) {
  const auto server = serve<Teller>({}, &notes);
  EXPECT_EQ(server.call(Twice{}), 1);
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "yes no no no");
  EXPECT_EQ(server.send_request(Twice{}).wait(), 1);
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_EQ(notes.diary.line(), "yes no no no yes no no no");
  run([&] { EXPECT_EQ(server.call(Twice{}), 1); });
}

// To callers that have given up, have ended, or have let their request go.
TEST_P(ServerBadInput, replies_to_nobody) {
  const auto server = serve<Teller>({}, &notes);
  EXPECT_EQ(server.call(Ask{}, 1ms).error(), AskError::kTimedOut);
  { const auto gone = server.send_request(Ask{}); }
  const auto caller =
      runtime.spawn_with(on_core(2), [&] { static_cast<void>(server.call(Ask{}, kForever)); });
  ASSERT_TRUE(eventually([&] { return server.call(Get{}) == 3; }));
  bulkhead::kill(caller);
  EXPECT_EQ(end_of(caller), Exit::killed());
  server.cast(support::Answer{7});
  EXPECT_EQ(server.call(Get{}), 3);
  EXPECT_EQ(notes.diary.line(), "no no no");
}

// A From that was given away outlives its server, and the call lasts as long as it does. (In OTP
// the caller has a monitor of the server, and the call fails when that ends.)
TEST_P(ServerBadInput, replies_for_a_server_that_has_ended) {
  const auto server = serve<Teller>({}, &notes);
  auto request = server.send_request(Ask{});
  std::optional<bulkhead::CallResult<int>> called;
  support::Event over;
  runtime.spawn_with(on_core(2), [&] {
    called = server.call(Ask{}, kForever);
    over.set();
  });
  ASSERT_TRUE(eventually([&] { return server.call(Get{}) == 2; }));
  server.cast(GiveUp{});
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_TRUE(server.stop(Exit::shutdown("closed")).has_value());
  // They are this thread's now, and answered by it.
  for (auto& from : Teller::shared()) EXPECT_TRUE(from.reply(4));
  Teller::shared().clear();
  ASSERT_TRUE(over.wait());
  EXPECT_EQ(*called, 4);
  EXPECT_EQ(request.wait(), 4);
}

TEST_P(ServerBadInput, froms_that_are_let_go) {
  const auto server = serve<Teller>({}, &notes);
  auto request = server.send_request(Ask{});
  EXPECT_EQ(server.call(Get{}), 1);
  EXPECT_TRUE(server.call(GiveUp{}).has_value());
  EXPECT_EQ(request.wait().error(), AskError::kNoReply);
  // Where there is no server any more.
  auto other = server.send_request(Ask{});
  EXPECT_EQ(server.call(Get{}), 1);
  server.cast(GiveUp{});
  EXPECT_TRUE(server.stop().has_value());
  Teller::shared().clear();
  EXPECT_FALSE(other.wait().has_value());
}

}  // namespace
