// C17: how crashes are told: each once, never mixed, never holding up an actor.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/crashes.hpp"
#include "support/json.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Config;
using bulkhead::CrashReport;
using bulkhead::LogFormat;
using support::Json;
using namespace std::chrono_literals;

void fail(const std::string& what = "broken") { throw std::runtime_error(what); }

class Logs : public support::OnCores {
 protected:
  /// So many actors, on all cores, that fail; until all have ended.
  static void crash(bulkhead::Runtime& runtime, int count) {
    for (int i = 0; i < count; ++i) {
      runtime.spawn_with(on_core(static_cast<std::size_t>(i)), [] { fail(); });
    }
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  }
  /// What comes to stderr while a runtime with these settings does something.
  template <class Use>
  static std::string said(bulkhead::LogSettings log, Use use) {
    Config config = OnCores::config();
    config.log = std::move(log);
    return support::stderr_of([&] {
      bulkhead::Runtime runtime(config);
      runtime.start();
      use(runtime);
    });
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }
};
ON_ONE_AND_SEVERAL_CORES(Logs);

TEST_P(Logs, are_told_all_of_concurrent_crashes_unmixed) {
  constexpr int kCrashes = 300;
  const std::string text = said({.format = LogFormat::kJson, .per_second = 1'000'000},
                                [](bulkhead::Runtime& runtime) { crash(runtime, kCrashes); });
  std::set<std::string> actors;
  for (const std::string& line : lines_of(text)) {
    const Json report = support::JsonReader::read(line);
    EXPECT_EQ(report.text_at("event"), "crash");
    EXPECT_EQ(report.text_at("reason"), "broken");
    EXPECT_TRUE(actors.insert(report.text_at("actor")).second) << line;
  }
  EXPECT_EQ(actors.size(), std::size_t{kCrashes});
}

TEST_P(Logs, are_told_in_text_in_one_piece) {
  constexpr int kCrashes = 50;
  const std::string text = said({.format = LogFormat::kText, .per_second = 1'000'000},
                                [](bulkhead::Runtime& runtime) { crash(runtime, kCrashes); });
  // Each line belongs to the report above it: a headline, or a field.
  int reports = 0;
  bool mailbox = true;
  for (const std::string& line : lines_of(text)) {
    if (line.find("crashed: panic: broken (std::runtime_error)") != std::string::npos) {
      EXPECT_TRUE(mailbox);
      mailbox = false;
      ++reports;
    } else {
      EXPECT_TRUE(line.starts_with("  ")) << line;
      mailbox |= line.starts_with("  mailbox    0 waiting, ");
    }
  }
  EXPECT_EQ(reports, kCrashes);
}

// The number of those that come too fast is told.
TEST_P(Logs, leave_nobody_uncounted) {
  constexpr int kCrashes = 500;
  const auto crashes = std::make_shared<support::Crashes>();
  said({.log = crashes, .per_second = 7},
       [](bulkhead::Runtime& runtime) { crash(runtime, kCrashes); });
  std::size_t counted = crashes->size();
  for (const std::string& line : crashes->lines()) counted += std::stoul(line);
  EXPECT_EQ(counted, std::size_t{kCrashes});
  EXPECT_GE(crashes->size(), 7u);
}

TEST_P(Logs, are_told_of_those_left_out_also_when_nothing_follows) {
  const auto crashes = std::make_shared<support::Crashes>();
  said({.log = crashes, .per_second = 1}, [&](bulkhead::Runtime& runtime) {
    crash(runtime, 3);
    EXPECT_TRUE(crashes->wait_for_line(" more crashes"));
  });
}

// Whom it waits for is told while it waits, and who is ended when it has had enough.
TEST_P(Logs, are_told_whom_a_shutdown_ends) {
  const auto crashes = std::make_shared<support::Crashes>();
  Config config = OnCores::config();
  config.log = {.log = crashes};
  bulkhead::Runtime runtime(config);
  runtime.start();
  support::Event begun;
  runtime.spawn_with(on_core(1), [&] {
    begun.set();
    this_actor::sleep_for(bulkhead::kForever);
  });
  EXPECT_TRUE(begun.wait());
  const std::string said = support::stderr_of([&] { runtime.shutdown(10ms); });
  EXPECT_EQ(said, "");
  ASSERT_EQ(crashes->lines().size(), 1u);
  EXPECT_TRUE(crashes->wait_for_line("is still blocked in a handler, with 0 messages waiting"));
}

// From a thread outside; when nobody tells a log any more, on stderr.
TEST_P(Logs, are_told_lines_by_threads_outside) {
  const auto crashes = std::make_shared<support::Crashes>();
  Config config = OnCores::config();
  config.log = {.log = crashes};
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.log_line("ready");
  runtime.spawn([&] { runtime.log_line("from within"); });
  runtime.shutdown();
  EXPECT_EQ(crashes->lines(), (std::vector<std::string>{"ready", "from within"}));
  EXPECT_NE(support::stderr_of([&] { runtime.log_line("too late"); }).find("too late"),
            std::string::npos);
}

class Slow final : public bulkhead::Log {
 public:
  void crash(const CrashReport& /*report*/) override {
    ++crashes;
    go_on.wait();
  }
  void line(std::string_view text) override { left_out += std::stoul(std::string(text)); }
  support::Event go_on;
  std::atomic<std::size_t> crashes{0};
  std::atomic<std::size_t> left_out{0};
};

