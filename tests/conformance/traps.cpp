// Traps: a fault of an isolated actor ends that actor, and nobody else (B3, B15, B16, B17, D2). The
// matrix of faults and of the places where they happen.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/balance.hpp"
#include "support/crashes.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/trap_cases.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::CrashReport;
using bulkhead::Delivery;
using bulkhead::Down;
using bulkhead::DropCause;
using bulkhead::Exit;
using bulkhead::Mailbox;
using bulkhead::SpawnOptions;
using bulkhead::TrapKind;
using support::just_throw;
using support::kCases;
using support::touch_null;
using Case = support::TrapCase;
using namespace std::chrono_literals;

// --- those that fail -----------------------------------------------------------------------------

struct Fail {
  void (*fault)();
};
struct FailLater {
  void (*fault)();
};
struct FailInCatch {
  void (*fault)();
};
struct FailStuck {
  void (*fault)();
};
struct AskAndFail {
  using Answer = int;
  void (*fault)();
};
struct WaitForGo {};
struct Note {};
struct Tick {
  void (*fault)();
};

support::Event* volatile go_event = nullptr;

struct Worker {
  void receive(Fail message) { message.fault(); }
  void receive(FailLater message) {
    this_actor::sleep_for(1ms);
    message.fault();
  }
  void receive(FailInCatch message) {
    try {
      throw std::runtime_error("the first one");
    } catch (const std::exception&) {
      message.fault();
    }
  }
  void receive(FailStuck message) {
    const auto end = std::chrono::steady_clock::now() + 30ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    message.fault();
  }
  int receive(AskAndFail message) {
    message.fault();
    return 7;
  }
  void receive(WaitForGo /*message*/) { static_cast<void>(go_event->wait()); }
  void receive(Note /*message*/) {}
};

struct FailsToStart {
  void (*fault)();
  void started() { fault(); }
  void receive(Fail /*message*/) {}
};

struct TimesOut {
  void (*fault)() = nullptr;
  std::chrono::nanoseconds receive_timeout() { return 100us; }
  void receive(Fail message) { fault = message.fault; }
  void receive(bulkhead::ReceiveTimeout /*message*/) {
    if (fault != nullptr) fault();
  }
};

struct HasNoTimeout {
  void (*fault)() = nullptr;
  bulkhead::Timeout receive_timeout() {
    if (fault != nullptr) fault();
    return bulkhead::kForever;
  }
  void receive(Fail message) { fault = message.fault; }
  void receive(bulkhead::ReceiveTimeout /*message*/) {}
};

struct Delayed {
  void receive(Fail message) {
    static_cast<void>(bulkhead::send_after(100us, this_actor::address(this), Tick{message.fault}));
  }
  void receive(Tick message) { message.fault(); }
};

struct DiesBadly {
  void (*fault)();
  ~DiesBadly() { fault(); }
  void receive(Fail message) {
    if (message.fault != nullptr) message.fault();
    this_actor::stop();
  }
};

SpawnOptions isolated(SpawnOptions options = {}) {
  options.isolated.emplace();
  return options;
}

class Traps : public support::OnCores {
 protected:
  Traps() : runtime(with_log(crashes)) { runtime.start(); }
  ~Traps() override { runtime.shutdown(5s); }

  static bulkhead::Config with_log(const std::shared_ptr<support::Crashes>& crashes) {
    bulkhead::Config config = OnCores::config();
    config.log = support::told_to(crashes);
    return config;
  }
  /// What its monitor learns of an actor that is spawned, told, and left alone.
  template <class Actor, class Message, class... Arguments>
  static Exit end_of_child(Mailbox<Down>& mailbox, Message message, Arguments... arguments) {
    bulkhead::MonitorRef monitor;
    SpawnOptions options = isolated(on_core(1));
    options.monitor = &monitor;
    const auto actor = bulkhead::spawn_with<Actor>(options, arguments...);
    static_cast<void>(actor.send(message));
    return mailbox.next<Down>().exit;
  }
  template <class Actor, class Message, class... Arguments>
  Exit end_of(Message message, Arguments... arguments) {
    return end_seen([&](Mailbox<Down>& mailbox) {
      return end_of_child<Actor>(mailbox, message, arguments...);
    });
  }
  template <class F>
  Exit end_of_function(F function, SpawnOptions options = {}) {
    return end_seen([&](Mailbox<Down>& mailbox) {
      bulkhead::MonitorRef monitor;
      options = isolated(options);
      options.monitor = &monitor;
      bulkhead::spawn_with(options, function);
      return mailbox.next<Down>().exit;
    });
  }
  template <class See>
  Exit end_seen(See see) {
    support::Log<Exit> end;
    runtime.spawn_with<Mailbox<Down>>(on_core(0),
                                      [&](Mailbox<Down>& mailbox) { end.add(see(mailbox)); });
    EXPECT_TRUE(support::eventually([&] { return end.size() == 1; }));
    return end.size() == 1 ? end.entries().front() : Exit();
  }

