// C16: the trace of a runtime: what is in it, and that it does no harm.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/traced.hpp"

namespace {

using namespace std::chrono_literals;
using bulkhead::Pid;
using bulkhead::TraceError;
using bulkhead::TraceOptions;
using support::Traced;
using support::TraceText;
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

// Sends back what it is sent.
class Player {
 public:
  explicit Player(const std::atomic<bool>* over) : over_(over) {}
  void receive(bulkhead::Address<Player> from) {
    if (*over_) return;
    static_cast<void>(from.send(bulkhead::this_actor::address(this)));
  }

 private:
  const std::atomic<bool>* over_;
};

class TraceOf : public support::TracedRuntime {};
ON_ONE_AND_SEVERAL_CORES(TraceOf);

// C16
TEST_P(TraceOf, all_that_a_known_program_does_is_there_in_order) {
  start();
  const auto counter = runtime.spawn<Counter>();
  const Pid client = runtime.spawn([counter] {
    for (int i = 0; i < 3; ++i) static_cast<void>(counter.send(Add{i}));
    EXPECT_EQ(counter.ask(Get{}).value_or(-1), 3);
    bulkhead::this_actor::sleep_for(1ms);
    bulkhead::this_actor::yield();
    bulkhead::spawn([] {});
  });
  wait_for_idle();
  const Traced traced = stop();
  traced.expect_balanced();
  const std::string child = traced.lines().empty() ? "" : [&] {
    for (const auto& line : traced.lines()) {
      if (line.category == "spawn" && line.detail("by") == to_string(client)) return line.name;
    }
    return std::string("none");
  }();
  const Story expected{"run",
                       "send " + std::string(bulkhead::type_name<Add>()),
                       "send " + std::string(bulkhead::type_name<Add>()),
                       "send " + std::string(bulkhead::type_name<Add>()),
                       "send " + std::string(bulkhead::type_name<Get>()),
                       "waits for a reply",
                       "end: parks",
                       "run",
                       "waits for time to pass",
                       "end: parks",
                       "run",
                       "end: gives way",
                       "run",
                       child,
                       "exit: normal",
                       "end: exits"};
  EXPECT_EQ(traced.story_of(client), expected);
  EXPECT_NE(child, "none");

  Story taken;
  for (const std::string& word : traced.story_of(counter.pid())) {
    if (word != "run" && !word.starts_with("end: ")) taken.push_back(word);
  }
  const std::string take = "take " + std::string(bulkhead::type_name<Add>());
  EXPECT_EQ(taken, (Story{take, take, take, "take " + std::string(bulkhead::type_name<Get>()),
                          "wake " + to_string(client)}));
  EXPECT_EQ(traced.count("spawn"), 3u);
  EXPECT_EQ(traced.count("exit"), 2u);
  EXPECT_EQ(traced.count("wake"), 2u);  // by the counter, and by time
  EXPECT_EQ(traced.other("dropped"), "0");
}

// C16
TEST_P(TraceOf, an_arrow_leads_from_the_turn_of_each_sender_to_the_turn_of_the_receiver) {
  start();
  const auto counter = runtime.spawn_with<Counter>(on_core(1));
  static_cast<void>(counter.send(Add{1}));
  runtime.spawn_with(on_core(0), [counter] {
    for (int i = 0; i < 10; ++i) static_cast<void>(counter.send(Add{i}));
  });
  wait_for_idle();
  const Traced traced = stop();
  std::map<std::string, int> under_way;
  std::map<double, bool> in_turn;
  int arrived = 0;
  for (const auto& line : traced.lines()) {
    if (line.phase == "B") in_turn[line.line] = true;
    if (line.phase == "E") in_turn[line.line] = false;
    const bool outside = traced.place_of(line).starts_with("thread");
    if (line.phase == "s") {
      EXPECT_TRUE(in_turn[line.line] || outside);
      ++under_way[line.id];
    }
    if (line.phase != "f") continue;
    EXPECT_TRUE(in_turn[line.line]);
    EXPECT_EQ(under_way[line.id]--, 1) << line.id;
    ++arrived;
  }
  EXPECT_EQ(arrived, 11);
}

// C16
TEST_P(TraceOf, turns_begin_and_end_by_turns_on_each_core_under_load) {
  std::atomic<bool> over{false};
  for (int i = 0; i < 20; ++i) {
    const auto one = runtime.spawn<Player>(&over);
    const auto other = runtime.spawn<Player>(&over);
    static_cast<void>(one.send(other));
    runtime.spawn([&over] {
      while (!over) bulkhead::this_actor::yield();
    });
  }
  TraceOptions options;
  options.events_per_core = 1024;  // many are dropped
  start(options);
  std::this_thread::sleep_for(20ms);
  const Traced traced = stop();
  traced.expect_balanced();
  EXPECT_GT(traced.count("run"), 0u);
  over = true;
  wait_for_idle();
}

// C16
TEST_P(TraceOf, waits_say_what_they_are_for) {
  bulkhead::Semaphore semaphore(0);
  start();
  auto channel = bulkhead::make_channel<int>(0);
  const Pid locked = runtime.spawn([&] { semaphore.acquire(); });
  const Pid receives = runtime.spawn([&channel] { static_cast<void>(channel.receiver.recv()); });
  using Box = bulkhead::Mailbox<Add>;
  const auto box = runtime.spawn<Box>([](Box& mailbox) { static_cast<void>(mailbox.next<Add>()); });
  runtime.spawn([&, to = box] {
    bulkhead::this_actor::sleep_for(20ms);
    static_cast<void>(to.send(Add{1}));
    semaphore.release();
    static_cast<void>(channel.sender.send(1));
  });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  const Traced traced = stop();
  const auto waits_for = [&](Pid actor) {
    for (const auto& line : traced.lines()) {
      if (line.category == "park" && line.detail("actor") == to_string(actor)) {
        return line.detail("for");
      }
    }
    return std::string("nothing");
  };
  EXPECT_EQ(waits_for(locked), "a lock");
  EXPECT_EQ(waits_for(receives), "a channel");
  EXPECT_EQ(waits_for(box.pid()), "a message");
  EXPECT_GE(traced.count("wake"), 4u);
}

// C16
TEST_P(TraceOf, threads_outside_have_lines_of_their_own) {
  const auto counter = runtime.spawn<Counter>();
  start();
  static_cast<void>(counter.send(Add{1}));
  Pid spawned;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "importer");
    static_cast<void>(counter.send(Add{1}));
    static_cast<void>(counter.send(Add{1}));
    spawned = runtime.spawn([] {});
    wait_for_idle();
    // The drain asks for the name while the thread is there.
    ASSERT_TRUE(support::eventually([&] { return text.text().contains("importer"); }));
  }).join();
  wait_for_idle();
  const Traced traced = stop();
  std::map<std::string, int> sends;
  std::string spawner;
  for (const auto& line : traced.lines()) {
    if (line.category == "send") ++sends[traced.place_of(line)];
    if (line.category == "spawn" && line.detail("actor") == to_string(spawned)) {
      spawner = traced.place_of(line);
    }
  }
  EXPECT_TRUE(spawner.starts_with("thread importer (")) << spawner;
  EXPECT_EQ(sends[spawner], 2);
  EXPECT_EQ(sends.size(), 2u);
}

