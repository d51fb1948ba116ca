// C16: traces from the start of a runtime on, and flight recorders.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/traced.hpp"

namespace {

using bulkhead::Pid;
using bulkhead::TraceError;
using bulkhead::TraceOptions;
using support::Traced;
using Story = std::vector<std::string>;

struct Add {
  int what;
};
struct Get {};

class Counter {
 public:
  void receive(Add add) { count_ += add.what; }
  int receive(Get /*message*/) { return count_; }

 private:
  int count_ = 0;
};

class FlightRecorder : public support::TracedRuntime {};
ON_ONE_AND_SEVERAL_CORES(FlightRecorder);

class TraceFiles : public support::OnCores {
 protected:
  [[nodiscard]] static std::string file(const std::string& name) {
    return testing::TempDir() + "bulkhead-trace-" + std::to_string(getpid()) + "-" +
           std::to_string(cores()) + name;
  }
};
ON_ONE_AND_SEVERAL_CORES(TraceFiles);

// C16
TEST_P(TraceFiles, a_trace_from_the_start_to_the_end_of_a_runtime) {
  bulkhead::Config config = OnCores::config();
  config.trace = bulkhead::TraceSettings{.path = file("")};
  bulkhead::Runtime runtime(config);
  const std::size_t threads = support::threads();
  const std::size_t descriptors = support::open_descriptors();
  runtime.start();
  EXPECT_TRUE(runtime.tracing());
  const auto counter = runtime.spawn<Counter>();
  runtime.shutdown();
  EXPECT_EQ(support::threads(), threads);
  EXPECT_EQ(support::open_descriptors(), descriptors);
  const Traced traced = Traced::file(file(""));
  traced.expect_balanced();
  EXPECT_EQ(traced.count("spawn"), 1u);
  ASSERT_EQ(traced.count("exit"), 1u);  // by the shutdown
  const Story story = traced.story_of(counter.pid());
  ASSERT_GE(story.size(), 3u);  // it may have begun with a turn, as what comes to a core does
  EXPECT_EQ(Story(story.end() - 3, story.end()), (Story{"run", "exit: shutdown", "end: exits"}));
  std::filesystem::remove(file(""));
}

// C16
TEST_P(TraceFiles, the_environment_names_a_file_and_each_further_start_has_another) {
  const std::string path = file("-env");
  const support::Ended ended = support::run_in_child([path] {
    setenv("BULKHEAD_TRACE", path.c_str(), 1);
    for (int i = 0; i < 2; ++i) {
      bulkhead::Runtime runtime(OnCores::config());
      runtime.start();
      runtime.spawn([] {});
      runtime.shutdown();
    }
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  for (const std::string& name : {path, path + ".2"}) {
    EXPECT_EQ(Traced::file(name).count("exit"), 1u) << name;
    std::filesystem::remove(name);
  }
}

// C16
TEST_P(TraceFiles, a_runtime_whose_trace_cannot_be_written_runs_without) {
  bulkhead::Config config = OnCores::config();
  config.trace = bulkhead::TraceSettings{.path = "/nowhere/at/all.json"};
  const std::string errors = support::stderr_of([&] {
    bulkhead::Runtime runtime(config);
    runtime.start();
    EXPECT_FALSE(runtime.tracing());
    auto body = runtime.spawn_joinable([] { return 7; });
    EXPECT_EQ(body.join().value_or(0), 7);
  });
  EXPECT_EQ(errors,
            "bulkhead: the trace's file /nowhere/at/all.json cannot be opened: No such file or "
            "directory (ENOENT); the runtime runs without\n");
  config.trace = bulkhead::TraceSettings{};
  EXPECT_THROW(bulkhead::Runtime{config}, bulkhead::ConfigError);
  config.trace = bulkhead::TraceSettings{.path = "x", .flight_recorder = true};
  EXPECT_THROW(bulkhead::Runtime{config}, bulkhead::ConfigError);
}

// --- the flight recorder -------------------------------------------------------------------------

bool contains(const Story& lines, const std::string& what) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.contains(what); });
}

