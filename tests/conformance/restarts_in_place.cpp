// B9, B17: isolated actors that are made anew in place.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/crashes.hpp"
#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;
using support::kDeadline;

// What one does that is told to.
enum class Do : int { kNothing, kPanic, kTrap, kAbort, kOverflow, kEatMemory, kStop };

[[gnu::noinline]] int overflow(int depth) {
  volatile char room[512] = {};
  if (depth < 0) return 0;
  room[static_cast<std::size_t>(depth) % 512] = 1;
  return overflow(depth + 1) + room[0];
}

void perform(Do what) {
  switch (what) {
    case Do::kNothing:
      return;
    case Do::kPanic:
      throw std::runtime_error("told to");
    case Do::kTrap: {
      volatile std::uintptr_t nowhere = 8;  // which the compiler must not see
      *reinterpret_cast<volatile int*>(nowhere) = 1;
      return;
    }
    case Do::kAbort:
      std::abort();
    case Do::kOverflow:
      static_cast<void>(overflow(0));
      return;
    case Do::kEatMemory: {
      if (!has_heaps()) std::abort();  // there is no limit, but for the machine's memory
      std::vector<std::string> all;
      for (;;) all.emplace_back(10000, 'x');
    }
    case Do::kStop:
      this_actor::stop();
      return;
  }
}

struct Seen {
  std::atomic<int> made{0};
  std::atomic<int> started{0};
  std::atomic<int> downs{0};
};
// The tests' own: no actor's memory.
Seen seen;

struct Get {
  using Answer = int;
};

class Service {
 public:
  explicit Service(std::string greeting, Do at_birth = Do::kNothing)
      : greeting_(std::move(greeting)) {
    if (++seen.made > 1) perform(at_birth);
  }
  void started() { ++seen.started; }
  int receive(Get /*question*/) { return ++count_; }
  void receive(Do what) {
    garbage_.assign(5000, 'g');
    perform(what);
  }
  std::string receive(std::string name) { return greeting_ + ", " + name; }

 private:
  std::string greeting_;
  std::vector<char> garbage_;
  int count_ = 0;
};

// Asks again when the first question was behind a fault in the mailbox.
int ask_for_count(const Address<Service>& service) {
  auto count = service.ask(Get(), kDeadline);
  if (!count && count.error() == AskError::kDied) count = service.ask(Get(), kDeadline);
  return count.value_or(-1);
}

class RestartsInPlace : public support::Running {
 protected:
  RestartsInPlace() { seen.made = seen.started = seen.downs = 0; }
  static SpawnOptions restarted(std::size_t limit, Timeout window = 1h) {
    SpawnOptions options = on_core(1);
    options.isolated = Isolation{.heap_limit = 1 << 20};
    options.restart = RestartInPlace{limit, window};
    return options;
  }
};
ON_ONE_AND_SEVERAL_CORES(RestartsInPlace);

constexpr Do kFaults[] = {Do::kPanic, Do::kTrap, Do::kAbort, Do::kOverflow, Do::kEatMemory};

TEST_P(RestartsInPlace, keep_address_and_arguments_and_forget_the_rest) {
  const auto service = runtime.spawn_with<Service>(restarted(10), std::string(100, 'h'));
  ASSERT_TRUE(runtime.register_name("the service", service).has_value());
  EXPECT_EQ(ask_for_count(service), 1);
  EXPECT_EQ(ask_for_count(service), 2);
  int made = 1;
  for (const Do fault : kFaults) {
    service.send(fault);
    EXPECT_EQ(ask_for_count(service), 1) << static_cast<int>(fault);
    EXPECT_EQ(service.ask(std::string("you"), kDeadline), std::string(100, 'h') + ", you");
    EXPECT_EQ(seen.made, ++made);
    EXPECT_EQ(seen.started, made);
    EXPECT_EQ(runtime.whereis("the service"), service.pid());
  }
  wait_for_idle();
  const Stats stats = runtime.stats();
  EXPECT_EQ(stats.actors_restarted, 5);
  EXPECT_EQ(stats.actors_failed, 1);
  EXPECT_EQ(stats.actors_trapped, 4);
  EXPECT_EQ(stats.actors_ended, 0);
  stop(service);
  wait_for_idle();
  EXPECT_EQ(heaps_live(), 0);
  EXPECT_EQ(heap_bytes_used(), 0);
}

