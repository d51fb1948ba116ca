// C17: where the exception was thrown that ended an actor.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"

// Of external linkage, so that even without debugging information their names are known.
[[gnu::noinline]] void throws_in_the_depths(int what) {
  if (what == 0) throw std::runtime_error("down here");
  if (what == 1) bulkhead::panic("and here");
  if (what == 2) throw 17;
  asm volatile("");
}
[[gnu::noinline]] void calls_the_depths(int what) {
  throws_in_the_depths(what);
  asm volatile("");
}

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Exit;
using namespace std::chrono_literals;

class ThrowSites : public support::OnCores {
 protected:
  ThrowSites() : runtime(with_log(this)) { runtime.start(); }
  /// The stack of the throw, in one text.
  std::string stack_of(std::function<void()> body) {
    const std::size_t before = exits.size();
    runtime.spawn_with(on_core(1), std::move(body));
    EXPECT_TRUE(runtime.wait_for_end(support::kDeadline));
    EXPECT_EQ(exits.size(), before + 1);
    std::string all;
    for (const std::string& line : stack_trace(exits.entries().back())) all += line + "\n";
    return all;
  }

  support::Log<Exit> exits;
  bulkhead::Runtime runtime;

 private:
  static bulkhead::Config with_log(ThrowSites* self) {
    bulkhead::Config config = ThrowSites::config();
    config.on_death = [self](const bulkhead::Death& death) { self->exits.add(death.exit); };
    return config;
  }
};
ON_ONE_AND_SEVERAL_CORES(ThrowSites);

TEST_P(ThrowSites, are_known_of_what_ends_an_actor) {
  for (const int what : {0, 1, 2}) {
    const std::string stack = stack_of([what] { calls_the_depths(what); });
    const auto throws = stack.find("throws_in_the_depths");
    const auto calls = stack.find("calls_the_depths");
    ASSERT_NE(throws, std::string::npos) << stack;
    ASSERT_NE(calls, std::string::npos) << stack;
    EXPECT_LT(throws, calls);
    EXPECT_EQ(stack.find("deliver_batch"), std::string::npos) << stack;
    EXPECT_EQ(stack.find("__cxa_throw"), std::string::npos) << stack;
  }
}

TEST_P(ThrowSites, are_those_of_the_one_that_was_not_caught) {
  const std::string stack = stack_of([] {
    try {
      calls_the_depths(0);
    } catch (const std::runtime_error&) {
    }
    throw std::logic_error("another one");
  });
  EXPECT_EQ(stack.find("throws_in_the_depths"), std::string::npos) << stack;
}

// What destructors do on the way, and that they block, changes nothing.
TEST_P(ThrowSites, are_kept_while_destructors_run) {
  struct Guard {
    ~Guard() {
      try {
        throw std::logic_error("caught at once");
      } catch (const std::logic_error&) {
      }
      this_actor::sleep_for(1ms);
    }
  };
  for (int i = 0; i < 5; ++i) {
    runtime.spawn_with(on_core(static_cast<std::size_t>(i)), [] {
      const Guard guard;
      calls_the_depths(0);
    });
  }
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  ASSERT_EQ(exits.size(), 5u);
  for (const Exit& exit : exits.entries()) {
    EXPECT_FALSE(exit.stack().empty());
    EXPECT_NE(stack_trace(exit).front().find("throws_in_the_depths"), std::string::npos);
  }
}

// What was wrong: the stack was that of the library's own throw, which it makes when it has told
// the asker.
TEST_P(ThrowSites, are_those_of_the_first_throw) {
  struct Asked {
    struct Value {};
    struct Nothing {
      using Answer = void;
    };
    int receive(Value /*message*/) {
      calls_the_depths(0);
      return 0;
    }
    void receive(Nothing /*message*/) { calls_the_depths(1); }
  };
  for (const bool value : {true, false}) {
    const std::size_t before = exits.size();
    const auto asked = runtime.spawn_with<Asked>(on_core(1));
    if (value) {
      EXPECT_FALSE(asked.ask(Asked::Value{}));
    } else {
      EXPECT_FALSE(asked.ask(Asked::Nothing{}));
    }
    ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
    ASSERT_EQ(exits.size(), before + 1);
    EXPECT_NE(stack_trace(exits.entries().back()).front().find("throws_in_the_depths"),
              std::string::npos);
  }
}

// Whoever reads symbols wants more stack than an actor has.
TEST_P(ThrowSites, can_be_read_on_the_smallest_of_stacks) {
  stack_of([] { calls_the_depths(0); });
  const Exit exit = exits.entries().back();
  std::vector<std::string> lines;
  bulkhead::SpawnOptions options = on_core(1);
  options.stack_size = 16 * 1024;
  runtime.spawn_with(options, [&] { lines = stack_trace(exit); });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(lines, stack_trace(exit));
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("throws_in_the_depths"), std::string::npos) << lines[0];
}

TEST_P(ThrowSites, are_none_of_other_ends) {
  EXPECT_EQ(stack_of([] {}), "");
  EXPECT_EQ(stack_of([] { this_actor::stop(Exit::custom("enough")); }), "");
  EXPECT_TRUE(Exit::panic(std::make_exception_ptr(std::runtime_error("made"))).stack().empty());
}

}  // namespace