// C16
TEST_P(TraceOf, an_actor_with_a_thread_of_its_own_is_traced_there) {
  start();
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  const Pid solo = runtime.spawn_with(options, [] { bulkhead::this_actor::sleep_for(1ms); });
  wait_for_idle();
  const Traced traced = stop();
  const Story expected{"run", "waits for time to pass", "end: parks",
                       "run", "exit: normal",           "end: exits"};
  EXPECT_EQ(traced.story_of(solo), expected);
  for (const auto& line : traced.lines()) {
    if (line.phase == "B") {
      EXPECT_TRUE(traced.place_of(line).starts_with("own thread "));
    }
  }
}

// C16
TEST_P(TraceOf, only_the_chosen_kinds_and_actors_are_there) {
  const auto counter = runtime.spawn<Counter>();
  const auto other = runtime.spawn<Counter>();
  TraceOptions sends_alone{
      .spawns = false, .runs = false, .parks = false, .wakes = false, .exits = false};
  sends_alone.actors = {counter.pid()};
  start(sends_alone);
  runtime.spawn([counter, other] {
    static_cast<void>(other.send(Add{1}));
    static_cast<void>(counter.send(Add{1}));
    static_cast<void>(other.send(Add{1}));
  });
  wait_for_idle();
  const Traced traced = stop();
  ASSERT_EQ(traced.lines().size(), 2u);  // no arrows, without turns
  EXPECT_EQ(traced.lines()[0].category, "send");
  EXPECT_EQ(traced.lines()[0].detail("to"), to_string(counter.pid()));
  EXPECT_EQ(traced.lines()[1].category, "take");
  EXPECT_EQ(traced.lines()[1].detail("actor"), to_string(counter.pid()));
}