// Whoever monitors it.
class Watcher {
 public:
  explicit Watcher(Pid of) : of_(of) {}
  void started() {
    if (of_) this_actor::monitor(of_);
  }
  void receive(const Down& down) {
    exit_ = to_string(down.exit.kind());
    ++seen.downs;
  }
  std::string receive(Get /*question*/) { return exit_; }

 private:
  Pid of_;
  std::string exit_;
};

TEST_P(RestartsInPlace, are_told_of_when_they_are_used_up) {
  const auto service = runtime.spawn_with<Service>(restarted(2), "hello");
  const auto watcher = runtime.spawn<Watcher>(service.pid());
  wait_for_idle();
  for (int i = 0; i < 2; ++i) {
    service.send(Do::kTrap);
    wait_for_idle();
    EXPECT_EQ(seen.downs, 0);
  }
  service.send(Do::kTrap);
  wait_for_idle();
  EXPECT_EQ(seen.downs, 1);
  EXPECT_EQ(watcher.ask(Get(), kDeadline), "trapped");
  EXPECT_EQ(service.send(Do::kNothing), Delivery::kGone);
  EXPECT_EQ(seen.made, 3);
}

// C17.
TEST_P(RestartsInPlace, are_said_in_the_reports_of_its_crashes) {
  const auto crashes = std::make_shared<support::Crashes>();
  Config config = support::OnCores::config();
  config.log = support::told_to(crashes);
  Runtime told(config);
  told.start();
  const auto service = told.spawn_with<Service>(restarted(2), "hello");
  const auto without = told.spawn_with<Service>(support::OnCores::on_core(0), "hello");
  for (const Do fault : {Do::kTrap, Do::kPanic, Do::kTrap}) {
    service.send(fault);
    ASSERT_TRUE(told.wait_for_idle(kDeadline));
  }
  without.send(Do::kPanic);
  ASSERT_TRUE(crashes->wait_for(4));
  told.shutdown();
  using Afterwards = CrashReport::Afterwards;
  constexpr Afterwards kExpected[] = {Afterwards::kRestartedInPlace, Afterwards::kRestartedInPlace,
                                      Afterwards::kGaveUp, Afterwards::kEnded};
  const std::vector<CrashReport> reports = crashes->reports();
  ASSERT_EQ(reports.size(), std::size(kExpected));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].afterwards, kExpected[i]) << i;
    EXPECT_EQ(reports[i].restarts, i < 3 ? i : 0);
  }
  EXPECT_NE(to_string(reports[0]).find("\n  afterwards restarted in place"), std::string::npos);
  EXPECT_NE(to_string(reports[2]).find("\n  afterwards ended: it was restarted in place as often"),
            std::string::npos);
  EXPECT_EQ(to_string(reports[3]).find("afterwards"), std::string::npos);
  EXPECT_NE(to_json(reports[0]).find(R"("afterwards":"restarted in place")"), std::string::npos);
  EXPECT_NE(to_json(reports[3]).find(R"("afterwards":"ended")"), std::string::npos);
}

