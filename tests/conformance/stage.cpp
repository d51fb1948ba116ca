// B1, B5, B6, B14, B17: actors on the calling thread, in rounds.
#include "bulkhead/stage.hpp"

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/live.hpp"
#include "support/wait.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;
using support::kDeadline;

StageConfig config_for(std::size_t actors) {
  StageConfig config;
  config.actors = actors;
  config.log.format = LogFormat::kOff;
  return config;
}

// Notes what it handles.
class Noting {
 public:
  Noting(std::string& notes, char name) : notes_(notes), name_(name) {}
  void receive(int number) {
    notes_ += name_;
    notes_ += static_cast<char>('0' + number);
    notes_ += ' ';
  }

 private:
  std::string& notes_;
  char name_;
};

// Sends itself a message for each that it has.
class Endless {
 public:
  explicit Endless(long& handled) : handled_(handled) {}
  void started() { this_actor::address(this).send(1); }
  void receive(int message) {
    ++handled_;
    this_actor::address(this).send(message);
  }

 private:
  long& handled_;
};

TEST(Stages, run_until_nobody_lives) {
  Stage stage(config_for(2));
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  int calls = 0;
  stage.spawn([&calls] { ++calls; });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stage.stats().actors_started, 1);
  EXPECT_EQ(stage.stats().actors_ended, 1);
}

TEST(Stages, handle_one_message_of_each_in_a_round) {
  Stage stage(config_for(3));
  std::string notes;
  const auto a = stage.spawn<Noting>(notes, 'a');
  const auto b = stage.spawn<Noting>(notes, 'b');
  const auto c = stage.spawn<Noting>(notes, 'c');
  for (int i = 1; i <= 3; ++i) a.send(i);
  for (int i = 1; i <= 2; ++i) b.send(i);
  c.send(1);
  EXPECT_EQ(stage.run(0ms), Stage::End::kDeadline);
  EXPECT_EQ(notes.substr(0, 9), "a1 b1 c1 ");
  EXPECT_EQ(stage.run(10ms), Stage::End::kDeadline);
  EXPECT_EQ(notes, "a1 b1 c1 a2 b2 a3 ");
}

// Whoever is made ready by one of the round has its turn in the next.
TEST(Stages, leave_those_who_become_ready_to_the_next_round) {
  struct Passing {
    Passing(std::string& its_notes, char its_name, std::vector<Address<Passing>>& its_all)
        : notes(its_notes), name(its_name), all(its_all) {}
    void receive(int to) {
      notes += name;
      if (to >= 0) all[static_cast<std::size_t>(to)].send(-1);
    }
    std::string& notes;
    char name;
    std::vector<Address<Passing>>& all;
  };
  Stage stage(config_for(4));
  std::string notes;
  std::vector<Address<Passing>> all;
  for (const char name : {'a', 'b', 'c', 'd'})
    all.push_back(stage.spawn<Passing>(notes, name, all));
  all[0].send(3);  // a has d run
  all[1].send(0);  // b has a run again
  all[2].send(-1);
  EXPECT_EQ(stage.run(10ms), Stage::End::kDeadline);
  EXPECT_EQ(notes, "abcda");
}

TEST(Stages, do_the_same_each_time) {
  std::string first;
  for (int round = 0; round < 3; ++round) {
    Stage stage(config_for(20));
    std::string notes;
    struct Node {
      Node(std::string& its_notes, int its_number, std::vector<Address<Node>>& its_all)
          : notes(its_notes), number(its_number), all(its_all) {}
      void receive(int left) {
        notes += std::to_string(number) + " ";
        if (left == 0) return;
        all[static_cast<std::size_t>(number * 7 + left) % all.size()].send(left - 1);
        all[static_cast<std::size_t>(number * 3 + left) % all.size()].send(left - 1);
      }
      std::string& notes;
      int number;
      std::vector<Address<Node>>& all;
    };
    std::vector<Address<Node>> all;
    for (int i = 0; i < 20; ++i) all.push_back(stage.spawn<Node>(notes, i, all));
    all[0].send(6);
    EXPECT_EQ(stage.run(20ms), Stage::End::kDeadline);
    if (round == 0) first = notes;
    EXPECT_EQ(notes, first);
  }
  EXPECT_GT(first.size(), 200U);
}