// C16
TEST_P(TraceOf, what_finds_no_room_is_dropped_and_counted_and_holds_up_nobody) {
  support::Event held;
  support::Event let_go;
  TraceOptions options;
  options.events_per_core = 16;
  ASSERT_TRUE(runtime.start_trace(
      [&, sink = text.sink()](std::string_view piece) {
        held.set();
        static_cast<void>(let_go.wait());
        return sink(piece);
      },
      options));
  ASSERT_TRUE(held.wait());
  const auto counter = runtime.spawn<Counter>();
  constexpr int kMessages = 1000;
  runtime.spawn([counter] {
    for (int i = 0; i < kMessages; ++i) static_cast<void>(counter.send(Add{1}));
  });
  wait_for_idle();  // although nobody takes events out
  let_go.set();
  const auto summary = runtime.stop_trace();
  ASSERT_TRUE(summary) << summary.error().text;
  const Traced traced(text.text());
  traced.expect_balanced();
  EXPECT_GE(summary->dropped, kMessages - 16u);
  // Each was sent and taken, or neither: what is not sent by a trace is not taken by it.
  EXPECT_LE(summary->events + summary->dropped, 2u * kMessages + 100);
  EXPECT_EQ(traced.other("dropped"), std::to_string(summary->dropped));
  EXPECT_EQ(traced.other("events"), std::to_string(summary->events));
  double told = 0;
  for (const auto& line : traced.lines()) {
    if (line.category == "dropped") told += line.details.at("events").number;
  }
  EXPECT_EQ(told, static_cast<double>(summary->dropped));
  EXPECT_EQ(summary->bytes, text.text().size());
}

// C16
TEST_P(TraceOf, may_be_turned_on_and_off_a_hundred_times_under_load) {
  std::atomic<bool> over{false};
  for (std::size_t i = 0; i < 2 * cores(); ++i) {
    runtime.spawn_with(on_core(i), [&over] {
      const auto counter = bulkhead::spawn<Counter>();
      int sent = 0;
      while (!over) {
        static_cast<void>(counter.send(Add{1}));
        if (++sent % 16 == 0) bulkhead::this_actor::yield();
        if (sent % 64 == 0) bulkhead::this_actor::sleep_for(200us);  // there are many cores
        if (sent % 256 == 0) {
          EXPECT_EQ(counter.ask(Get{}).value_or(-1), sent);
        }
      }
      bulkhead::stop(counter.pid());
    });
  }
  const std::size_t threads = support::threads();
  const std::size_t descriptors = support::open_descriptors();
  const int times = support::kTimeFactor > 1 ? 20 : 100;  // sanitizers take their time
  for (int i = 0; i < times; ++i) {
    TraceText own;
    TraceOptions options;
    options.events_per_core = 256;
    ASSERT_TRUE(runtime.start_trace(own.sink(), options));
    if (i % 3 == 0) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(runtime.stop_trace());
    const Traced traced(own.text());
    traced.expect_balanced();
  }
  EXPECT_EQ(support::threads(), threads);
  EXPECT_EQ(support::open_descriptors(), descriptors);
  over = true;
  wait_for_idle();
}

