// The crash matrix: every kind of fault in every place where one may come (B3, B15, D2), beside the
// handlers of traps.cpp. After each, only that actor has ended, once, by that; those who waited for
// it are told; and all that it had is back. And the places where none can be contained.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/otp.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/balance.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/trap_cases.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Mailbox;
using bulkhead::SpawnOptions;
using bulkhead::TrapKind;
using support::kCases;
using support::TrapCase;
using namespace std::chrono_literals;

using Fault = void (*)();

/// A message that faults as it crosses.
struct Bomb {
  Fault at_crossing = nullptr;
  Fault at_leaving = nullptr;
  std::string text = std::string(100, 'x');

  Bomb(Fault crossing, Fault leaving) : at_crossing(crossing), at_leaving(leaving) {}
};

}  // namespace

template <>
struct bulkhead::Crossing<Bomb> {
  static Bomb cross(const Bomb& from) {
    if (from.at_crossing != nullptr) from.at_crossing();
    Bomb to(from.at_crossing, from.at_leaving);
    to.text = bulkhead::crossed(from.text);
    return to;
  }
  static void let_go(Bomb& from) noexcept {
    if (from.at_leaving != nullptr) from.at_leaving();
  }
};

namespace {

struct Fail {
  Fault fault;
};
struct Ask {
  using Answer = int;
};
struct Inspect {};
struct SendBomb {
  Fault at_crossing;
  Fault at_leaving;
};

struct Bystander {
  int receive(Ask /*message*/) { return 7; }
  void receive(Bomb /*message*/) {}
};
bulkhead::Address<Bystander> the_bystander;

struct FailsToConstruct {
  explicit FailsToConstruct(Fault fault) : text(100, 'x') { fault(); }
  void receive(Fail /*message*/) {}
  std::string text;
};

struct Worker {
  void receive(Fail message) { message.fault(); }
  void receive(SendBomb message) {
    static_cast<void>(the_bystander.send(Bomb(message.at_crossing, message.at_leaving)));
  }
  int receive(Ask /*message*/) { return 7; }
  void receive(Bomb /*message*/) {}
};

/// Has asked, and is asked, when it fails: its own ask is answered, and nobody takes that.
struct InTalks {
  void receive(Fail message) {
    asked = the_bystander.ask(Ask{}, 10s).value_or(0);
    message.fault();
  }
  int receive(Ask /*message*/) { return asked; }
  int asked = 0;
};

/// Faults while an exception of its own unwinds it.
struct FaultsAtItsEnd {
  Fault fault;
  ~FaultsAtItsEnd() { fault(); }
};
struct Unwound {
  void receive(Fail message) {
    const FaultsAtItsEnd at_the_end{message.fault};
    throw std::runtime_error(std::string(1000, 'x'));
  }
};

SpawnOptions isolated(SpawnOptions options = {}) {
  options.isolated.emplace();
  return options;
}

class TrapsInPlaces : public support::Running {
 protected:
  TrapsInPlaces() { the_bystander = runtime.spawn_with<Bystander>(on_core(0)); }
  ~TrapsInPlaces() override {
    EXPECT_EQ(the_bystander.ask(Ask{}, support::kDeadline), 7) << "others go on";
    bulkhead::stop(the_bystander);
    runtime.shutdown(5s);
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
    EXPECT_EQ(bulkhead::heap_bytes_used(), 0u);
    EXPECT_EQ(runtime.stats().actors(), 0u);
    support::expect_balanced(runtime.stats());
  }