TEST(Stages, meet_their_deadline_under_endless_mail) {
  Stage stage(config_for(2));
  long handled = 0;
  stage.spawn<Endless>(handled);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(stage.run(20ms), Stage::End::kDeadline);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kDeadline);
  EXPECT_GT(handled, 100);
  // Between rounds: one that is long is the last.
  const long before = handled;
  struct Slow {
    void receive(int /*message*/) { std::this_thread::sleep_for(30ms); }
  };
  const auto slow = stage.spawn<Slow>();
  slow.send(1);
  slow.send(1);
  EXPECT_EQ(stage.run_until(std::chrono::steady_clock::now() + 10ms), Stage::End::kDeadline);
  EXPECT_EQ(stage.stats().handled, static_cast<std::uint64_t>(handled + 2));
  EXPECT_GT(handled, before);
}

TEST(Stages, stop_when_they_are_asked) {
  Stage stage(config_for(2));
  long handled = 0;
  std::stop_source source;
  source.request_stop();
  stage.spawn<Endless>(handled);
  EXPECT_EQ(stage.run(kForever, source.get_token()), Stage::End::kStopped);
  std::stop_source later;
  std::jthread asks([&] {
    std::this_thread::sleep_for(5ms);
    later.request_stop();
  });
  EXPECT_EQ(stage.run(kForever, later.get_token()), Stage::End::kStopped);
  stage.shutdown();
  // Also when they sleep.
  stage.spawn([] { this_actor::sleep_for(kForever); });
  std::stop_source last;
  std::jthread asks_last([&] {
    std::this_thread::sleep_for(5ms);
    last.request_stop();
  });
  EXPECT_EQ(stage.run(kForever, last.get_token()), Stage::End::kStopped);
}

TEST(Stages, run_blocked_handlers_asks_and_timers) {
  struct Answering {
    int receive(int number) {
      this_actor::sleep_for(1ms);
      return number + 1;
    }
  };
  Stage stage(config_for(4));
  const auto answering = stage.spawn<Answering>();
  int answer = 0;
  stage.spawn([&answer, answering] {
    answer = answering.ask(41, kDeadline).value();
    stop(answering);
  });
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(answer, 42);
}

TEST(Stages, are_sent_to_and_woken_by_other_threads) {
  Stage stage(config_for(2));
  std::string notes;
  const auto a = stage.spawn<Noting>(notes, 'a');
  std::jthread sends([a] {
    std::this_thread::sleep_for(5ms);
    a.send(1);
    std::this_thread::sleep_for(5ms);
    stop(a);
  });
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(notes, "a1 ");
}

TEST(Stages, go_on_on_another_thread) {
  Stage stage(config_for(3));
  std::string notes;
  const auto a = stage.spawn<Noting>(notes, 'a');
  stage.spawn([a] {
    for (int i = 0; i < 4; ++i) {
      a.send(i);
      this_actor::sleep_for(1ms);
    }
    stop(a);
  });
  while (true) {
    Stage::End end = Stage::End::kDeadline;
    std::jthread([&] { end = stage.run(500us); }).join();
    if (end == Stage::End::kNobodyLives) break;
  }
  EXPECT_EQ(notes, "a0 a1 a2 a3 ");
}

TEST(Stages, bound_their_mailboxes) {
  StageConfig config = config_for(2);
  config.mailbox = 3;
  Stage stage(config);
  std::string notes;
  const auto a = stage.spawn<Noting>(notes, 'a');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.send(i), Delivery::kQueued);
  int kept = 3;
  EXPECT_EQ(a.try_send(kept), Delivery::kFull);
  EXPECT_EQ(kept, 3);
  EXPECT_EQ(stage.run(5ms), Stage::End::kDeadline);
  EXPECT_EQ(a.try_send(kept), Delivery::kQueued);
  EXPECT_EQ(stage.run(5ms), Stage::End::kDeadline);
  EXPECT_EQ(notes, "a0 a1 a2 a3 ");
}