  std::shared_ptr<support::Crashes> crashes = std::make_shared<support::Crashes>();
  bulkhead::Runtime runtime;
};

using support::expect;

TEST_P(Traps, in_a_message) {
  for (const Case& each : kCases) expect(each, end_of<Worker>(Fail{each.fault}));
}

TEST_P(Traps, after_blocking) {
  for (const Case& each : kCases) expect(each, end_of<Worker>(FailLater{each.fault}));
}

TEST_P(Traps, in_a_catch_block) {
  for (const Case& each : kCases) expect(each, end_of<Worker>(FailInCatch{each.fault}));
}

TEST_P(Traps, in_started) {
  for (const Case& each : kCases) expect(each, end_of<FailsToStart>(Fail{each.fault}, each.fault));
}

TEST_P(Traps, in_a_receive_timeout) {
  for (const Case& each : kCases) expect(each, end_of<TimesOut>(Fail{each.fault}));
}

// It is the runtime that asks for it, between two messages.
TEST_P(Traps, when_asked_for_the_receive_timeout) {
  for (const Case& each : kCases) expect(each, end_of<HasNoTimeout>(Fail{each.fault}));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline)) << "a countdown that never ends";
}

TEST_P(Traps, in_the_message_of_a_timer) {
  for (const Case& each : kCases) expect(each, end_of<Delayed>(Fail{each.fault}));
}

TEST_P(Traps, in_a_function) {
  for (const Case& each : kCases) {
    expect(each, end_of_function([fault = each.fault] { fault(); }));
    expect(each, end_of_function([fault = each.fault] {
             this_actor::yield();
             this_actor::sleep_for(100us);
             fault();
           }));
  }
}

// C2: what its stack is worth is known when it ends.
TEST_P(Traps, on_a_stack_of_its_own_size) {
  for (const Case& each : kCases) {
    SpawnOptions options;
    options.stack_size = std::size_t{256} << 10;
    expect(each, end_of_function([fault = each.fault] { fault(); }, options));
  }
}

// The destructor belongs to its turn: how it has ended is known when that has returned.
TEST_P(Traps, in_its_destructor) {
  for (const Case& each : kCases) {
    if (each.fault == &just_throw || each.kind == TrapKind::kMemory) continue;  // it is noexcept
    expect(each, end_of<DiesBadly>(Fail{nullptr}, each.fault));
  }
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
}

// A second fault in the recovery of the first: that one is told, once.
TEST_P(Traps, in_its_destructor_after_a_panic) {
  const Exit end = end_of<DiesBadly>(Fail{&just_throw}, &touch_null);
  EXPECT_EQ(end.kind(), Exit::Kind::kPanic);
  EXPECT_EQ(end.message(), "not here");
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  support::expect_balanced(runtime.stats());
  ASSERT_TRUE(crashes->wait_for(1));
  runtime.shutdown(5s);
  ASSERT_EQ(crashes->size(), 1u);
  EXPECT_EQ(crashes->reports().front().reason, "not here");
}

// The core has gone on without it: it comes home to end.
TEST_P(Traps, of_one_that_is_stuck) {
  for (const Case& each : kCases) expect(each, end_of<Worker>(FailStuck{each.fault}));
}

// Many, one after the other and at once, on the same threads and slots.
TEST_P(Traps, again_and_again) {
  // (ThreadSanitizer takes two faults at one address for a race.)
  const int workers = bulkhead::has_heaps() ? 4 : 1;
  constexpr int kRounds = 50;
  std::atomic<int> ended{0};
  for (int worker = 0; worker < workers; ++worker) {
    runtime.spawn_with<Mailbox<Down>>(
        on_core(static_cast<std::size_t>(worker)), [&](Mailbox<Down>& mailbox) {
          for (int round = 0; round < kRounds; ++round) {
            for (const Case& each : kCases) {
              expect(each, end_of_child<Worker>(mailbox, Fail{each.fault}));
            }
          }
          ++ended;
        });
  }
  EXPECT_TRUE(support::eventually([&] { return ended == workers; }));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().actors_trapped,
            static_cast<std::size_t>(workers * kRounds) * kCases.size());
  EXPECT_EQ(runtime.stats().actors(), 0u);
  support::expect_balanced(runtime.stats());
}