TEST_P(RestartsInPlace, are_counted_anew_in_the_next_window) {
  const auto service = runtime.spawn_with<Service>(restarted(1, 1ms), "hello");
  for (int i = 0; i < 5; ++i) {
    service.send(Do::kPanic);
    EXPECT_EQ(ask_for_count(service), 1);
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(runtime.stats().actors_restarted, 5);
}

TEST_P(RestartsInPlace, are_not_for_those_who_stop) {
  const auto service = runtime.spawn_with<Service>(restarted(5), "hello");
  service.send(Do::kStop);
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_ended, 1);
  for (int i = 0; i < 3; ++i) {
    const auto other = runtime.spawn_with<Service>(restarted(5), "hello");
    if (i == 0) stop(other);
    if (i == 1) kill(other);
    if (i == 2) request_stop(other);
    wait_for_idle();
    EXPECT_EQ(other.send(Do::kNothing), Delivery::kGone);
  }
  EXPECT_EQ(runtime.stats().actors_restarted, 0);
}

TEST_P(RestartsInPlace, do_not_repeat_what_fails_at_birth) {
  for (const Do fault : kFaults) {
    seen.made = 0;
    const auto service = runtime.spawn_with<Service>(restarted(100), "hello", fault);
    service.send(Do::kTrap);  // what is made in its place fails
    wait_for_idle();
    EXPECT_EQ(seen.made, 2);
    EXPECT_EQ(service.send(Do::kNothing), Delivery::kGone);
  }
  EXPECT_EQ(runtime.stats().actors_restarted, 5);
  EXPECT_EQ(runtime.stats().actors_ended, 5);
  EXPECT_EQ(heaps_live(), 0);
}

// The one that is asked what it fails at, one that it has taken on, and one that waits behind.
TEST_P(RestartsInPlace, tell_those_who_asked_what_has_happened) {
  struct Failing {
    void receive(Get /*question*/, Reply<int> reply) {
      owed.push_back(std::move(reply));
      ++seen.made;
    }
    int receive(Do what) {
      ++seen.downs;
      this_actor::sleep_for(20ms);  // so that others wait
      perform(what);
      return 0;
    }
    std::vector<Reply<int>> owed;
  };
  const auto failing = runtime.spawn_with<Failing>(restarted(5));
  for (const auto& [fault, end] :
       {std::pair(Do::kTrap, "trapped: access"), std::pair(Do::kPanic, "panic: told to")}) {
    std::atomic<int> told{0};
    const auto ask = [&, end = std::string(end)](auto question) {
      runtime.spawn_with(on_core(1), [&told, failing, question, end] {
        Exit exit;
        const auto answer = failing.ask(question, kDeadline, &exit);
        EXPECT_TRUE(!answer && answer.error() == AskError::kDied)
            << (answer ? "answered" : to_string(answer.error()));
        EXPECT_EQ(to_string(exit).substr(0, end.size()), end);
        ++told;
      });
    };
    seen.made = seen.downs = 0;
    ask(Get());
    EXPECT_TRUE(support::eventually([] { return seen.made == 1; }));
    ask(fault);
    EXPECT_TRUE(support::eventually([] { return seen.downs == 1; }));
    ask(Get());
    EXPECT_TRUE(support::eventually([&] { return told == 3; })) << end;
  }
}

// Asks behind the fault in its mailbox, and one that it has taken on.
TEST_P(RestartsInPlace, fail_the_asks_of_others) {
  struct Debtor {
    void receive(Get /*question*/, Reply<int> reply) { owed.push_back(std::move(reply)); }
    void receive(Do what) { perform(what); }
    std::vector<Reply<int>> owed;
  };
  const auto debtor = runtime.spawn_with<Debtor>(restarted(5));
  std::atomic<int> failed{0};
  std::atomic<int> asked{0};
  for (int i = 0; i < 4; ++i) {
    runtime.spawn_with(on_core(1), [&, debtor] {
      ++asked;
      const auto answer = debtor.ask(Get(), kDeadline);
      if (!answer && answer.error() == AskError::kDied) ++failed;
    });
  }
  ASSERT_TRUE(support::eventually([&] { return asked == 4; }));
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().sent >= 9; }));
  debtor.send(Do::kTrap);
  wait_for_idle();
  EXPECT_EQ(failed, 4);
}