// C16
TEST_P(TraceOf, a_handler_that_does_not_come_back_does_not_hold_up_the_end) {
  support::Event busy;
  support::Event let_go;
  start();
  const Pid stuck = runtime.spawn([&] {
    busy.set();
    static_cast<void>(let_go.wait());
  });
  ASSERT_TRUE(busy.wait());
  const Traced traced = stop();
  EXPECT_EQ(traced.story_of(stuck), (Story{"run", "end: the trace ends"}));
  traced.expect_balanced();
  // The core joins the next one when it comes back.
  TraceText second;
  ASSERT_TRUE(runtime.start_trace(second.sink()));
  let_go.set();
  wait_for_idle();
  const Pid next = runtime.spawn_with(begun_on(0), [] {});
  wait_for_idle();
  ASSERT_TRUE(runtime.stop_trace());
  const Traced traced_then(second.text());
  EXPECT_EQ(traced_then.story_of(next), (Story{"run", "exit: normal", "end: exits"}));
  traced_then.expect_balanced();
}

// --- errors --------------------------------------------------------------------------------------

// C16
TEST_P(TraceOf, that_cannot_begin_says_why) {
  const auto no_file = runtime.start_trace("/nowhere/at/all.json");
  ASSERT_FALSE(no_file);
  EXPECT_EQ(no_file.error().kind, TraceError::Kind::kCannotOpen);
  EXPECT_EQ(no_file.error().text,
            "bulkhead: the trace's file /nowhere/at/all.json cannot be opened: No such file or "
            "directory (ENOENT)");
  EXPECT_EQ(runtime.stop_trace().error().kind, TraceError::Kind::kNotOn);
  EXPECT_FALSE(runtime.tracing());
  start();
  EXPECT_TRUE(runtime.tracing());
  EXPECT_EQ(runtime.start_trace(text.sink()).error().kind, TraceError::Kind::kAlreadyOn);
  stop();
  EXPECT_FALSE(runtime.tracing());
  EXPECT_THROW(static_cast<void>(runtime.start_trace("x", {.events_per_core = 15})),
               bulkhead::ConfigError);
  EXPECT_THROW(static_cast<void>(runtime.start_trace(bulkhead::TraceSink())),
               std::invalid_argument);
  auto in_actor = runtime.spawn_joinable([this] {
    EXPECT_THROW(static_cast<void>(runtime.start_trace("x")), std::logic_error);
    EXPECT_THROW(static_cast<void>(runtime.stop_trace()), std::logic_error);
    EXPECT_THROW(static_cast<void>(runtime.start_flight_recorder()), std::logic_error);
    EXPECT_EQ(bulkhead::blocking([this] { return runtime.stop_trace(); }).error().kind,
              TraceError::Kind::kNotOn);
  });
  ASSERT_TRUE(in_actor.join());
  runtime.shutdown();
  EXPECT_EQ(runtime.start_trace(text.sink()).error().kind, TraceError::Kind::kNotRunning);
  EXPECT_EQ(runtime.start_flight_recorder().error().kind, TraceError::Kind::kNotRunning);
}

// C16
TEST_P(TraceOf, that_cannot_be_written_ends_and_the_runtime_goes_on) {
  const auto counter = runtime.spawn<Counter>();
  std::string errors = support::stderr_of([&] {
    ASSERT_TRUE(runtime.start_trace("/dev/full"));
    static_cast<void>(counter.send(Add{1}));
    ASSERT_TRUE(support::eventually([&] { return !runtime.tracing(); }));
    const auto stopped = runtime.stop_trace();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, TraceError::Kind::kCannotWrite);
    EXPECT_EQ(stopped.error().text,
              "bulkhead: the trace's file /dev/full cannot be written any more: No space left on "
              "device (ENOSPC)");
  });
  EXPECT_TRUE(errors.contains("/dev/full cannot be written any more")) << errors;
  for (const bool throws : {false, true}) {
    errors = support::stderr_of([&] {
      ASSERT_TRUE(runtime.start_trace([throws](std::string_view) -> bool {
        if (throws) throw std::runtime_error("no more");
        return false;
      }));
      ASSERT_TRUE(support::eventually([&] { return !runtime.tracing(); }));
    });
    EXPECT_TRUE(errors.contains(throws ? "no more" : "takes no more text")) << errors;
  }
  start();  // in the place of the one that has failed
  static_cast<void>(counter.send(Add{1}));
  EXPECT_EQ(counter.ask(Get{}).value_or(-1), 2);
  EXPECT_GT(stop().count("run"), 0u);
}

}  // namespace
