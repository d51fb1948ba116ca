// Traps: a fault of an isolated actor ends that actor, and nobody else (B3, B15, D2). The matrix of
// faults and of the places where they happen.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cassert>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/crashes.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::CrashReport;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Mailbox;
using bulkhead::SpawnOptions;
using bulkhead::TrapKind;
using namespace std::chrono_literals;

// --- faults --------------------------------------------------------------------------------------

int* volatile nowhere = nullptr;
volatile int zero = 0;

void touch_null() { *nowhere = 1; }
void touch_nothing() { *reinterpret_cast<volatile int*>(std::uintptr_t{0x123456789000}) = 1; }
void touch_no_address() {
  *reinterpret_cast<volatile int*>(std::uintptr_t{0x8000'0000'0000'0000}) = 1;
}
void call_null() {
  void (*volatile function)() = nullptr;
  function();
}
[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  const int deeper = depth == -1 ? 0 : recurse(depth + 1);
  return deeper + frame[0];
}
void overflow_stack() { zero = recurse(0) * 0; }
void divide() { zero = 17 / zero; }
void break_off() { __builtin_trap(); }

void abort_it() { std::abort(); }
void just_throw() { throw std::runtime_error("not here"); }
[[gnu::noinline]] void may_not_throw() noexcept { just_throw(); }
void terminate_it() { std::terminate(); }
[[gnu::noinline]] void fail_assertion() { __assert_fail("the sky is blue", "sky.cpp", 17, "look"); }
void fail_library_assertion() {
  std::vector<int> few(1);
  volatile std::size_t index = 7;
  zero = few[index] * 0;
}
struct Base {
  Base() { call(); }
  virtual ~Base() = default;
  void call() { run(); }
  virtual void run() = 0;
};
struct Derived : Base {
  void run() override {}
};
void call_pure() { const Derived made; }
void start_thread() {
  std::thread([] {}).join();
}
void throw_bad_alloc() { throw std::bad_alloc(); }

struct Case {
  const char* name;
  void (*fault)();
  TrapKind kind;
  const char* message;  // part of it
};

const Case kCases[] = {
    // each with what its message says
    {"null access", &touch_null, TrapKind::kAccess, "near the null pointer, at address 0x0"},
    {"wild access", &touch_nothing, TrapKind::kAccess, "SIGSEGV, at address 0x123456789000"},
    {"no address", &touch_no_address, TrapKind::kAccess, "at an address that cannot be"},
    {"call of null", &call_null, TrapKind::kAccess, "at address 0x0"},
    {"stack overflow", &overflow_stack, TrapKind::kStackOverflow, "its stack has"},
    {"division", &divide, TrapKind::kArithmetic, "an integer division by zero"},
    {"no instruction", &break_off, TrapKind::kInstruction, "SIGILL"},
    {"abort", &abort_it, TrapKind::kAbort, "abort was called"},
    {"noexcept", &may_not_throw, TrapKind::kTerminate, "not here"},
    {"terminate", &terminate_it, TrapKind::kTerminate, "std::terminate was called"},
    {"assertion", &fail_assertion, TrapKind::kAssertion,
     "`the sky is blue' is not so, at sky.cpp:17, in look"},
    {"bad index", &fail_library_assertion, TrapKind::kAssertion, "__n < this->size()"},
    {"pure virtual call", &call_pure, TrapKind::kTerminate, ""},
    {"thread", &start_thread, TrapKind::kThread, "start a thread"},
    {"memory", &throw_bad_alloc, TrapKind::kMemory, "std::bad_alloc"},
};

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
struct Ask {};

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
  int receive(Ask /*message*/) { return 7; }
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
  /// What the monitor of one learns that is spawned, told, and left alone.
  template <class Message>
  Exit end_of(Message message) {
    support::Log<Exit> end;
    runtime.spawn_with<Mailbox<Down>>(on_core(0), [&](Mailbox<Down>& mailbox) {
      bulkhead::MonitorRef monitor;
      SpawnOptions options = isolated(on_core(1));
      options.monitor = &monitor;
      const auto worker = bulkhead::spawn_with<Worker>(options);
      EXPECT_EQ(worker.send(message), bulkhead::Delivery::kQueued);
      end.add(mailbox.next<Down>().exit);
    });
    EXPECT_TRUE(support::eventually([&] { return end.size() == 1; }));
    return end.size() == 1 ? end.entries().front() : Exit();
  }

  std::shared_ptr<support::Crashes> crashes = std::make_shared<support::Crashes>();
  bulkhead::Runtime runtime;
};

void expect(const Case& expected, const Exit& exit) {
  SCOPED_TRACE(expected.name);
  EXPECT_EQ(exit.kind(), Exit::Kind::kTrapped);
  EXPECT_EQ(to_string(exit.trap()), to_string(expected.kind));
  EXPECT_NE(exit.message().find(expected.message), std::string_view::npos) << exit.message();
}

TEST_P(Traps, in_a_message) {
  for (const Case& each : kCases) expect(each, end_of(Fail{each.fault}));
}

TEST_P(Traps, after_blocking) {
  for (const Case& each : kCases) expect(each, end_of(FailLater{each.fault}));
}

TEST_P(Traps, in_a_catch_block) {
  for (const Case& each : kCases) expect(each, end_of(FailInCatch{each.fault}));
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(Traps);
