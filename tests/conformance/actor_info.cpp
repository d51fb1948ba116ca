// C12: what can be seen of actors while they go on. Named after the lines of OTP's process_SUITE
// whose behaviours they check: process_info, processes.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::actor_info;
using bulkhead::ActorInfo;
using bulkhead::Address;
using bulkhead::Pid;
using namespace std::chrono_literals;

struct Ping {};
class Hold {
 public:
  Hold(support::Event* held, support::Event* release) : held_(held), release_(release) {}
  void wait() const {
    held_->set();
    release_->wait();
  }

 private:
  support::Event* held_;
  support::Event* release_;
};
struct Sleep {};

class Subject {
 public:
  void receive(Ping /*message*/) {}
  void receive(Hold hold) { hold.wait(); }
  void receive(Sleep /*message*/) { this_actor::sleep_for(1h); }
};

class ActorInfos : public support::Running {
 protected:
  ~ActorInfos() override { runtime.shutdown(0ms); }
  static ActorInfo::State state_of(Pid pid) { return actor_info(pid).value().state; }
};
ON_ONE_AND_SEVERAL_CORES(ActorInfos);

TEST_P(ActorInfos, process_info_tells_what_an_actor_is) {
  const auto subject = runtime.spawn_with<Subject>(pinned_to(1));
  Pid child;
  Pid parent;
  runtime.spawn_with(on_core(0), [&] {
    child = bulkhead::spawn<Subject>().pid();
    parent = this_actor::pid();
  });
  for (int i = 0; i < 3; ++i) subject.send(Ping{});
  wait_for_idle();
  const ActorInfo info = actor_info(subject.pid()).value();
  EXPECT_EQ(info.pid, subject.pid());
  EXPECT_NE(info.type.find("Subject"), std::string_view::npos);
  EXPECT_FALSE(info.parent);
  EXPECT_EQ(info.state, ActorInfo::State::kIdle);
  EXPECT_EQ(info.core, 1 % cores());
  EXPECT_EQ(info.mailbox, 0u);
  EXPECT_EQ(info.handled, 3u);
  EXPECT_EQ(actor_info(child)->parent, parent);
  EXPECT_EQ(to_string(info.state), "idle");
}

TEST_P(ActorInfos, process_info_answers_while_the_target_runs_and_blocks) {
  const auto subject = runtime.spawn_with<Subject>(on_core(0));
  support::Event held;
  support::Event release;
  subject.send(Hold(&held, &release));
  ASSERT_TRUE(held.wait());
  EXPECT_TRUE(support::eventually([&] {
    const auto state = state_of(subject.pid());
    return state == ActorInfo::State::kRunning || state == ActorInfo::State::kStuck;
  }));
  release.set();
  subject.send(Sleep{});
  EXPECT_TRUE(
      support::eventually([&] { return state_of(subject.pid()) == ActorInfo::State::kBlocked; }));
}

// However many messages wait.
TEST_P(ActorInfos, process_info_counts_a_backlog) {
  std::atomic<bool> seen{false};
  runtime.spawn_with(begun_on(0), [&] {
    const auto subject = bulkhead::spawn_with<Subject>(pinned_to(0));
    subject.send(Sleep{});
    this_actor::sleep_for(1ms);
    for (int i = 0; i < 10'000; ++i) subject.send(Ping{});
    seen = actor_info(subject.pid())->mailbox == 10'000;
  });
  EXPECT_TRUE(support::eventually([&] { return seen.load(); }));
}

TEST_P(ActorInfos, process_info_of_nobody_and_of_the_dead_is_none) {
  const Pid pid = runtime.spawn_with(on_core(0), [] {});
  wait_for_idle();
  EXPECT_FALSE(actor_info(pid).has_value());
  EXPECT_FALSE(actor_info(Pid()).has_value());
  EXPECT_FALSE(actor_info(Pid(16'000'000, 7)).has_value());
}

// Two that look at each other all the time.
TEST_P(ActorInfos, process_info_never_deadlocks_under_mutual_inspection) {
  std::atomic<Pid> others[2];
  std::atomic<int> done{0};
  for (std::size_t i = 0; i < 2; ++i) {
    others[i] = runtime.spawn_with(on_core(i), [&, i] {
      for (int k = 0; k < 10'000; ++k) static_cast<void>(actor_info(others[1 - i].load()));
      ++done;
    });
  }
  EXPECT_TRUE(support::eventually([&] { return done == 2; }));
}

TEST_P(ActorInfos, processes_are_all_that_live) {
  EXPECT_TRUE(runtime.actors().empty());
  std::vector<Pid> made;
  for (std::size_t i = 0; i < 100; ++i)
    made.push_back(runtime.spawn_with<Subject>(on_core(i)).pid());
  wait_for_idle();
  auto found = runtime.actors();
  std::sort(made.begin(), made.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, made);
  std::size_t seen = 0;
  runtime.spawn_with(on_core(0), [&] { seen = bulkhead::actors().size(); });
  wait_for_idle();
  EXPECT_EQ(seen, 101u);
  EXPECT_THROW(static_cast<void>(bulkhead::actors()), std::logic_error);
}

// Who lives all the time is in each snapshot; who had ended before is in none.
TEST_P(ActorInfos, processes_is_consistent_under_churn) {
  std::set<Pid> stay;
  for (std::size_t i = 0; i < 50; ++i) stay.insert(runtime.spawn_with<Subject>(on_core(i)).pid());
  std::atomic<bool> over{false};
  std::atomic<int> churners{0};
  for (std::size_t i = 0; i < 2 * cores(); ++i) {
    ++churners;
    runtime.spawn_with(on_core(i), [&] {
      while (!over) {
        for (int k = 0; k < 20; ++k) bulkhead::spawn([] {});
        this_actor::yield();
      }
      --churners;
    });
  }
  const auto end = support::Clock::now() + support::stress_time() / 4;
  std::set<Pid> dead;
  while (support::Clock::now() < end) {
    const auto found = runtime.actors();
    const std::set<Pid> all(found.begin(), found.end());
    EXPECT_EQ(all.size(), found.size());
    for (const Pid pid : stay) EXPECT_TRUE(all.contains(pid));
    for (const Pid pid : all) EXPECT_FALSE(dead.contains(pid));
    for (const Pid pid : found) {
      if (!stay.contains(pid) && !actor_info(pid)) dead.insert(pid);
    }
  }
  over = true;
  EXPECT_TRUE(support::eventually([&] { return churners == 0; }));
}

}  // namespace
