// C15: a program that is one tree: its start, its end in order, and its end by force.
#include <gtest/gtest.h>
#include <bulkhead/otp.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/json.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Application;
using bulkhead::child;
using bulkhead::ChildSpec;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::Pid;
using bulkhead::Runtime;
using bulkhead::Shutdown;
using bulkhead::StopSignal;
using bulkhead::StopSignals;
using bulkhead::SupervisorRef;
using bulkhead::SupervisorSpec;
using support::Ended;
using namespace std::chrono_literals;

/// Says on stderr when it ends.
class Part {
 public:
  explicit Part(std::string name) : name_(std::move(name)) {}
  Part(Part&&) = delete;
  ~Part() { std::fprintf(stderr, "-%s\n", name_.c_str()); }
  void receive(int /*message*/) { throw std::runtime_error("it failed"); }

 private:
  std::string name_;
};
/// Does not care for being asked to end.
class StubbornPart {
 public:
  void started() { this_actor::trap_exits(true); }
  void receive(Exited /*exited*/) {}
};

class Applications : public support::OnCores {
 protected:
  static Application with(std::vector<ChildSpec> children) {
    Application application;
    application.name = "test";
    application.config = config();
    application.config.log.format = bulkhead::LogFormat::kText;
    application.patience = 60s;
    application.tree = [children](Runtime&) { return SupervisorSpec{.children = children}; };
    return application;
  }
  /// Runs it in a process of its own, which ends as it says.
  static Ended run(const Application& application) {
    return support::run_in_child([&] { _exit(bulkhead::run_application(application)); });
  }
  static ChildSpec stubborn() {
    ChildSpec spec = child<StubbornPart>("stubborn");
    spec.shutdown = Shutdown::whenever();
    return spec;
  }
  static void signal_later(Runtime& runtime, int signal, std::chrono::milliseconds delay) {
    runtime.spawn([signal, delay] {
      this_actor::sleep_for(delay);
      ::kill(getpid(), signal);
    });
  }
};
ON_ONE_AND_SEVERAL_CORES(Applications);

TEST_P(Applications, end_in_order_when_they_are_told_to) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Application application = with({child<Part>("a", "a"), child<Part>("b", "b")});
    application.started = [signal](Runtime& runtime, SupervisorRef root) {
      EXPECT_EQ(root.count_children()->active, 2u);
      signal_later(runtime, signal, 1ms);
    };
    application.stopping = [](Runtime&) { std::fputs("stopping\n", stderr); };
    const Ended ended = run(application);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_NE(ended.errors.find(signal == SIGTERM ? "test: SIGTERM" : "test: SIGINT"),
              std::string::npos);
    const auto stopping = ended.errors.find("stopping");
    const auto b = ended.errors.find("-b");
    const auto a = ended.errors.find("-a");
    ASSERT_NE(a, std::string::npos) << ended.errors;
    EXPECT_LT(stopping, b);
    EXPECT_LT(b, a);
  }
}

TEST_P(Applications, hear_how_their_tree_ends_however_early) {
  ChildSpec brief = bulkhead::child_thread("brief", [] {});
  brief.restart = bulkhead::Restart::kTransient;
  brief.significant = true;
  for (int i = 0; i < 10; ++i) {
    Application application = with({});
    application.tree = [&](Runtime&) {
      return SupervisorSpec{.auto_shutdown = bulkhead::AutoShutdown::kAnySignificant,
                            .children = {brief}};
    };
    const Ended ended = run(application);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_NE(ended.errors.find("test: has ended: shutdown"), std::string::npos) << ended.errors;
  }
}

TEST_P(Applications, say_why_they_could_not_be_begun) {
  Application application = with({child<Part>("a", "a")});
  application.started = [](Runtime&, SupervisorRef) { throw std::runtime_error("no settings"); };
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.errors.find("test: could not be started: panic: no settings"), std::string::npos);
  EXPECT_NE(ended.errors.find("-a"), std::string::npos);  // and the tree ends in order
  application.tree = [](Runtime&) -> SupervisorSpec { throw std::runtime_error("no tree"); };
  EXPECT_NE(run(application).errors.find("could not be started: panic: no tree"),
            std::string::npos);
}

// What was wrong: the actor that hears of the root's end was told to be still busy, now and then.
TEST_P(Applications, name_nobody_when_they_end_in_order) {
  for (int i = 0; i < 20; ++i) {
    Application application = with(
        {bulkhead::child_thread("sleeper", [] { this_actor::sleep_for(bulkhead::kForever); })});
    application.started = [](Runtime&, SupervisorRef) { ::kill(getpid(), SIGTERM); };
    const Ended ended = run(application);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.errors.find("is still"), std::string::npos) << ended.errors;
  }
}

