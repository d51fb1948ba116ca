// D2, C2: a fault in an actor is told with the actor's name, and then takes its course.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::SpawnOptions;
using support::Ended;
using namespace std::chrono_literals;

// Each call has a frame of more than so many bytes.
template <std::size_t kFrame>
[[gnu::noinline]] int dive(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[kFrame];           // NOLINT(modernize-avoid-c-arrays)
  frame[static_cast<std::size_t>(depth) % kFrame] = 1;
  if (depth == 0) return 0;
  return dive<kFrame>(depth - 1) + frame[0];
}

constexpr int kEndless = 1'000'000'000;

[[gnu::noinline]] void touch(std::uintptr_t address) {
  asm volatile("" : "+r"(address));
  *reinterpret_cast<volatile int*>(address) = 1;  // NOLINT(performance-no-int-to-ptr)
}

struct Fall {
  int depth = kEndless;
};

class Diver {
 public:
  void receive(Fall fall) { static_cast<void>(dive<64>(fall.depth)); }
};

class Faults : public support::OnCores {
 protected:
  // A child with a runtime, in which the body is an actor on the last core.
  template <class Body>
  Ended in_an_actor(Body body, SpawnOptions options = {}, bulkhead::Config settings = config()) {
    options.core = *settings.cores - 1;
    return support::run_in_child([&] {
      bulkhead::Runtime runtime(settings);
      runtime.start();
      runtime.spawn_with(options, body);
      runtime.wait_for_idle(30s);
    });
  }

  // A sanitizer's own handler comes after ours, and exits.
  static bool died_of(const Ended& child, int signal) {
    return child.signal == signal || (support::kMemoryFactor > 1 && child.status > 0);
  }
};
ON_ONE_AND_SEVERAL_CORES(Faults);

TEST_P(Faults, a_stack_overflow_names_the_actor_and_the_size_of_its_stack) {
  const Ended child =
      in_an_actor([] { static_cast<void>(dive<64>(kEndless)); }, {.stack_size = 512 * 1024});
  EXPECT_TRUE(died_of(child, SIGSEGV)) << child.status << " " << child.signal;
  EXPECT_NE(child.errors.find("bulkhead: stack overflow in actor <0.1> ("), std::string::npos)
      << child.errors;
  EXPECT_NE(child.errors.find("), its stack has 524288 bytes: ask for more with "
                              "SpawnOptions::stack_size or Config::stack_size\n"),
            std::string::npos)
      << child.errors;
}

