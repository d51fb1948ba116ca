// What makes no sense is refused, by an error that says what was given and what is possible.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <ratio>
#include <set>
#include <stdexcept>
#include <string>

#include "support/door.hpp"
#include "support/on_cores.hpp"

namespace {

using bulkhead::Config;
using bulkhead::ConfigError;
using bulkhead::Runtime;
using bulkhead::SpawnOptions;
using bulkhead::Timeout;
using support::Door;
using namespace std::chrono_literals;

template <class Change>
std::string error_of_config(Change change) {
  Config config;
  change(config);
  try {
    const Runtime runtime(config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* const word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
  }
}

TEST(BadConfig, cores) {
  for (const std::size_t cores : {std::size_t{0}, std::size_t{257}, SIZE_MAX}) {
    expect_words(error_of_config([=](Config& config) { config.cores = cores; }),
                 {"Config::cores", "1 to 256"});
  }
  expect_words(error_of_config([](Config& config) { config.cores = 257; }), {"257"});
  EXPECT_EQ(error_of_config([](Config& config) { config.cores = 256; }), "accepted");
}

TEST(BadConfig, max_actors) {
  for (const std::size_t most : {std::size_t{0}, std::size_t{16'777'216}, SIZE_MAX}) {
    expect_words(error_of_config([=](Config& config) { config.max_actors = most; }),
                 {"Config::max_actors", "16777215"});
  }
  EXPECT_EQ(error_of_config([](Config& config) { config.max_actors = 1; }), "accepted");
  EXPECT_EQ(error_of_config([](Config& config) { config.max_actors = 16'777'215; }), "accepted");
}

TEST(BadConfig, stack_size) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{16 * 1024 - 1}, (std::size_t{1} << 30) + 1, SIZE_MAX}) {
    expect_words(error_of_config([=](Config& config) { config.stack_size = bytes; }),
                 {"Config::stack_size", "16 KiB to 1 GiB"});
  }
  EXPECT_EQ(error_of_config([](Config& config) { config.stack_size = 16 * 1024; }), "accepted");
  EXPECT_EQ(error_of_config([](Config& config) { config.stack_size = std::size_t{1} << 30; }),
            "accepted");
}

TEST(BadConfig, the_number_of_cores_in_the_environment) {
  for (const char* const text : {" ", "0", "257", "-1", "+2", "4x", "x4", " 4", "4 ", "1.5", "0x4",
                                 "99999999999999999999999", "four"}) {
    ASSERT_EQ(setenv("BULKHEAD_CORES", text, 1), 0);
    expect_words(error_of_config([](Config&) {}), {"BULKHEAD_CORES", text, "1 to 256"});
    EXPECT_EQ(error_of_config([](Config& config) { config.cores = 2; }), "accepted")
        << "it does not matter when the program says how many";
  }
  for (const char* const text : {"256", ""}) {  // an empty one is as good as none
    setenv("BULKHEAD_CORES", text, 1);
    EXPECT_EQ(error_of_config([](Config&) {}), "accepted");
  }
  unsetenv("BULKHEAD_CORES");
}

TEST(BadConfig, the_stack_trace_in_the_environment) {
  for (const char* const text : {"no", "false", "2", " ", "01"}) {
    ASSERT_EQ(setenv("BULKHEAD_STACK_TRACE", text, 1), 0);
    expect_words(error_of_config([](Config&) {}), {"BULKHEAD_STACK_TRACE", text, "0 or 1"});
  }
  for (const char* const text : {"0", "1", ""}) {
    setenv("BULKHEAD_STACK_TRACE", text, 1);
    EXPECT_EQ(error_of_config([](Config&) {}), "accepted");
  }
  unsetenv("BULKHEAD_STACK_TRACE");
}

TEST(BadConfig, is_an_invalid_argument) {
  Config config;
  config.cores = 0;
  EXPECT_THROW(Runtime{config}, std::invalid_argument);
}

class BadSpawnOptions : public support::Running {
 protected:
  template <class Change>
  std::string error_of(Change change) {
    SpawnOptions options;
    change(options);
    std::string outside = "accepted";
    std::string inside = "accepted";
    try {
      runtime.spawn_with(options, [] {});
    } catch (const ConfigError& error) {
      outside = error.what();
    }
    support::Event done;
    runtime.spawn([&] {
      try {
        bulkhead::spawn_with(options, [] {});
      } catch (const ConfigError& error) {
        inside = error.what();
      }
      done.set();
    });
    EXPECT_TRUE(done.wait());
    EXPECT_EQ(outside, inside);
    return inside;
  }
};
ON_ONE_AND_SEVERAL_CORES(BadSpawnOptions);

