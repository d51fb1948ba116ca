// C17: an actor that crashes is told of once, with all that is known of it.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/crashes.hpp"
#include "support/door.hpp"
#include "support/on_cores.hpp"

// Of external linkage, so that even without debugging information its name is known.
[[gnu::noinline]] void breaks_in_the_depths() {
  throw std::runtime_error("down here");
  asm volatile("");
}

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::CrashReport;
using bulkhead::Exit;
using bulkhead::Pid;
using namespace std::chrono_literals;

struct Break {};
struct Watch {
  using Answer = void;
  Pid actor;
};
struct Peer {
  void receive(Watch message) { this_actor::monitor(message.actor); }
  void receive(bulkhead::Down /*down*/) {}
};

class Machine {
 public:
  explicit Machine(Pid peer) : peer_(peer) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    if (bulkhead::crash_is_reported()) bulkhead::describe_crash("it was green", "its break");
  }
  void started() {
    this_actor::set_label("green machine");
    EXPECT_EQ(this_actor::label(), "green machine");
    this_actor::link(peer_);
    this_actor::monitor(peer_);
  }
  void receive(Watch /*message*/) {}
  void receive(Break /*message*/) { breaks_in_the_depths(); }
  void receive(bulkhead::Down /*down*/) {}

 private:
  Pid peer_;
};

class CrashReports : public support::OnCores {
 protected:
  CrashReports() : runtime(with_log(crashes)) { runtime.start(); }
  static bulkhead::Config with_log(std::shared_ptr<support::Crashes> crashes) {
    bulkhead::Config config = support::OnCores::config();
    config.log = support::told_to(std::move(crashes));
    config.trace = bulkhead::TraceSettings{.flight_recorder = true};
    return config;
  }
  /// Runs it in an actor, to its end; and returns what was told meanwhile.
  template <class F>
  std::vector<CrashReport> told_of(F body) {
    const std::size_t before = crashes->size();
    runtime.spawn_with(on_core(1), std::move(body));
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    runtime.shutdown();  // tells what is left
    runtime.start();
    auto all = crashes->reports();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before));
    return all;
  }

  std::shared_ptr<support::Crashes> crashes = std::make_shared<support::Crashes>();
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(CrashReports);

TEST_P(CrashReports, are_made_of_ends_that_are_not_in_order) {
  const std::pair<Exit, bool> ends[] = {
      {Exit::normal(), false},      {Exit::shutdown(), false},
      {Exit::shutdown("x"), false}, {Exit::stopped(), false},
      {Exit::killed(), true},       {Exit::no_actor(), true},
      {Exit::custom("x"), true},    {Exit::panic(std::make_exception_ptr(1)), true}};
  for (const auto& [exit, crash] : ends) {
    const auto told = told_of([&exit = exit] { this_actor::stop(exit); });
    ASSERT_EQ(told.size(), crash ? 1u : 0u) << to_string(exit);
    if (!crash) continue;
    EXPECT_EQ(told[0].kind, exit.kind());
    EXPECT_EQ(told[0].reason, exit.message());
    EXPECT_EQ(told[0].reason_type, exit.type());
    EXPECT_FALSE(told[0].by_signal);
  }
  EXPECT_EQ(told_of([] { bulkhead::request_stop(this_actor::pid()); }).size(), 0u);
}