TEST_P(Faults, an_overflow_by_large_frames_is_recognised) {
  const Ended child = in_an_actor([] { static_cast<void>(dive<200'000>(kEndless)); });
  EXPECT_TRUE(died_of(child, SIGSEGV));
  EXPECT_NE(child.errors.find("stack overflow in actor <0.1>"), std::string::npos) << child.errors;
}

TEST_P(Faults, an_overflow_after_having_been_blocked_is_recognised) {
  const Ended child = in_an_actor([] {
    this_actor::sleep_for(1ms);
    bulkhead::spawn([] { this_actor::sleep_for(1ms); });
    this_actor::sleep_for(5ms);
    static_cast<void>(dive<64>(kEndless));
  });
  EXPECT_TRUE(died_of(child, SIGSEGV));
  EXPECT_NE(child.errors.find("stack overflow in actor <0.1>"), std::string::npos) << child.errors;
}

TEST_P(Faults, an_overflow_in_a_handler_names_the_class) {
  const Ended child = support::run_in_child([] {
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn<Diver>().send(Fall{});
    runtime.wait_for_idle(30s);
  });
  EXPECT_TRUE(died_of(child, SIGSEGV));
  EXPECT_NE(child.errors.find("Diver), its stack has "), std::string::npos) << child.errors;
}

TEST_P(Faults, an_actor_with_its_own_thread_is_named_too) {
  const Ended child = support::run_in_child([] {
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn_with({.own_thread = true}, [] { static_cast<void>(dive<64>(kEndless)); });
    runtime.wait_for_idle(30s);
  });
  EXPECT_TRUE(died_of(child, SIGSEGV));
  EXPECT_NE(child.errors.find("stack overflow in actor <0.1>"), std::string::npos) << child.errors;
}

TEST_P(Faults, an_actor_whose_core_has_gone_on_without_it_is_named_too) {
  bulkhead::Config settings = config();
  settings.hand_over_after = 1ms;
  const auto after_being_left = [&](void (*fault)()) {
    return support::run_in_child([&] {
      bulkhead::Runtime runtime(settings);
      runtime.start();
      std::atomic<bool> left{false};
      runtime.spawn([&] {
        while (!left) continue;
        fault();
      });
      left = support::eventually([&] { return runtime.stats().away == 1; });
      runtime.wait_for_idle(30s);
    });
  };
  const Ended access = after_being_left([] { touch(64); });
  EXPECT_TRUE(died_of(access, SIGSEGV)) << access.status << " " << access.signal;
  EXPECT_NE(access.errors.find("bulkhead: SIGSEGV in actor <0.1> ("), std::string::npos)
      << access.errors;
  const Ended overflow = after_being_left([] { static_cast<void>(dive<64>(kEndless)); });
  EXPECT_TRUE(died_of(overflow, SIGSEGV)) << overflow.status << " " << overflow.signal;
  EXPECT_NE(overflow.errors.find("bulkhead: stack overflow in actor <0.1> ("), std::string::npos)
      << overflow.errors;
}

// The watch looks at it all the time meanwhile, and takes its core as soon as it may.
TEST_P(Faults, an_actor_is_named_while_its_core_is_being_taken) {
  bulkhead::Config settings = config();
  settings.hand_over_after = 1ms;
  for (int i = 0; i < 20; ++i) {
    const Ended child = support::run_in_child([&] {
      bulkhead::Runtime runtime(settings);
      runtime.start();
      const auto next = runtime.spawn<Diver>();
      runtime.spawn([&] {
        const auto until = std::chrono::steady_clock::now() + 1ms + i * 50us;
        next.send(Fall{0});
        while (std::chrono::steady_clock::now() < until) continue;
        touch(64);
      });
      runtime.wait_for_idle(30s);
    });
    EXPECT_TRUE(died_of(child, SIGSEGV)) << child.status << " " << child.signal;
    EXPECT_NE(child.errors.find("bulkhead: SIGSEGV in actor <1.1> ("), std::string::npos)
        << child.errors;
  }
}

TEST_P(Faults, deep_calls_that_fit_are_no_overflow) {
  const Ended child =
      in_an_actor([] { static_cast<void>(dive<64>(2'000)); }, {.stack_size = 4 * 1024 * 1024});
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, "");
}

TEST_P(Faults, other_faults_name_the_actor_and_what_happened) {
  const Ended access = in_an_actor([] { touch(64); });
  EXPECT_TRUE(died_of(access, SIGSEGV));
  EXPECT_NE(access.errors.find("bulkhead: SIGSEGV in actor <0.1> ("), std::string::npos)
      << access.errors;
  EXPECT_NE(access.errors.find("), at address 0x40\n"), std::string::npos) << access.errors;
  EXPECT_EQ(access.errors.find("overflow in actor"), std::string::npos) << access.errors;

  const Ended aborted = in_an_actor([] { std::abort(); });
  EXPECT_TRUE(died_of(aborted, SIGABRT)) << aborted.status << " " << aborted.signal;
  EXPECT_NE(aborted.errors.find("bulkhead: SIGABRT in actor <0.1> ("), std::string::npos)
      << aborted.errors;

  const Ended sent = in_an_actor([] { std::raise(SIGBUS); });
  EXPECT_TRUE(died_of(sent, SIGBUS)) << sent.status << " " << sent.signal;
  EXPECT_NE(sent.errors.find("bulkhead: SIGBUS in actor <0.1> ("), std::string::npos)
      << sent.errors;
  EXPECT_NE(sent.errors.find("sent by somebody"), std::string::npos) << sent.errors;
}

TEST_P(Faults, a_fault_of_a_thread_outside_is_not_our_business) {
  const Ended child = support::run_in_child([] {
    bulkhead::Runtime runtime(config());
    runtime.start();
    touch(64);
  });
  EXPECT_TRUE(died_of(child, SIGSEGV));
  EXPECT_EQ(child.errors.find(" in actor <"), std::string::npos) << child.errors;
}

TEST_P(Faults, a_handler_that_was_there_before_has_its_turn_afterwards) {
  const Ended child = support::run_in_child([] {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      _exit(info->si_addr == reinterpret_cast<void*>(64) ? 5 : 6);  // NOLINT
    };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn([] { touch(64); });
    runtime.wait_for_idle(30s);
  });
  EXPECT_EQ(child.status, 5);
  EXPECT_NE(child.errors.find("bulkhead: SIGSEGV in actor <0.1> ("), std::string::npos)
      << child.errors;
}

TEST_P(Faults, a_signal_that_was_ignored_before_stays_ignored_when_it_is_sent) {
  const Ended child = support::run_in_child([] {
    std::signal(SIGFPE, SIG_IGN);
    bulkhead::Runtime runtime(config());
    runtime.start();
    runtime.spawn([] { std::raise(SIGFPE); });
    if (!runtime.wait_for_idle(30s)) _exit(3);
  });
  EXPECT_EQ(child.status, 0) << child.signal;
}

TEST_P(Faults, reports_can_be_switched_off) {
  bulkhead::Config settings = config();
  settings.report_faults = false;
  const Ended by_config = in_an_actor([] { touch(64); }, {}, settings);
  EXPECT_TRUE(died_of(by_config, SIGSEGV));
  EXPECT_EQ(by_config.errors.find(" in actor <"), std::string::npos) << by_config.errors;

  const Ended by_environment = in_an_actor([] { touch(64); });
  EXPECT_NE(by_environment.errors.find(" in actor <"), std::string::npos) << "it is on by default";
  setenv("BULKHEAD_FAULT_REPORTS", "0", 1);
  const Ended off = in_an_actor([] { touch(64); });
  unsetenv("BULKHEAD_FAULT_REPORTS");
  EXPECT_TRUE(died_of(off, SIGSEGV));
  EXPECT_EQ(off.errors.find(" in actor <"), std::string::npos) << off.errors;
}

TEST(FaultReports, are_refused_when_malformed) {
  for (const char* const text : {"no", "2", "-1", " 0"}) {
    setenv("BULKHEAD_FAULT_REPORTS", text, 1);
    EXPECT_THROW(bulkhead::Runtime(), bulkhead::ConfigError) << text;
  }
  unsetenv("BULKHEAD_FAULT_REPORTS");
}

}  // namespace