TEST(Stages, have_room_for_so_many_actors) {
  Stage stage(config_for(10));
  for (int round = 0; round < 3; ++round) {
    std::vector<Pid> all;
    for (int i = 0; i < 10; ++i) {
      all.push_back(stage.spawn([] { this_actor::sleep_for(kForever); }));
    }
    EXPECT_THROW(stage.spawn([] {}), SpawnError);
    EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
    EXPECT_THROW(stage.spawn([] {}), SpawnError);
    for (const Pid pid : all) request_stop(pid);
    EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  }
  bool refused = false;
  stage.spawn([&refused] {
    for (int i = 0; i < 9; ++i) spawn([] { this_actor::sleep_for(1ms); });
    try {
      spawn([] {});
    } catch (const SpawnError&) {
      refused = true;
    }
  });
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_TRUE(refused);
}

TEST(Stages, have_so_many_timers) {
  struct Timing {
    explicit Timing(int& its_fired) : fired(its_fired) {}
    void started() {
      const auto me = this_actor::address(this);
      for (int i = 0; i < 2; ++i) timers.push_back(send_after<int>(1h, me, 1));
      EXPECT_THROW(send_after<int>(1h, me, 1), CapacityError);
      EXPECT_TRUE(cancel(timers[0]));
      send_after<int>(1ms, me, 2);
    }
    void receive(int message) {
      fired += message;
      if (message == 2) send_after<int>(1ms, this_actor::address(this), 3);
      if (message == 3) this_actor::stop();
    }
    std::vector<TimerRef> timers;
    int& fired;
  };
  StageConfig config = config_for(1);
  config.timers = 2;
  Stage stage(config);
  int fired = 0;
  stage.spawn<Timing>(fired);
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(fired, 5);
  fired = 0;
  stage.spawn<Timing>(fired);
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(fired, 5);
}

TEST(Stages, shut_down_and_are_used_again) {
  const long before = support::Live::values();
  Stage stage(config_for(4));
  Address<Noting> last;
  std::string notes;
  for (int round = 0; round < 3; ++round) {
    const auto a = stage.spawn<Noting>(notes, 'a');
    EXPECT_EQ(last.send(1), Delivery::kGone);
    last = a;
    stage.spawn([live = support::Live(1)] {
      const support::Live other(2);
      this_actor::sleep_for(kForever);
    });
    stage.spawn([live = support::Live(1)] {});
    if (round != 1) {
      EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
    }
    a.send(1);
    stage.shutdown();
    EXPECT_EQ(stage.stats().actors(), 0);
    EXPECT_EQ(support::Live::values(), before);
    stage.shutdown();
  }
  EXPECT_EQ(notes, "");
  EXPECT_EQ(stage.stats().actors_started, 9);
  stage.spawn([live = support::Live(1)] { this_actor::sleep_for(kForever); });
}

TEST(Stages, show_the_state_of_actors_between_runs) {
  struct Counting {
    void receive(int by) { count += by; }
    int count = 0;
  };
  struct Other {
    void receive(int /*by*/) {}
  };
  Stage stage(config_for(3));
  Stage elsewhere(config_for(1));
  SpawnOptions isolated;
  isolated.isolated.emplace();
  const auto plain = stage.spawn<Counting>();
  const auto walled = stage.spawn_with<Counting>(isolated);
  ASSERT_NE(stage.node(plain), nullptr);
  EXPECT_EQ(stage.node(plain)->count, 0);
  EXPECT_EQ(stage.node(walled), nullptr);  // it makes itself, in its first turn
  EXPECT_EQ(elsewhere.node(plain), nullptr);
  EXPECT_EQ(stage.node(Address<Other>(plain.pid())), nullptr);
  EXPECT_EQ(stage.node(Address<Counting>()), nullptr);
  plain.send(2);
  walled.send(3);
  EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
  EXPECT_EQ(stage.node(plain)->count, 2);
  ASSERT_NE(stage.node(walled), nullptr);
  EXPECT_EQ(stage.node(walled)->count, 3);
  stop(plain);
  EXPECT_EQ(stage.run(1ms), Stage::End::kDeadline);
  EXPECT_EQ(stage.node(plain), nullptr);
  const auto next = stage.spawn<Counting>();  // in the same slot
  EXPECT_EQ(stage.node(plain), nullptr);
  EXPECT_NE(stage.node(next), nullptr);
}

