// A12, A19: hooks run where no actor runs. What was wrong: those that spawned an actor crashed, and
// those that looked at the statistics did not find what they were being told.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>

#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

struct Note {
  int number;
};

class Sink {
 public:
  explicit Sink(std::atomic<int>* notes) : notes_(notes) {}
  void receive(Note /*message*/) { ++*notes_; }

 private:
  std::atomic<int>* notes_;
};

class HooksThatAct : public support::OnCores {
 protected:
  HooksThatAct() : runtime(with_hooks()) {
    runtime.start();
    sink = runtime.spawn_with<Sink>(on_core(1), &notes);
  }

  bulkhead::Config with_hooks() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death& death) {
      if (bulkhead::in_actor()) ++wrong;
      if (death.exit.kind() != bulkhead::Exit::Kind::kPanic) return;
      ++deaths;
      sink.send(Note{1});
      spawn_one();
      runtime.spawn_with<Sink>(on_core(0), &notes).send(Note{2});
    };
    config.on_dead_letter = [this](const bulkhead::DeadLetter& letter) {
      if (letter.cause == bulkhead::DropCause::kStopped) return;
      const auto told = ++letters;
      if (runtime.stats().dropped_for(letter.cause) < static_cast<unsigned>(told)) ++wrong;
      sink.send(Note{3});
      spawn_one();
    };
    return config;
  }

  void spawn_one() {
    ++spawned;
    runtime.spawn([this] { --spawned; });
  }

  std::atomic<int> notes{0};
  std::atomic<int> deaths{0};
  std::atomic<int> letters{0};
  std::atomic<int> spawned{0};
  std::atomic<int> wrong{0};
  Address<Sink> sink;
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(HooksThatAct);

TEST_P(HooksThatAct, may_send_and_spawn) {
  for (std::size_t i = 0; i < 30; ++i) {
    runtime.spawn_with(on_core(i), [i] {
      if (i % 2 == 0) this_actor::yield();
      throw std::runtime_error("failed");
    });
  }
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  const auto gone = runtime.spawn_with<Sink>(on_core(1), &notes);
  bulkhead::stop(gone);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  for (int i = 0; i < 5; ++i) gone.send(Note{4});
  runtime.spawn([gone] {
    for (int i = 0; i < 5; ++i) gone.send(Note{5});
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(deaths, 30);
  EXPECT_EQ(letters, 10);
  EXPECT_EQ(notes, 30 + 30 + 10);
  EXPECT_EQ(spawned, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
