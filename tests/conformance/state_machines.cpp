// C14: state machines. Tests are named after the cases of OTP's gen_statem_SUITE whose behaviour
// they check.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <variant>

#include "support/served.hpp"

namespace {

namespace sys = bulkhead::sys;
namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::From;
using bulkhead::GenStateMachine;
using bulkhead::kForever;
using bulkhead::StateMachineRef;
using support::eventually;
using support::Notes;
using namespace std::chrono_literals;

enum class Mode { kLocked, kOpen };

struct Push {
  using Answer = std::string;
};
struct Coin {
  int worth;
};
struct Say {
  std::string word;
};
struct Where {
  using Answer = Mode;
};
struct Fail {};
struct Timer {
  std::string name;
  std::chrono::nanoseconds time;
};
struct Cancel {
  std::string name;
};
struct Quit {
  using Answer = int;
};
struct Internal {
  int n;
};

/// A turnstile.
class Turnstile : public GenStateMachine<Turnstile, Mode> {
 public:
  explicit Turnstile(Notes* notes) : GenStateMachine(Mode::kLocked), notes_(notes) {}

  void enter(const Mode& before) {
    note(std::string("enter ") + name(state()) + " from " + name(before));
    if (state() == Mode::kOpen) state_timeout(stays_open_);
  }

  // Who pushes waits until it is open.
  std::string handle_call(const Push& /*message*/) {
    note("push");
    if (state() == Mode::kLocked) {
      postpone();
      return "never given";
    }
    next_state(Mode::kLocked);
    return "through";
  }
  void handle_call(const Where& /*message*/, From<Mode>& from) { from.reply(state()); }
  int handle_call(const Quit& /*message*/) {
    stop(Exit::shutdown("quit"));
    return 1;
  }
  void handle_cast(const Coin& coin) {
    note("coin");
    if (coin.worth > 5) {
      next_event(Internal{1});
      next_event(Internal{2});
    }
    next_state(Mode::kOpen);
  }
  void handle_cast(const Say& say) {
    note(say.word);
    if (say.word.starts_with("later") && state() == Mode::kLocked) postpone();
    if (say.word == "short") stays_open_ = 1ms;
    if (say.word == "lock") next_state(Mode::kLocked);
  }
  void handle_cast(const Timer& timer) { set_timeout(timer.name, timer.time); }
  void handle_cast(const Cancel& cancel) { cancel_timeout(cancel.name); }
  void handle_cast(const Fail& /*message*/) { throw std::runtime_error("jammed"); }
  void handle_info(const support::Tick& tick) { note("tick" + std::to_string(tick.n)); }
  void handle_internal(const Internal& internal) {
    note("internal" + std::to_string(internal.n));
    if (internal.n == 2) next_event(Internal{3});
  }
  void handle_state_timeout() {
    note("closes");
    next_state(Mode::kLocked);
  }
  void handle_timeout(std::string_view name) { note("timeout " + std::string(name)); }

  void terminate(const Exit& reason) { note("terminate: " + to_string(reason)); }
  void report(std::string_view text) const { notes_->reports.add(std::string(text)); }
  [[nodiscard]] std::string format_status() const { return name(state()); }

 private:
  static std::string name(Mode mode) { return mode == Mode::kOpen ? "open" : "locked"; }
  void note(std::string word) { notes_->diary.add(std::move(word)); }