TEST_P(BadSpawnOptions, core) {
  const std::string last = std::to_string(cores() - 1);
  for (const std::size_t core : {cores(), std::size_t{10'000}, SIZE_MAX}) {
    const auto error = error_of([=](SpawnOptions& options) { options.core = core; });
    expect_words(error, {"SpawnOptions::core"});
    EXPECT_NE(error.find(last), std::string::npos) << error;
  }
  EXPECT_EQ(error_of([](SpawnOptions& options) { options.core = cores() - 1; }), "accepted");
}

TEST_P(BadSpawnOptions, core_and_own_thread) {
  expect_words(error_of([](SpawnOptions& options) {
                 options.core = 0;
                 options.own_thread = true;
               }),
               {"own_thread", "core"});
}

TEST_P(BadSpawnOptions, stack_size) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{16 * 1024 - 1}, (std::size_t{1} << 30) + 1, SIZE_MAX}) {
    expect_words(error_of([=](SpawnOptions& options) { options.stack_size = bytes; }),
                 {"SpawnOptions::stack_size", "16 KiB to 1 GiB"});
  }
}

TEST_P(BadSpawnOptions, mailbox_bound) {
  for (const std::size_t most : {std::size_t{0}, std::size_t{1'000'000'001}, SIZE_MAX}) {
    expect_words(error_of([=](SpawnOptions& options) { options.mailbox_bound = most; }),
                 {"SpawnOptions::mailbox_bound", "1,000,000,000"});
  }
  EXPECT_EQ(error_of([](SpawnOptions& options) { options.mailbox_bound = 1'000'000'000; }),
            "accepted");
}

TEST_P(BadSpawnOptions, leave_nothing_behind) {
  for (int i = 0; i < 100; ++i) {
    SpawnOptions options;
    options.mailbox_bound = 0;
    EXPECT_THROW(runtime.spawn_with<Door>(options), ConfigError);
  }
  wait_for_idle();
  EXPECT_EQ(runtime.stats().actors_started, 0u);
  runtime.shutdown();
}

// --- time spans ---

TEST(Timeouts, are_made_of_any_duration) {
  EXPECT_EQ(Timeout(5ms).nanoseconds(), 5'000'000);
  EXPECT_EQ(Timeout(0s).nanoseconds(), 0);
  EXPECT_EQ(Timeout(1.5s).nanoseconds(), 1'500'000'000);
  EXPECT_EQ(Timeout(24h * 365 * 290).nanoseconds(), 24ll * 365 * 290 * 3600 * 1'000'000'000);
  EXPECT_TRUE(bulkhead::kForever.is_forever());
  EXPECT_FALSE(Timeout(1h).is_forever());
  EXPECT_EQ(Timeout(std::chrono::duration<int, std::pico>(2'500)).nanoseconds(), 2);
}

TEST(Timeouts, that_are_negative_are_refused) {
  EXPECT_THROW(Timeout(-1ns), std::invalid_argument);
  EXPECT_THROW(Timeout(-1h), std::invalid_argument);
  EXPECT_THROW(Timeout(-0.001s), std::invalid_argument);
  EXPECT_THROW(Timeout{std::chrono::hours::min()}, std::invalid_argument);
}

TEST(Timeouts, that_are_no_number_or_too_long_are_refused) {
  using Seconds = std::chrono::duration<double>;
  EXPECT_THROW(Timeout(Seconds(std::numeric_limits<double>::quiet_NaN())), std::invalid_argument);
  EXPECT_THROW(Timeout(Seconds(std::numeric_limits<double>::infinity())), std::invalid_argument);
  EXPECT_THROW(Timeout(Seconds(1e300)), std::invalid_argument);
  EXPECT_THROW(Timeout{std::chrono::hours::max()}, std::invalid_argument);
  EXPECT_THROW(Timeout(24h * 365 * 300), std::invalid_argument);
  EXPECT_THROW(Timeout{std::chrono::nanoseconds::max()}, std::invalid_argument);
}

class BadTimeouts : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(BadTimeouts);

TEST_P(BadTimeouts, are_refused_before_anything_is_done) {
  const auto door = runtime.spawn<Door>();
  EXPECT_THROW(static_cast<void>(door.ask(Door::Waiting{}, -1ms)), std::invalid_argument);
  EXPECT_THROW(runtime.wait_for_idle(-1ms), std::invalid_argument);
  EXPECT_THROW(runtime.shutdown(-1ms), std::invalid_argument);
  EXPECT_TRUE(runtime.running());
  std::atomic<int> refused{0};
  runtime.spawn([door, &refused] {
    EXPECT_THROW(bulkhead::this_actor::sleep_for(-1ms), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(door.ask(Door::Waiting{}, -1ms)), std::invalid_argument);
    ++refused;
  });
  wait_for_idle();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(runtime.stats().sent, 1u) << "the start of the callable, and no question";
}

TEST_P(BadTimeouts, the_longest_there_is_works) {
  const auto door = runtime.spawn<Door>();
  static constexpr auto kLongest = std::chrono::hours(24 * 365 * 290);
  EXPECT_EQ(door.ask(Door::Waiting{}, kLongest), 0u);
  runtime.spawn([door] { EXPECT_EQ(door.ask(Door::Waiting{}, kLongest), 0u); });
  EXPECT_TRUE(runtime.wait_for_idle(kLongest));
  runtime.shutdown(kLongest);
}

// --- calls in the wrong place ---

template <class Call>
std::string error_of_call(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

class BadCalls : public support::Running {
 protected:
  // What the call says in an actor.
  template <class Call>
  std::string error_in_actor(Call call) {
    std::string error = "not called";
    runtime.spawn([&] { error = error_of_call(call); });
    wait_for_idle();
    return error;
  }
};
ON_ONE_AND_SEVERAL_CORES(BadCalls);

TEST_P(BadCalls, a_runtime_that_is_started_in_an_actor_says_what_to_do_instead) {
  expect_words(error_in_actor([] { bulkhead::run([] {}); }),
               {"bulkhead::run", "called by an actor", "spawn_joinable"});
  expect_words(error_in_actor([] { Runtime().start(); }), {"Runtime::start", "spawn_joinable"});
  expect_words(error_in_actor([this] { runtime.wait_for_idle(); }),
               {"Runtime::wait_for_idle", "would wait for itself", "a thread outside"});
}

TEST_P(BadCalls, a_wait_in_what_blocking_runs_says_that_this_is_outside) {
  expect_words(error_in_actor([] { bulkhead::blocking([] { bulkhead::this_actor::yield(); }); }),
               {"this_actor::yield", "outside any actor", "blocking()"});
  expect_words(
      error_in_actor([] { bulkhead::blocking([] { bulkhead::this_actor::sleep_for(1ms); }); }),
      {"this_actor::sleep_for", "outside any actor", "blocking()"});
  expect_words(
      error_in_actor([] {
        bulkhead::blocking([] { static_cast<void>(bulkhead::net::wait_readable(0, 1ms)); });
      }),
      {"wait_readable", "outside any actor", "blocking()"});
}

TEST_P(BadCalls, a_mutex_that_its_holder_locks_again) {
  const auto twice = [] {
    bulkhead::Mutex mutex;
    const auto guard = mutex.lock();
    for (const bool tries : {true, false}) {
      expect_words(
          error_of_call([&] { static_cast<void>(tries ? mutex.try_lock() : mutex.lock_for(1ms)); }),
          {"Mutex", "its holder", "again", "tries"});
    }
  };
  twice();
  EXPECT_EQ(error_in_actor(twice), "accepted");
}

TEST_P(BadCalls, an_ask_of_nobody) {
  const auto answer = bulkhead::Address<Door>().ask(Door::Waiting{}, 1s);
  EXPECT_EQ(answer.error(), bulkhead::AskError::kGone);
  expect_words(std::string(to_string(answer.error())), {"no such actor"});
}

TEST(BadChannels, have_a_capacity_that_makes_no_sense) {
  for (const std::size_t capacity : {std::size_t{1'000'000'001}, SIZE_MAX}) {
    EXPECT_THROW(static_cast<void>(bulkhead::make_channel<int>(capacity)), std::invalid_argument);
    expect_words(error_of_call([&] { static_cast<void>(bulkhead::make_channel<int>(capacity)); }),
                 {"make_channel", "0 to 1000000000", std::to_string(capacity).c_str()});
  }
  auto [sender, receiver] = bulkhead::make_channel<int>(1'000'000'000);
  EXPECT_TRUE(sender.send(1));
}

// --- words ---

TEST(Words, for_every_outcome_are_different) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < bulkhead::kDropCauses; ++i) {
    words.insert(std::string(to_string(static_cast<bulkhead::DropCause>(i))));
  }
  EXPECT_EQ(words.size(), bulkhead::kDropCauses);
  words.clear();
  for (int i = 0; i <= static_cast<int>(bulkhead::AskError::kSelf); ++i) {
    words.insert(std::string(to_string(static_cast<bulkhead::AskError>(i))));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(bulkhead::AskError::kSelf) + 1);
  words.clear();
  for (int i = 0; i <= static_cast<int>(bulkhead::Delivery::kNoMemory); ++i) {
    words.insert(std::string(to_string(static_cast<bulkhead::Delivery>(i))));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(bulkhead::Delivery::kNoMemory) + 1);
  EXPECT_FALSE(words.contains("unknown"));
}

}  // namespace