TEST_P(RestartsInPlace, end_timers_and_monitors_of_their_own) {
  class Clockwork {
   public:
    explicit Clockwork(Pid watched) : watched_(watched) {}
    void started() {
      if (++seen.started > 1) return;
      send_after<int>(20ms, this_actor::address(this), 1);
      this_actor::monitor(watched_);
    }
    void receive(int /*tick*/) { ++seen.downs; }
    void receive(const Down& /*down*/) { ++seen.downs; }
    void receive(Do what) { perform(what); }

   private:
    Pid watched_;
  };
  const Pid watched = runtime.spawn<Watcher>(Pid()).pid();
  const auto clockwork = runtime.spawn_with<Clockwork>(restarted(5), watched);
  clockwork.send(Do::kTrap);
  wait_for_idle();
  stop(watched);
  std::this_thread::sleep_for(30ms);
  wait_for_idle();
  EXPECT_EQ(seen.started, 2);
  EXPECT_EQ(seen.downs, 0);
  EXPECT_EQ(runtime.stats().actors(), 1);
}

// The spawner that is linked to it hears nothing either.
TEST_P(RestartsInPlace, spare_those_who_have_linked_to_them) {
  std::atomic<bool> went_on{false};
  const Pid spawner = runtime.spawn([&went_on] {
    SpawnOptions options = restarted(1);
    options.linked = true;
    const auto service = spawn_with<Service>(options, "hello");
    service.send(Do::kTrap);
    if (ask_for_count(service) == 1) went_on = true;
    service.send(Do::kTrap);
    this_actor::sleep_for(kForever);
  });
  wait_for_idle();
  EXPECT_TRUE(went_on);
  EXPECT_EQ(runtime.stats().actors(), 0) << to_string(spawner);
}

TEST_P(RestartsInPlace, also_of_functions) {
  seen.made = 0;
  const Pid pid = runtime.spawn_with(restarted(3), [] {
    if (++seen.made < 3) perform(Do::kTrap);
  });
  wait_for_idle();
  EXPECT_EQ(seen.made, 3);
  EXPECT_EQ(runtime.stats().actors_ended, 1) << to_string(pid);
}

TEST_P(RestartsInPlace, leave_nothing_behind) {
  const auto service = runtime.spawn_with<Service>(restarted(1'000'000), "hello");
  EXPECT_EQ(ask_for_count(service), 1);
  std::size_t committed = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) {
      service.send(kFaults[static_cast<std::size_t>(i % 3)]);
      EXPECT_EQ(ask_for_count(service), 1);
    }
    if (round == 10) committed = heap_bytes_committed();
  }
  EXPECT_LE(heap_bytes_committed(), committed + 65536);
  EXPECT_EQ(runtime.stats().actors_restarted, 1000);
}

TEST_P(RestartsInPlace, refuse_what_makes_no_sense) {
  const auto refused = [&](SpawnOptions options) {
    try {
      runtime.spawn_with<Service>(options, "hello");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SpawnOptions options = restarted(0);
  EXPECT_EQ(refused(options), "bulkhead: RestartInPlace::limit is 0; it must be 1 to 1,000,000");
  options = restarted(1'000'001);
  EXPECT_EQ(refused(options),
            "bulkhead: RestartInPlace::limit is 1000001; it must be 1 to 1,000,000");
  EXPECT_EQ(refused(restarted(1, 0s)), "bulkhead: RestartInPlace::window is 0; it must be longer");
  options = restarted(1);
  options.isolated.reset();
  EXPECT_NE(refused(options).find("only an isolated actor is made anew in place"),
            std::string::npos);
  struct Keeper {
    explicit Keeper(Parcel<int> parcel) : kept(std::move(parcel)) {}
    void receive(int /*message*/) {}
    Parcel<int> kept;
  };
  try {
    runtime.spawn_with<Keeper>(restarted(1), Parcel<int>());
    FAIL() << "it was accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(", which is handed over"), std::string::npos);
  }
  EXPECT_EQ(heaps_live(), 0);
}

}  // namespace
