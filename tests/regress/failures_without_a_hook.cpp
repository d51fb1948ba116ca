// A19: who fails is seen. What was wrong: without Config::on_death an actor that failed was gone
// without a word.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

struct Work {};
struct Careless {
  void receive(Work /*message*/) { throw std::runtime_error("no work today"); }
};

template <class Use>
std::string said_by(bulkhead::Config config, Use use) {
  config.log.format = bulkhead::LogFormat::kText;
  return support::stderr_of([&] {
    bulkhead::Runtime runtime(config);
    runtime.start();
    use(runtime);
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  });
}

void fail_one(bulkhead::Runtime& runtime) { runtime.spawn<Careless>().send(Work{}); }

class FailuresWithoutAHook : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(FailuresWithoutAHook);

TEST_P(FailuresWithoutAHook, are_told) {
  const std::string said = said_by(config(), fail_one);
  for (const char* const word :
       {"bulkhead", "actor <", "Careless", "crashed: panic: no work today", "std::runtime_error"}) {
    EXPECT_NE(said.find(word), std::string::npos) << "no \"" << word << "\" in: " << said;
  }
}

TEST_P(FailuresWithoutAHook, are_counted_when_there_are_many) {
  const std::string said = said_by(config(), [](bulkhead::Runtime& runtime) {
    for (int i = 0; i < 200; ++i) fail_one(runtime);
  });
  EXPECT_NE(said.find(" more crashes and 0 more lines are not told"), std::string::npos) << said;
  EXPECT_LT(std::ranges::count(said, '\n'), 2000) << said;
}

TEST_P(FailuresWithoutAHook, are_silent_when_they_are_joined) {
  EXPECT_EQ(said_by(config(),
                    [](bulkhead::Runtime& runtime) {
                      auto joined = runtime.spawn_joinable([] { throw 1; });
                      EXPECT_FALSE(joined.join());
                    }),
            "");
}

TEST_P(FailuresWithoutAHook, are_told_when_nobody_joins_any_more) {
  const std::string said = said_by(config(), [](bulkhead::Runtime& runtime) {
    runtime.spawn_with(on_core(0), [] {
      static_cast<void>(bulkhead::spawn_joinable([] { throw 1; }));  // starts when this has ended
    });
  });
  EXPECT_NE(said.find("crashed: panic"), std::string::npos) << said;
}

}  // namespace