  /// What its monitor learns of an actor that is spawned, and then told by `tell`.
  template <class Actor, class Tell, class... Arguments>
  Exit end_of(Tell tell, Arguments... arguments) {
    support::Log<Exit> ends;
    runtime.spawn_with<Mailbox<Down>>(on_core(0), [&](Mailbox<Down>& mailbox) {
      bulkhead::MonitorRef monitor;
      SpawnOptions options = isolated(on_core(1));
      options.monitor = &monitor;
      const auto actor = bulkhead::spawn_with<Actor>(options, arguments...);
      tell(actor);
      ends.add(mailbox.template next<Down>().exit);
      EXPECT_FALSE(mailbox.template next_for<Down>(0ns)) << "told twice";
    });
    wait_for_idle();
    EXPECT_EQ(ends.size(), 1u);
    return ends.size() == 1 ? ends.entries().front() : Exit();
  }
  /// For each fault: the actor's end is that, and its memory is back.
  template <class Actor, class Tell>
  void expect_each(Tell tell) {
    for (const TrapCase& each : kCases) {
      support::expect(each, end_of<Actor>([&](const auto& actor) { tell(actor, each.fault); }));
      EXPECT_EQ(bulkhead::heaps_live(), 0u) << each.name;
    }
  }
};

TEST_P(TrapsInPlaces, in_a_constructor) {
  for (const TrapCase& each : kCases) {
    support::expect(each, end_of<FailsToConstruct>([](const auto& /*actor*/) {}, each.fault));
    EXPECT_EQ(bulkhead::heaps_live(), 0u) << each.name;
  }
}

TEST_P(TrapsInPlaces, in_the_middle_of_a_send) {
  expect_each<Worker>([](const auto& actor, Fault fault) { actor.send(SendBomb{fault, nullptr}); });
}

// What leaves a message does so without exceptions.
TEST_P(TrapsInPlaces, at_the_end_of_a_send) {
  for (const TrapCase& each : kCases) {
    if (each.kind == TrapKind::kMemory) continue;
    support::expect(each, end_of<Worker>([&](const auto& actor) {
                      actor.send(SendBomb{nullptr, each.fault});
                    }));
  }
}

TEST_P(TrapsInPlaces, while_a_message_is_received) {
  expect_each<Worker>([](const auto& actor, Fault fault) { actor.send(Bomb(fault, nullptr)); });
}

TEST_P(TrapsInPlaces, with_asks_in_both_directions) {
  for (const TrapCase& each : kCases) {
    const auto worker = runtime.spawn_with<InTalks>(isolated(on_core(1)));
    support::Log<AskError> errors;
    worker.send(Fail{each.fault});
    for (std::size_t i = 0; i < 5; ++i) {
      runtime.spawn_with(on_core(i), [&] {
        const auto answer = worker.ask(Ask{}, 10s);
        errors.add(answer ? AskError::kSelf : answer.error());
      });
    }
    wait_for_idle();
    ASSERT_EQ(errors.size(), 5u) << each.name;
    for (const AskError error : errors.entries()) {
      EXPECT_TRUE(error == AskError::kDied || error == AskError::kGone) << to_string(error);
    }
  }
}

TEST_P(TrapsInPlaces, while_they_are_inspected) {
  std::atomic<bool> over{false};
  std::atomic<std::uint32_t> looked{0};
  support::Log<bulkhead::Pid> pids;
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [&] {
      while (!over) {
        for (const bulkhead::Pid pid : pids.entries()) {
          if (bulkhead::actor_info(pid)) ++looked;
        }
        this_actor::yield();
      }
    });
  }
  for (const TrapCase& each : kCases) {
    const auto worker = runtime.spawn_with<Worker>(isolated(pinned_to(1)));
    pids.add(worker.pid());
    worker.send(Fail{each.fault});
  }
  EXPECT_TRUE(support::eventually([&] { return runtime.stats().actors_trapped == kCases.size(); }));
  over = true;
  wait_for_idle();
}

TEST_P(TrapsInPlaces, while_an_exception_unwinds) {
  for (const TrapCase& each : kCases) {
    if (each.fault == &support::just_throw || each.kind == TrapKind::kMemory) continue;
    const Exit end = end_of<Unwound>([&](const auto& actor) { actor.send(Fail{each.fault}); });
    EXPECT_EQ(end.trap(), each.kind) << each.name;
  }
}

// The group is restarted, all of it, for each fault.
std::atomic<int> begun{0};
bulkhead::ChildSpec isolated_child(const char* name) {
  bulkhead::ChildSpec spec;
  spec.id = name;
  spec.name = name;
  spec.start = []() -> bulkhead::ChildStart {
    ++begun;
    return bulkhead::spawn_with<Worker>(isolated({.linked = true})).pid();
  };
  return spec;
}

TEST_P(TrapsInPlaces, during_the_restart_of_a_group) {
  begun = 0;
  bulkhead::SupervisorSpec spec;
  spec.strategy = bulkhead::Strategy::kOneForAll;
  spec.intensity = 1000;
  spec.children = {isolated_child("first"), isolated_child("second"), isolated_child("third")};
  const auto supervisor = bulkhead::start_supervisor(runtime, std::move(spec));
  ASSERT_TRUE(supervisor.has_value());
  int groups = 1;
  for (const TrapCase& each : kCases) {
    bulkhead::Pid before;
    ASSERT_TRUE(support::eventually([&] {
      before = runtime.whereis("second");
      return before && begun == 3 * groups;
    }));
    bulkhead::Address<Worker>(before).send(Fail{each.fault});
    ++groups;
    ASSERT_TRUE(support::eventually([&] {
      const bulkhead::Pid now = runtime.whereis("second");
      return now && now != before && begun == 3 * groups;
    })) << each.name;
  }
  EXPECT_EQ(runtime.stats().actors_trapped, kCases.size());
  bulkhead::stop(supervisor->pid());
}

// --- one that never ends -------------------------------------------------------------------------