TEST(Stages, contain_traps) {
  struct Trapping {
    void receive(int* /*nowhere*/) = delete;
    void receive(int how) {
      std::vector<char> garbage(1000, 'x');
      volatile std::uintptr_t nowhere = 4;  // which the compiler must not see
      if (how == 1) *reinterpret_cast<volatile int*>(nowhere) = 1;
      if (how == 2) std::abort();
    }
  };
  Stage stage(config_for(3));
  SpawnOptions isolated;
  isolated.isolated.emplace();
  std::string notes;
  const auto a = stage.spawn<Noting>(notes, 'a');
  for (int how = 1; how <= 2; ++how) {
    const auto trapping = stage.spawn_with<Trapping>(isolated);
    trapping.send(how);
    a.send(how);
    EXPECT_EQ(stage.run(5ms), Stage::End::kDeadline);
    EXPECT_EQ(stage.node(trapping), nullptr);
  }
  EXPECT_EQ(notes, "a1 a2 ");
  EXPECT_EQ(stage.stats().actors_trapped, 2);
}

TEST(Stages, refuse_what_makes_no_sense) {
  const auto refused = [](auto change) {
    StageConfig config = config_for(1);
    change(config);
    try {
      const Stage stage(config);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](StageConfig& c) { c.actors = 0; }),
            "bulkhead: StageConfig::actors is 0; it must be 1 to 1048576");
  EXPECT_EQ(refused([](StageConfig& c) { c.actors = 1048577; }),
            "bulkhead: StageConfig::actors is 1048577; it must be 1 to 1048576");
  EXPECT_EQ(refused([](StageConfig& c) { c.mailbox = 0; }),
            "bulkhead: StageConfig::mailbox is 0; it must be 1 to 1000000");
  EXPECT_EQ(refused([](StageConfig& c) { c.message_bytes = 4000; }),
            "bulkhead: StageConfig::message_bytes is 4000; it must be 1 to 3072");
  EXPECT_EQ(refused([](StageConfig& c) { c.timers = 16777217; }),
            "bulkhead: StageConfig::timers is 16777217; it must be 0 to 16777216");
  EXPECT_EQ(refused([](StageConfig& c) { c.stack_size = 1; }),
            "bulkhead: Config::stack_size is 1 bytes; it must be 16 KiB to 1 GiB");
  EXPECT_EQ(refused([](StageConfig&) {}), "");
  // Each in its bounds, and together more than there is.
  const std::string much = refused([](StageConfig& c) {
    c.actors = 1'000'000;
    c.mailbox = 1'000'000;
  });
  EXPECT_EQ(much.find("bulkhead: StageConfig: the mailboxes of 1000000 actors, with 1000000 "
                      "messages each, would take 64000000000000 bytes; the machine has "),
            0U)
      << much;
}

TEST(Stages, are_for_threads_outside) {
  Stage stage(config_for(2));
  int refused = 0;
  stage.spawn([&] {
    try {
      static_cast<void>(stage.run());
    } catch (const std::logic_error&) {
      ++refused;
    }
    try {
      stage.shutdown();
    } catch (const std::logic_error&) {
      ++refused;
    }
    try {
      const Stage inner(config_for(1));
    } catch (const std::logic_error&) {
      ++refused;
    }
    SpawnOptions own;
    own.own_thread = true;
    try {
      spawn_with(own, [] {});
    } catch (const SpawnError&) {
      ++refused;
    }
  });
  EXPECT_EQ(stage.run(), Stage::End::kNobodyLives);
  EXPECT_EQ(refused, 4);
  // Nor by two at a time.
  std::atomic<bool> runs{false};
  stage.spawn([&] {
    runs = true;
    this_actor::sleep_for(50ms);
  });
  std::jthread other([&] { stage.run(); });
  EXPECT_TRUE(support::eventually([&] { return runs.load(); }));
  EXPECT_THROW(stage.run(), std::logic_error);
  EXPECT_THROW(stage.shutdown(), std::logic_error);
}

}  // namespace