TEST_P(CrashReports, say_what_is_known_of_an_actor) {
  Pid pids[3];
  const auto before = std::chrono::system_clock::now();
  const auto told = told_of([&] {
    const Pid self = pids[0] = this_actor::pid();
    ASSERT_TRUE(bulkhead::register_name("parent", self));
    const auto peer = bulkhead::spawn<Peer>();
    pids[1] = peer.pid();
    const auto machine = bulkhead::spawn_with<Machine>(pinned_to(0), pids[1]);
    pids[2] = machine.pid();
    ASSERT_TRUE(bulkhead::register_name("machine", pids[2]));
    ASSERT_TRUE(peer.ask(Watch{pids[2]}, support::kDeadline));
    ASSERT_TRUE(machine.ask(Watch{}, support::kDeadline));
    for (int i = 0; i < 3; ++i) machine.send(Break{});
    while (bulkhead::actor_info(pids[1])) this_actor::sleep_for(1ms);
  });
  ASSERT_EQ(told.size(), 2u);
  const bool machine_first = told[0].actor == pids[2];
  const CrashReport& machine = told[machine_first ? 0 : 1];
  const CrashReport& peer = told[machine_first ? 1 : 0];

  EXPECT_EQ(machine.actor, pids[2]);
  EXPECT_NE(machine.type.find("Machine"), std::string::npos);
  EXPECT_EQ(machine.name, "machine");
  EXPECT_EQ(machine.label, "green machine");
  EXPECT_GE(machine.time, before);
  EXPECT_LE(machine.time, std::chrono::system_clock::now());
  ASSERT_EQ(machine.ancestors.size(), 1u);
  EXPECT_EQ(machine.ancestors[0].pid, pids[0]);
  EXPECT_EQ(machine.ancestors[0].name, "parent");
  EXPECT_FALSE(machine.ancestors[0].type.empty());
  EXPECT_EQ(machine.kind, Exit::Kind::kPanic);
  EXPECT_EQ(machine.reason, "down here");
  EXPECT_EQ(machine.reason_type, "std::runtime_error");
  EXPECT_FALSE(machine.by_signal);
  ASSERT_FALSE(machine.stack.empty());
  EXPECT_NE(machine.stack[0].find("breaks_in_the_depths"), std::string::npos) << machine.stack[0];
  EXPECT_EQ(machine.message, "its break");
  EXPECT_LE(machine.mailbox, 2u);  // it may have begun before the last ones came
  EXPECT_EQ(machine.handled, 1u);
  EXPECT_EQ(machine.links, std::vector<Pid>{pids[1]});
  EXPECT_EQ(machine.link_count, 1u);
  EXPECT_EQ(machine.monitoring, 1u);
  EXPECT_EQ(machine.monitored, 1u);
  EXPECT_EQ(machine.restarts, 0u);
  EXPECT_EQ(machine.state, "it was green");
  EXPECT_FALSE(machine.last_events.empty());
  EXPECT_LE(machine.last_events.size(), CrashReport::kMostListed);

  // The end of one that is linked to another ends that, too.
  EXPECT_EQ(peer.actor, pids[1]);
  EXPECT_EQ(peer.reason, "down here");
  EXPECT_TRUE(peer.by_signal);
  EXPECT_EQ(peer.message, "");
  EXPECT_EQ(peer.handled, 1u);
}

TEST_P(CrashReports, count_what_waits) {
  const auto told = told_of([&] {
    const auto machine = bulkhead::spawn_with<Machine>(pinned_to(1), Pid());
    support::Event event;
    const auto holder = bulkhead::spawn_with(pinned_to(1), [&] { event.wait(); });
    for (int i = 0; i < 5; ++i) machine.send(Break{});
    event.set();
    while (bulkhead::actor_info(machine.pid()) || bulkhead::actor_info(holder)) {
      this_actor::sleep_for(1ms);
    }
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Exit::Kind::kNoActor);  // who links to nobody ends by that
}

TEST_P(CrashReports, name_who_spawned_it) {
  std::vector<Pid> line;
  const auto told = told_of([&] {
    const auto descend = [&line](auto& self, int depth) -> void {
      line.insert(line.begin(), this_actor::pid());
      if (depth == 0) throw 1;
      const Pid child = bulkhead::spawn([&self, depth] { self(self, depth - 1); });
      while (bulkhead::actor_info(child)) this_actor::sleep_for(1ms);
    };
    descend(descend, 20);
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].actor, line[0]);
  ASSERT_EQ(told[0].ancestors.size(), CrashReport::kMostListed);
  for (std::size_t i = 0; i < CrashReport::kMostListed; ++i) {
    EXPECT_EQ(told[0].ancestors[i].pid, line[i + 1]);
  }
}

struct Blocked {
  explicit Blocked(bulkhead::Address<support::Door> d) : door(d) {}
  void receive(Break /*message*/) {
    static_cast<void>(door.ask(support::Door::Pass{}, bulkhead::kForever));
  }
  bulkhead::Address<support::Door> door;
};

TEST_P(CrashReports, say_what_a_blocked_one_was_at) {
  for (const bool kill : {false, true}) {
    const auto told = told_of([&] {
      const auto door = bulkhead::spawn<support::Door>();
      const auto blocked = bulkhead::spawn<Blocked>(door);
      blocked.send(Break{});
      while (door.ask(support::Door::Waiting{}, support::kDeadline) != 1u) this_actor::yield();
      blocked.send(Break{});
      if (kill) {
        bulkhead::kill(blocked.pid());
      } else {
        bulkhead::exit(blocked.pid(), Exit::custom("enough"));
      }
      while (bulkhead::actor_info(blocked.pid())) this_actor::sleep_for(1ms);
      bulkhead::stop(door.pid());
    });
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, kill ? Exit::Kind::kKilled : Exit::Kind::kCustom);
    EXPECT_EQ(told[0].reason, kill ? "" : "enough");
    EXPECT_TRUE(told[0].by_signal);
    EXPECT_NE(told[0].message.find("Break"), std::string::npos);
    EXPECT_EQ(told[0].mailbox, 1u);
  }
}