  Notes* notes_;
  bulkhead::Timeout stays_open_ = kForever;
};

class StateMachines : public support::Served {
 protected:
  StateMachineRef<Turnstile> turnstile() {
    auto started = bulkhead::start_state_machine<Turnstile>(runtime, {.spawn = on_core(1)}, &notes);
    EXPECT_TRUE(started.has_value());
    return *started;
  }
  [[nodiscard]] std::string line() const { return notes.diary.line(); }
};
ON_ONE_AND_SEVERAL_CORES(StateMachines);

TEST_P(StateMachines, state_enter) {
  const auto machine = turnstile();
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  machine.cast(Coin{1});
  machine.cast(Coin{1});  // the same state: no change
  EXPECT_EQ(machine.call(Where{}), Mode::kOpen);
  machine.cast(Say{"lock"});
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  EXPECT_EQ(
      line(),
      "enter locked from locked coin enter open from locked coin lock enter locked from open");
}

// What was postponed is handled again when the state has changed, in order, before what has come
// since; not when it has not changed.
TEST_P(StateMachines, postpone) {
  const auto machine = turnstile();
  EXPECT_TRUE(sys::suspend(machine).has_value());
  machine.cast(Say{"later1"});
  machine.cast(Say{"later2"});
  machine.cast(Say{"lock"});
  machine.cast(Coin{1});
  machine.cast(Say{"new"});
  EXPECT_TRUE(sys::resume(machine).has_value());
  EXPECT_EQ(machine.call(Where{}), Mode::kOpen);
  EXPECT_EQ(line(),
            "enter locked from locked later1 later2 lock coin enter open from locked later1 later2 "
            "new");
}

TEST_P(StateMachines, postponed_call) {
  const auto machine = turnstile();
  auto first = machine.send_request(Push{});
  auto second = machine.send_request(Push{});
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  EXPECT_FALSE(first.check().has_value());
  machine.cast(Coin{1});
  EXPECT_EQ(first.wait(), "through");
  // The first one has closed it again behind itself.
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  EXPECT_FALSE(second.check().has_value());
  machine.cast(Coin{1});
  EXPECT_EQ(second.wait(), "through");
}

// Those who wait learn why it has ended.
TEST_P(StateMachines, postponed_call_when_it_ends) {
  const auto machine = turnstile();
  auto waits = machine.send_request(Push{});
  EXPECT_EQ(machine.call(Quit{}), 1);
  EXPECT_EQ(waits.wait().error().exit, Exit::shutdown("quit"));
  EXPECT_EQ(end_of(machine.pid()), Exit::shutdown("quit"));
  EXPECT_EQ(notes.diary.count("terminate: shutdown: quit"), 1u);
}

// Internal events come before all others: messages, and what was postponed.
TEST_P(StateMachines, next_events) {
  const auto machine = turnstile();
  EXPECT_TRUE(sys::suspend(machine).has_value());
  machine.cast(Say{"later"});
  machine.cast(Coin{10});
  machine.cast(Say{"new"});
  EXPECT_TRUE(sys::resume(machine).has_value());
  EXPECT_EQ(machine.call(Where{}), Mode::kOpen);
  EXPECT_EQ(line(),
            "enter locked from locked later coin enter open from locked internal1 internal2 "
            "internal3 later new");
}

TEST_P(StateMachines, state_timeout) {
  const auto machine = turnstile();
  machine.cast(Say{"short"});
  machine.cast(Coin{1});
  EXPECT_TRUE(eventually([&] { return notes.diary.count("closes") == 1; }));
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
}

// A change of state ends it.
TEST_P(StateMachines, state_timeout_is_called_off) {
  const auto machine = turnstile();
  machine.cast(Say{"short"});
  EXPECT_TRUE(sys::suspend(machine).has_value());
  machine.cast(Coin{1});
  machine.cast(Say{"lock"});
  EXPECT_TRUE(sys::resume(machine).has_value());
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  EXPECT_EQ(notes.diary.count("closes"), 0u);
}

TEST_P(StateMachines, generic_timers) {
  const auto machine = turnstile();
  machine.cast(Timer{"a", 1ms});
  machine.cast(Timer{"b", 1h});
  machine.cast(Timer{"b", 2ms});  // takes its place
  machine.cast(Timer{"c", 1ms});
  machine.cast(Cancel{"c"});
  machine.cast(Coin{1});  // does not end them
  EXPECT_TRUE(eventually([&] { return notes.diary.count("timeout b") == 1; }));
  EXPECT_TRUE(eventually([&] { return notes.diary.count("timeout a") == 1; }));
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(machine.call(Where{}), Mode::kOpen);
  EXPECT_EQ(notes.diary.count("timeout b"), 1u);
  EXPECT_EQ(notes.diary.count("timeout c"), 0u);
}

TEST_P(StateMachines, info_and_status) {
  const auto machine = turnstile();
  machine.info(support::Tick{4});
  EXPECT_EQ(machine.call(Where{}), Mode::kLocked);
  EXPECT_EQ(notes.diary.count("tick4"), 1u);
  EXPECT_EQ(sys::get_status(machine), "locked");
  EXPECT_EQ(sys::get_state(machine, [](const auto& server) { return server.state(); }),
            Mode::kLocked);
}

TEST_P(StateMachines, crash) {
  const auto machine = turnstile();
  auto waits = machine.send_request(Push{});
  machine.cast(Fail{});
  EXPECT_EQ(waits.wait().error().exit.message(), "jammed");
  EXPECT_EQ(end_of(machine.pid()).message(), "jammed");
  EXPECT_EQ(notes.diary.count("terminate: panic: jammed (std::runtime_error)"), 1u);
  ASSERT_TRUE(crashes->wait_for(1));
  EXPECT_EQ(crashes->reports()[0].state, "locked");
}

// States that are types of their own.
struct Idle {
  friend bool operator==(const Idle&, const Idle&) = default;
};
struct Dialling {
  std::string number;
  friend bool operator==(const Dialling&, const Dialling&) = default;
};
struct Digit {
  char digit;
};
struct Number {
  using Answer = std::string;
};
class Phone : public GenStateMachine<Phone, std::variant<Idle, Dialling>> {
 public:
  Phone() : GenStateMachine(Idle{}) {}
  void handle_cast(const Digit& digit) {
    const auto* dialling = std::get_if<Dialling>(&state());
    next_state(Dialling{(dialling != nullptr ? dialling->number : "") + digit.digit});
  }
  std::string handle_call(const Number& /*message*/) {
    const auto* dialling = std::get_if<Dialling>(&state());
    return dialling != nullptr ? dialling->number : "none";
  }
};

TEST_P(StateMachines, states_of_any_type) {
  const auto phone = *bulkhead::start_state_machine<Phone>(runtime, {});
  EXPECT_EQ(phone.call(Number{}), "none");
  for (const char digit : {'1', '1', '0'}) phone.cast(Digit{digit});
  EXPECT_EQ(phone.call(Number{}), "110");
}

// What makes no sense while a state is entered.
struct Confused : GenStateMachine<Confused, int> {
  explicit Confused(bool postpones) : GenStateMachine(0), postpones_(postpones) {}
  void enter(const int& /*before*/) {
    if (postpones_) postpone();
    next_state(1);
  }
  void report(std::string_view /*text*/) const {}
  bool postpones_;
};

TEST_P(StateMachines, enter_changes_nothing) {
  for (const bool postpones : {false, true}) {
    const auto started = bulkhead::start_state_machine<Confused>(runtime, {}, postpones);
    ASSERT_FALSE(started.has_value());
    EXPECT_NE(started.error().exit.message().find("was called in enter()"), std::string::npos);
  }
}

}  // namespace