TEST_P(Applications, name_who_does_not_end_in_time_and_kill_it) {
  Application application = with({child<Part>("a", "a"), stubborn()});
  application.patience = 30ms;
  application.started = [](Runtime& runtime, SupervisorRef) {
    signal_later(runtime, SIGTERM, 1ms);
  };
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("have not ended in time"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("StubbornPart"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("-a"), std::string::npos) << ended.errors;
}

// What was wrong: the first ended the process, by std::terminate.
TEST_P(Applications, end_in_order_also_when_a_hook_throws) {
  Application application = with({child<Part>("a", "a")});
  application.started = [](Runtime&, SupervisorRef) { ::kill(getpid(), SIGTERM); };
  application.stopping = [](Runtime&) { throw std::runtime_error("no network"); };
  Ended ended = run(application);
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("test: Application::stopping has failed, and it ends all the same: "
                              "panic: no network (std::runtime_error)"),
            std::string::npos)
      << ended.errors;
  EXPECT_NE(ended.errors.find("-a"), std::string::npos) << ended.errors;

  application.stopping = [](Runtime&) { throw 1; };
  ended = run(application);
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("-a"), std::string::npos) << ended.errors;

  application.started = [](Runtime&, SupervisorRef) { throw 2; };
  ended = run(application);
  EXPECT_EQ(ended.status, 2) << ended.errors;
  EXPECT_NE(ended.errors.find("test: could not be started: panic: an exception that is not a "),
            std::string::npos)
      << ended.errors;
  EXPECT_NE(ended.errors.find("-a"), std::string::npos) << ended.errors;
}

// What was wrong: what an application says was text among lines of JSON.
TEST_P(Applications, tell_the_log_in_its_format) {
  Application application = with({stubborn()});
  application.config.log.format = bulkhead::LogFormat::kJson;
  application.patience = 30ms;
  application.started = [](Runtime&, SupervisorRef) { ::kill(getpid(), SIGTERM); };
  application.stopping = [](Runtime&) { throw std::runtime_error("no\nnetwork"); };
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 1) << ended.errors;
  std::istringstream lines(ended.errors);
  std::string told;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.starts_with("test: ")) << line;
    if (!line.starts_with("{")) continue;  // whom the runtime waits for
    const support::Json json = support::JsonReader::read(line);
    if (json.text_at("event") == "line") told += json.text_at("text") + "|";
  }
  EXPECT_NE(told.find("test: SIGTERM: it ends, in order"), std::string::npos) << told;
  EXPECT_NE(told.find("all the same: panic: no\nnetwork"), std::string::npos) << told;
  EXPECT_NE(told.find("and are killed:\n  <"), std::string::npos) << told;
}

TEST_P(Applications, tell_nothing_where_the_log_is_off) {
  Application application = with({});
  application.config.log.format = bulkhead::LogFormat::kOff;
  application.started = [](Runtime&, SupervisorRef) { ::kill(getpid(), SIGTERM); };
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

TEST_P(Applications, end_at_once_with_the_second_signal) {
  Application application = with({stubborn()});
  application.started = [](Runtime& runtime, SupervisorRef) {
    signal_later(runtime, SIGTERM, 1ms);
  };
  application.stopping = [](Runtime&) { ::kill(getpid(), SIGINT); };
  const Ended ended = run(application);
  EXPECT_EQ(ended.signal, SIGINT) << ended.errors;
}

TEST_P(Applications, end_when_their_tree_gives_up) {
  Application application = with({child<Part>("a", "a")});
  application.tree = [](Runtime&) {
    return SupervisorSpec{.intensity = 0, .children = {child<Part>("a", "a")}};
  };
  application.started = [](Runtime&, SupervisorRef root) {
    bulkhead::Address<Part>(root.which_children()->front().pid).send(1);
  };
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("test: has ended: shutdown: too many restarts"), std::string::npos)
      << ended.errors;
}

TEST_P(Applications, end_when_their_tree_is_stopped) {
  Application application = with({child<Part>("a", "a")});
  application.started = [](Runtime& runtime, SupervisorRef root) {
    runtime.spawn([root] { root.stop(); });
  };
  EXPECT_EQ(run(application).status, 0);
}

TEST_P(Applications, say_why_they_could_not_be_started) {
  Application application = with({child<Part>("a", "a"), child<Part>("a", "b")});
  const Ended ended = run(application);
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.errors.find("test: could not be started: child a: "), std::string::npos)
      << ended.errors;
  application.tree = nullptr;
  EXPECT_THROW(static_cast<void>(bulkhead::run_application(application)), std::invalid_argument);
}

TEST(StopSignalWaits, end_by_a_signal_a_wake_or_time) {
  const Ended ended = support::run_in_child([] {
    StopSignals signals;
    EXPECT_EQ(signals.wait(1ms), std::nullopt);
    ::kill(getpid(), SIGTERM);
    EXPECT_EQ(signals.wait(60s), StopSignal::kTerm);
    ::kill(getpid(), SIGINT);
    EXPECT_EQ(signals.wait(), StopSignal::kInt);
    signals.wake();  // is kept
    EXPECT_EQ(signals.wait(), std::nullopt);
    std::thread other([&] { signals.wake(); });
    EXPECT_EQ(signals.wait(60s), std::nullopt);
    other.join();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
}

// When it is gone, signals are what they were; and let through, they end the process.
TEST(StopSignalWaits, let_signals_through_in_the_end) {
  const Ended ended = support::run_in_child([] {
    { const StopSignals signals; }
    ::kill(getpid(), SIGTERM);
    _exit(3);
  });
  EXPECT_EQ(ended.signal, SIGTERM);
  const Ended other = support::run_in_child([] {
    StopSignals signals;
    signals.let_through();
    ::kill(getpid(), SIGINT);
    _exit(3);
  });
  EXPECT_EQ(other.signal, SIGINT);
}

}  // namespace