// An end that it brings about itself, by an exit to itself, is its own doing.
TEST_P(CrashReports, say_by_whose_doing) {
  auto told = told_of([] { bulkhead::exit(this_actor::pid(), Exit::custom("mine")); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].by_signal);
  // Whoever fails while another ends it has failed by itself.
  told = told_of([] {
    struct Careless {
      ~Careless() noexcept(false) {}
    };
    const Pid other = bulkhead::spawn([] {
      try {
        this_actor::sleep_for(bulkhead::kForever);
      } catch (...) {
        throw std::runtime_error("in spite");
      }
    });
    this_actor::sleep_for(1ms);
    bulkhead::exit(other, Exit::custom("yours"));
    while (bulkhead::actor_info(other)) this_actor::sleep_for(1ms);
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].by_signal, told[0].reason == "yours");
}

struct BadStart {
  void started() { throw std::runtime_error("no start"); }
};
struct BadTimeout {
  void receive(bulkhead::ReceiveTimeout /*message*/) { throw std::runtime_error("no time"); }
  [[nodiscard]] bulkhead::Timeout receive_timeout() const { return 1ms; }
};

TEST_P(CrashReports, name_what_is_no_message) {
  auto told = told_of([] { bulkhead::spawn<BadStart>(); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].message, "started()");
  told = told_of([] { bulkhead::spawn<BadTimeout>(); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].message, "receive timeout");
}

TEST_P(CrashReports, are_not_made_of_functions_that_are_joined) {
  EXPECT_EQ(told_of([] { EXPECT_FALSE(bulkhead::spawn_joinable([] { throw 1; }).join()); }).size(),
            0u);
  EXPECT_EQ(told_of([] { static_cast<void>(bulkhead::spawn_joinable([] { throw 1; })); }).size(),
            1u);
}

struct Survivor {
  void started() { this_actor::trap_exits(true); }
  void receive(Break /*message*/) {}
  void receive(bulkhead::Exited /*exited*/) { this_actor::stop(); }
};

// What was wrong: of one whose last handle went with its closure there was neither name nor link,
// and of one whose handle was dropped later nothing at all.
TEST_P(CrashReports, of_functions_that_nobody_joins_are_whole) {
  const auto fail = [](Pid peer) {
    EXPECT_TRUE(bulkhead::register_name("lonely one", this_actor::pid()).has_value());
    this_actor::link(peer);
    throw std::runtime_error("broken");
  };
  for (const bool in_its_closure : {true, false}) {
    const auto told = told_of([&] {
      const auto survivor = bulkhead::spawn<Survivor>();
      EXPECT_TRUE(survivor.ask(Break{}).has_value());  // it has started
      const Pid peer = survivor.pid();
      auto handle = std::make_shared<bulkhead::JoinHandle<void>>();
      if (in_its_closure) {
        *handle = bulkhead::spawn_joinable([fail, peer, handle] {
          while (handle.use_count() > 1) this_actor::sleep_for(1ms);
          fail(peer);
        });
      } else {
        *handle = bulkhead::spawn_joinable([fail, peer] { fail(peer); });
        while (bulkhead::actor_info(handle->pid())) this_actor::sleep_for(1ms);
      }
    });
    ASSERT_EQ(told.size(), 1u) << in_its_closure;
    EXPECT_EQ(told[0].reason, "broken");
    EXPECT_EQ(told[0].name, "lonely one");
    EXPECT_EQ(told[0].link_count, 1u);
    EXPECT_FALSE(told[0].stack.empty());
  }
}