// It is no fault, and holds up nobody; that it looks whether it is to end is up to it.
TEST_P(TrapsInPlaces, an_endless_loop_holds_up_nobody) {
  const auto endless = runtime.spawn_with(isolated(on_core(0)), [] {
    for (;;) bulkhead::check();
  });
  EXPECT_EQ(the_bystander.ask(Ask{}, support::kDeadline), 7);
  bulkhead::request_stop(endless);
  wait_for_idle();
}

// --- what cannot be contained --------------------------------------------------------------------

std::mutex the_lock;
pthread_rwlock_t the_rwlock = PTHREAD_RWLOCK_INITIALIZER;
std::shared_timed_mutex the_timed_mutex;
std::once_flag the_flag;

class Uncontained : public support::OnCores {
 protected:
  /// A process in which an isolated actor does that.
  static support::Ended child(Fault fault) {
    return support::run_in_child([fault] {
      bulkhead::Runtime runtime(config());
      runtime.start();
      runtime.spawn_with<Worker>(isolated(on_core(1))).send(Fail{fault});
      runtime.wait_for_idle(30s);
    });
  }
  static void expect_told(const support::Ended& ended, int signal, const char* what) {
    EXPECT_EQ(ended.signal, signal) << ended.errors;
    EXPECT_NE(ended.errors.find("bulkhead: actor <"), std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find("Worker) trapped: "), std::string::npos) << ended.errors;
    EXPECT_NE(ended.errors.find("; that cannot be contained: it "), std::string::npos)
        << ended.errors;
    EXPECT_NE(ended.errors.find(what), std::string::npos) << ended.errors;
  }
};

TEST_P(Uncontained, with_a_lock_that_others_may_want) {
  if (!bulkhead::has_heaps()) return;  // sanitizers have functions of their own that lock
  expect_told(child([] {
                the_lock.lock();
                support::touch_null();
              }),
              SIGSEGV, "holds a lock");
  expect_told(child([] {
                const std::lock_guard guard(the_lock);
                std::abort();
              }),
              SIGABRT, "holds a lock");
  expect_told(child([] {
                pthread_rwlock_rdlock(&the_rwlock);
                support::touch_null();
              }),
              SIGSEGV, "holds a lock");
  expect_told(child([] {
                if (the_timed_mutex.try_lock_for(1s)) std::abort();
              }),
              SIGABRT, "holds a lock");
  expect_told(child([] {
                if (the_timed_mutex.try_lock_shared_for(1s)) std::abort();
              }),
              SIGABRT, "holds a lock");
  expect_told(child([] {
                if (the_lock.try_lock()) std::terminate();
              }),
              SIGABRT, "holds a lock");
  expect_told(child([] { std::call_once(the_flag, [] { support::touch_null(); }); }), SIGSEGV,
              "holds a lock");
}

TEST_P(Uncontained, within_the_c_library) {
  if (!bulkhead::has_heaps()) return;  // sanitizers stand in front of it
  expect_told(child([] {
                const char* volatile text = static_cast<const char*>(support::no_mans_page);
                std::printf("%s and %s\n", "one", text);
              }),
              SIGSEGV, "the C library");
  expect_told(child([] {
                const char* volatile text = static_cast<const char*>(support::no_mans_page);
                std::fputs(text, stdout);
              }),
              SIGSEGV, "the C library");
}

// It has let go of them, or nobody else can want them, or there are none.
TEST_P(TrapsInPlaces, with_locks_that_nobody_else_may_want) {
  const auto end = [&](Fault fault) {
    return end_of<Worker>([&](const auto& actor) { actor.send(Fail{fault}); }).kind();
  };
  EXPECT_EQ(end([] {
              std::mutex own;
              own.lock();
              support::touch_null();
            }),
            Exit::Kind::kTrapped);
  EXPECT_EQ(end([] {
              const auto own = std::make_unique<std::mutex>();
              own->lock();
              support::touch_null();
            }),
            Exit::Kind::kTrapped);
  EXPECT_EQ(end([] {
              { const std::lock_guard guard(the_lock); }
              support::touch_null();
            }),
            Exit::Kind::kTrapped);
  EXPECT_EQ(end([] {
              char text[32];
              const char* volatile from = static_cast<const char*>(support::no_mans_page);
              std::snprintf(text, sizeof text, "%s", from);
            }),
            Exit::Kind::kTrapped);
  EXPECT_EQ(end([] {
              int numbers[] = {3, 1, 2};
              std::qsort(numbers, 3, sizeof(int), [](const void*, const void*) {
                support::touch_null();
                return 0;
              });
            }),
            Exit::Kind::kTrapped);
  EXPECT_TRUE(the_lock.try_lock());
  the_lock.unlock();
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(TrapsInPlaces);
ON_ONE_AND_SEVERAL_CORES(Uncontained);