// Who crashes does not wait for the log.
TEST_P(Logs, may_be_slow) {
  constexpr std::size_t kCrashes = 3000;
  const auto slow = std::make_shared<Slow>();
  said({.log = slow, .per_second = 1'000'000}, [&](bulkhead::Runtime& runtime) {
    crash(runtime, int{kCrashes});  // all end
    EXPECT_EQ(runtime.stats().actors_failed, kCrashes);
    EXPECT_LE(slow->crashes, 1u);
    slow->go_on.set();
  });
  EXPECT_LE(slow->crashes, 1001u);
  EXPECT_EQ(slow->crashes + slow->left_out, kCrashes);
}

class Throwing final : public bulkhead::Log {
 public:
  void crash(const CrashReport& /*report*/) override {
    if (++crashes == 1) throw std::runtime_error("no room");
    if (crashes == 2) throw 2;
  }
  void line(std::string_view /*text*/) override {}
  std::atomic<int> crashes{0};
};

TEST_P(Logs, may_throw) {
  const auto throwing = std::make_shared<Throwing>();
  const std::string text = said({.log = throwing, .per_second = 1'000'000},
                                [](bulkhead::Runtime& runtime) { crash(runtime, 3); });
  EXPECT_EQ(throwing->crashes, 3);
  EXPECT_NE(text.find("the log has thrown: no room"), std::string::npos) << text;
  EXPECT_NE(text.find("something that is not a std::exception"), std::string::npos) << text;
}

TEST_P(Logs, are_told_what_may_be_read) {
  const auto crashes = std::make_shared<support::Crashes>();
  bulkhead::LogSettings settings = support::told_to(crashes);
  settings.redact = [](CrashReport& report) {
    if (report.reason == "unreadable") throw std::runtime_error("a secret");
    report.reason = "a secret is not told";
  };
  said(settings, [](bulkhead::Runtime& runtime) {
    runtime.spawn([] { fail("the password is 1234"); });
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    runtime.spawn([] {
      this_actor::set_label("secret");
      try {
        fail("the password is 1234");
      } catch (...) {
        std::throw_with_nested(std::runtime_error("unreadable"));
      }
    });
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  });
  ASSERT_EQ(crashes->size(), 2u);
  EXPECT_EQ(crashes->reports()[0].reason, "a secret is not told");
  const CrashReport failed = crashes->reports()[1];
  EXPECT_EQ(failed.reason, "(not told: LogSettings::redact has thrown)");
  EXPECT_EQ(failed.label + failed.state, "");
  EXPECT_TRUE(failed.stack.empty());
  EXPECT_TRUE(failed.causes.empty());
}

TEST_P(Logs, take_lines) {
  const auto crashes = std::make_shared<support::Crashes>();
  const std::string outside = said(support::told_to(crashes), [](bulkhead::Runtime& runtime) {
    runtime.spawn([] { bulkhead::log_line("from an actor"); });
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    bulkhead::log_line("from outside");
  });
  EXPECT_EQ(crashes->lines(), std::vector<std::string>{"from an actor"});
  EXPECT_NE(outside.find("from outside\n"), std::string::npos) << outside;
}

TEST_P(Logs, take_lines_as_json) {
  const auto lines = lines_of(said({.format = LogFormat::kJson}, [](bulkhead::Runtime& runtime) {
    runtime.spawn([] { bulkhead::log_line("a \"line\"\nand another"); });
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
  }));
  ASSERT_EQ(lines.size(), 1u);
  const Json line = support::JsonReader::read(lines[0]);
  EXPECT_EQ(line.text_at("event"), "line");
  EXPECT_EQ(line.text_at("text"), "a \"line\"\nand another");
  EXPECT_EQ(line.text_at("time").size(), std::string("2026-01-31T23:59:59.123456Z").size());
}

TEST_P(Logs, are_as_the_environment_says) {
  const auto crash_one = [](bulkhead::Runtime& runtime) { crash(runtime, 1); };
  for (const char* const format : {"text", "json", "off", ""}) {
    ASSERT_EQ(setenv("BULKHEAD_LOG", format, 1), 0);
    const std::string text = said({}, crash_one);
    const bool json = text.starts_with("{");
    EXPECT_EQ(text.empty(), std::string(format) == "off") << text;
    EXPECT_EQ(json, std::string(format) == "json") << text;
  }
  ASSERT_EQ(setenv("BULKHEAD_LOG", "off", 1), 0);
  EXPECT_NE(said({.format = LogFormat::kText}, crash_one), "");  // the program knows better
  ASSERT_EQ(setenv("BULKHEAD_LOG", "loud", 1), 0);
  EXPECT_THROW(bulkhead::Runtime runtime(config()), bulkhead::ConfigError);
  ASSERT_EQ(unsetenv("BULKHEAD_LOG"), 0);
}

TEST_P(Logs, refuse_wrong_settings) {
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{1'000'001}}) {
    Config config = OnCores::config();
    config.log.per_second = wrong;
    EXPECT_THROW(bulkhead::Runtime runtime(config), bulkhead::ConfigError);
  }
  Config config = OnCores::config();
  config.log.format = static_cast<LogFormat>(3);
  EXPECT_THROW(bulkhead::Runtime runtime(config), bulkhead::ConfigError);
}

TEST_P(Logs, come_with_each_start) {
  const auto crashes = std::make_shared<support::Crashes>();
  said(support::told_to(crashes), [&](bulkhead::Runtime& runtime) {
    for (std::size_t i = 1; i <= 3; ++i) {
      crash(runtime, 1);
      runtime.shutdown();
      EXPECT_EQ(crashes->size(), i);
      runtime.start();
    }
  });
}

}  // namespace