// What waits in its mailbox is dropped, and told; what was in hand is told as failed.
TEST_P(Traps, lose_nothing_silently) {
  support::Event go;
  go_event = &go;
  const auto worker = runtime.spawn_with<Worker>(isolated(on_core(1)));
  EXPECT_EQ(worker.send(WaitForGo{}), Delivery::kQueued);
  EXPECT_EQ(worker.send(Fail{&touch_null}), Delivery::kQueued);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(worker.send(Note{}), Delivery::kQueued);
  go.set();
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 0; }));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kHandlerFailed), 1u);
  EXPECT_EQ(runtime.stats().dropped_for(DropCause::kGone), 10u);
  support::expect_balanced(runtime.stats());
  EXPECT_EQ(worker.send(Note{}), Delivery::kGone);
}

// B15: one report, with all that is known.
TEST_P(Traps, are_reported_once) {
  static_cast<void>(end_of<Worker>(Fail{&touch_null}));
  ASSERT_TRUE(crashes->wait_for(1));
  runtime.shutdown(5s);
  ASSERT_EQ(crashes->size(), 1u);
  const CrashReport report = crashes->reports().front();
  EXPECT_EQ(report.kind, Exit::Kind::kTrapped);
  EXPECT_EQ(report.trap, TrapKind::kAccess);
  EXPECT_NE(report.message.find("Fail"), std::string::npos);
  ASSERT_FALSE(report.stack.empty());
  EXPECT_NE(report.stack.front().find("touch_null"), std::string::npos) << report.stack.front();
  EXPECT_NE(to_string(report).find("crashed: trapped: access: SIGSEGV"), std::string::npos)
      << to_string(report);
  EXPECT_NE(to_json(report).find(R"("trap":"access")"), std::string::npos) << to_json(report);
}

// Those that it is linked to hear of it as of any crash.
TEST_P(Traps, are_told_to_those_who_are_linked) {
  support::Log<Exit> ends;
  support::Event ended;
  runtime.spawn_with<Mailbox<bulkhead::Exited>>(
      on_core(0), [&](Mailbox<bulkhead::Exited>& mailbox) {
        this_actor::trap_exits(true);
        SpawnOptions options = isolated(on_core(1));
        options.linked = true;
        const auto worker = bulkhead::spawn_with<Worker>(options);
        EXPECT_EQ(worker.send(Fail{&support::break_off}), Delivery::kQueued);
        ends.add(mailbox.next<bulkhead::Exited>().exit);
        ended.set();
      });
  ASSERT_TRUE(ended.wait());
  EXPECT_EQ(ends.entries().front().trap(), TrapKind::kInstruction);
}

// Whoever asked it learns at once that there will be no answer.
TEST_P(Traps, end_the_asks_of_others) {
  const auto worker = runtime.spawn_with<Worker>(isolated(on_core(1)));
  const auto answer = worker.ask(AskAndFail{&touch_null}, 10s);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error(), bulkhead::AskError::kDied);
}

// The signal mask and the rounding of numbers are what they were in the beginning.
TEST_P(Traps, leave_the_thread_as_it_was) {
  static_cast<void>(end_of_function([] {
    sigset_t mask;  // (the kernel ends a process that faults while it blocks the signal for that)
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    std::fesetround(FE_UPWARD);
    touch_null();
  }));
  support::Log<std::string> seen;
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [&] {
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      seen.add(sigismember(&mask, SIGINT) == 0 && std::fegetround() == FE_TONEAREST ? "clean"
                                                                                    : "changed");
    });
  }
  ASSERT_TRUE(support::eventually([&] { return seen.size() == cores(); }));
  for (const std::string& each : seen.entries()) EXPECT_EQ(each, "clean");
}

// --- what makes no sense -------------------------------------------------------------------------

TEST_P(Traps, need_the_handlers_of_faults) {
  bulkhead::Config config = OnCores::config();
  config.report_faults = false;
  bulkhead::Runtime other(config);
  other.start();
  EXPECT_THROW(static_cast<void>(other.spawn_with<Worker>(isolated())), bulkhead::ConfigError);
  EXPECT_EQ(other.stats().actors(), 0u);
}

TEST_P(Traps, cannot_be_joined) {
  EXPECT_THROW(static_cast<void>(runtime.spawn_joinable_with(isolated(), [] {})),
               bulkhead::ConfigError);
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(Traps);