// C16
TEST_P(FlightRecorder, a_flight_recorder_keeps_the_last_events_of_each_core) {
  EXPECT_TRUE(runtime.last_events().empty());
  TraceOptions options;
  options.events_per_core = 256;
  ASSERT_TRUE(runtime.start_flight_recorder(options));
  EXPECT_FALSE(runtime.tracing());
  EXPECT_EQ(runtime.stop_trace().error().kind, TraceError::Kind::kNotOn);
  const auto counter = runtime.spawn<Counter>();
  const Pid early = runtime.spawn_with(pinned_to(0), [] {});
  wait_for_idle();
  EXPECT_EQ(runtime.last_events({.actor = early, .most = 100}).size(), 4u);  // spawned, run, exit
  const auto floods = [counter](int messages) {
    return [counter, messages] {
      for (int i = 0; i < messages; ++i) static_cast<void>(counter.send(Add{1}));
    };
  };
  runtime.spawn_with(pinned_to(0), floods(1000));
  wait_for_idle();
  const Pid sender = runtime.spawn_with(pinned_to(0), floods(3));
  wait_for_idle();
  const Story of_sender = runtime.last_events({.actor = sender, .most = 3});
  ASSERT_EQ(of_sender.size(), 3u);
  EXPECT_TRUE(of_sender[0].ends_with(": " + to_string(sender) + " sends " +
                                     std::string(bulkhead::type_name<Add>()) + " to " +
                                     to_string(counter.pid())))
      << of_sender[0];
  EXPECT_TRUE(of_sender[1].ends_with(to_string(sender) + " exits: normal")) << of_sender[1];
  EXPECT_TRUE(of_sender[2].ends_with(to_string(sender) + " ends its turn: exits")) << of_sender[2];
  EXPECT_TRUE(of_sender[2].starts_with("-") && of_sender[2].contains(" s, core 0: "));
  // What core 0 did before has been overwritten; that it was spawned, by this thread, has not.
  EXPECT_EQ(runtime.last_events({.actor = early, .most = 100}).size(), 1u);
  EXPECT_EQ(runtime.last_events().size(), 32u);
  auto in_actor = runtime.spawn_joinable(
      [] { return bulkhead::last_events({.actor = bulkhead::this_actor::pid()}); });
  const Pid self = in_actor.pid();
  const Story of_itself = in_actor.join().value_or(Story());
  ASSERT_EQ(of_itself.size(), 2u);
  EXPECT_TRUE(of_itself[1].ends_with(to_string(self) + " begins a turn")) << of_itself[1];
  EXPECT_TRUE(bulkhead::last_events().empty());  // here is no actor
  runtime.shutdown();
  EXPECT_TRUE(contains(runtime.last_events(), "exits: shutdown"));
}

// C16
TEST_P(FlightRecorder, a_flight_recorder_goes_on_after_a_trace) {
  ASSERT_TRUE(runtime.start_flight_recorder());
  start();
  const Pid traced_actor = runtime.spawn([] {});
  wait_for_idle();
  EXPECT_EQ(runtime.last_events({.actor = traced_actor}).size(), 4u);  // of the trace
  EXPECT_EQ(stop().count("exit"), 1u);
  const Pid recorded = runtime.spawn([] {});
  wait_for_idle();
  EXPECT_EQ(runtime.last_events({.actor = recorded}).size(), 4u);
  EXPECT_TRUE(runtime.last_events({.actor = traced_actor}).empty());
  runtime.stop_flight_recorder();
  EXPECT_TRUE(runtime.last_events().empty());
  runtime.stop_flight_recorder();  // without effect
}

// C16
TEST_P(TraceFiles, a_flight_recorder_from_the_start_is_there_for_the_hook_that_tells_of_a_failure) {
  bulkhead::Config config = OnCores::config();
  config.trace = bulkhead::TraceSettings{.flight_recorder = true};
  Story of_failed;
  config.on_death = [&](const bulkhead::Death& death) {
    of_failed = bulkhead::last_events({.actor = death.actor});
  };
  bulkhead::Runtime runtime(config);
  runtime.start();
  const Pid failed = runtime.spawn([] { throw std::runtime_error("on purpose"); });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  ASSERT_EQ(of_failed.size(), 4u);
  EXPECT_TRUE(of_failed[0].contains("spawns ")) << of_failed[0];
  EXPECT_TRUE(of_failed[2].ends_with(to_string(failed) + " exits: panic")) << of_failed[2];
}

}  // namespace