TEST_P(CrashReports, of_functions_that_may_be_joined_wait_for_that) {
  bulkhead::JoinHandle<void> joined = runtime.spawn_joinable([] { throw 1; });
  bulkhead::JoinHandle<void> dropped = runtime.spawn_joinable([] { throw 2; });
  bulkhead::JoinHandle<void> late = runtime.spawn_joinable([] { throw 3; });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_FALSE(joined.join());
  EXPECT_EQ(crashes->size(), 0u);
  dropped = {};
  EXPECT_TRUE(crashes->wait_for(1));
  runtime.shutdown();
  late = {};  // nobody is left to be told
  EXPECT_EQ(crashes->size(), 1u);
}

TEST_P(CrashReports, say_what_caused_an_exception) {
  const auto told = told_of([] {
    try {
      throw std::logic_error("no such file");
    } catch (...) {
      std::throw_with_nested(std::runtime_error("cannot load"));
    }
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].reason, "cannot load");
  EXPECT_EQ(told[0].reason_type, "std::runtime_error");
  ASSERT_EQ(told[0].causes.size(), 1u);
  EXPECT_EQ(told[0].causes[0].message, "no such file");
  EXPECT_EQ(told[0].causes[0].type, "std::logic_error");
}

TEST_P(CrashReports, say_where_panic_was_called) {
  const auto told = told_of([] {
    std::exception_ptr caught;
    try {
      bulkhead::panic("out of cheese");
    } catch (...) {
      caught = std::current_exception();
    }
    this_actor::stop(Exit::panic(caught));  // which has left no handler: there is no stack
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].stack.empty());
  EXPECT_NE(told[0].place.find("crash_reports.cpp:"), std::string::npos) << told[0].place;
}

TEST_P(CrashReports, say_who_sent_the_signal) {
  enum class How { kExit, kKill, kLink };
  for (const How how : {How::kExit, How::kKill, How::kLink}) {
    Pid sender;
    const auto told = told_of([&] {
      sender = this_actor::pid();
      EXPECT_TRUE(bulkhead::register_name("the sender", sender).has_value());
      const Pid victim = bulkhead::spawn([] { this_actor::sleep_for(bulkhead::kForever); });
      if (how == How::kLink) {
        this_actor::link(victim);
        this_actor::stop(Exit::custom("out"));
        return;
      }
      static_cast<void>(how == How::kKill ? bulkhead::kill(victim)
                                          : bulkhead::exit(victim, Exit::custom("out")));
      while (bulkhead::actor_info(victim)) this_actor::sleep_for(1ms);
    });
    ASSERT_EQ(told.size(), how == How::kLink ? 2u : 1u);
    const CrashReport& victim = told.back();
    EXPECT_TRUE(victim.by_signal);
    EXPECT_EQ(victim.sent_by.pid, sender);
    EXPECT_EQ(victim.sent_by.name, "the sender");
    EXPECT_EQ(victim.sent_by.type.empty(), how == How::kLink);  // it lives no more
  }
  const Pid victim = runtime.spawn([] { this_actor::sleep_for(bulkhead::kForever); });
  const std::size_t before = crashes->size();
  EXPECT_EQ(bulkhead::kill(victim), bulkhead::Delivery::kQueued);  // by a thread outside
  EXPECT_TRUE(crashes->wait_for(before + 1));
  EXPECT_TRUE(crashes->reports().back().by_signal);
  EXPECT_FALSE(crashes->reports().back().sent_by.pid);
}

TEST_P(CrashReports, refuse_wrong_labels) {
  const auto told = told_of([] {
    this_actor::set_label(std::string(255, 'x'));
    EXPECT_THROW(this_actor::set_label(std::string(256, 'x')), std::invalid_argument);
    EXPECT_EQ(this_actor::label(), std::string(255, 'x'));
    this_actor::set_label("");
    throw 1;
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].label, "");
  EXPECT_THROW(this_actor::set_label("x"), std::logic_error);
  EXPECT_THROW(static_cast<void>(this_actor::label()), std::logic_error);
}

TEST_P(CrashReports, are_described_by_those_who_crash_only) {
  struct Orderly {
    ~Orderly() {
      EXPECT_FALSE(bulkhead::crash_is_reported());
      bulkhead::describe_crash("nothing to see");
    }
    void operator()() const {}
  };
  EXPECT_EQ(told_of(Orderly()).size(), 0u);
  bulkhead::describe_crash("outside");
  EXPECT_FALSE(bulkhead::crash_is_reported());
}

}  // namespace
