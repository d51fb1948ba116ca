// C12: links and exits: who is linked ends with the other, or hears of it.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Config;
using bulkhead::Delivery;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::Mailbox;
using bulkhead::Pid;
using bulkhead::SpawnOptions;
using namespace std::chrono_literals;

struct Hold {};

using Trapper = Mailbox<Exited, int>;

class Links : public support::OnCores {
 protected:
  Links() : runtime(with_log(this)) { runtime.start(); }
  ~Links() override { runtime.shutdown(0ms); }
  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline)); }
  /// How that actor has ended; it has.
  Exit end_of(Pid pid) {
    for (const auto& [actor, exit] : ends.entries()) {
      if (actor == pid) return exit;
    }
    ADD_FAILURE() << to_string(pid) << " lives";
    return Exit();
  }
  [[nodiscard]] bool lives(Pid pid) {
    for (const auto& end : ends.entries()) {
      if (end.first == pid) return false;
    }
    return true;
  }
  /// One that waits until it is ended.
  Pid sleeper(std::size_t core) {
    return runtime.spawn_with(on_core(core), [] { this_actor::sleep_for(1h); });
  }
  /// One that links itself to the others, and then waits.
  Pid linked_to(std::size_t core, std::vector<Pid> others) {
    const Pid pid = runtime.spawn_with(on_core(core), [others, this] {
      for (const Pid other : others) this_actor::link(other);
      ++linked;
      this_actor::sleep_for(1h);
    });
    const int wanted = ++makes;
    EXPECT_TRUE(support::eventually([&] { return linked >= wanted; }));
    return pid;
  }
  [[nodiscard]] bool ended(std::size_t number) {
    return support::eventually([&] { return ends.entries().size() == number; });
  }

  support::Log<std::pair<Pid, Exit>> ends;
  std::atomic<int> linked{0};
  int makes = 0;
  bulkhead::Runtime runtime;

 private:
  static Config with_log(Links* self) {
    Config config = Links::config();
    config.on_death = [self](const bulkhead::Death& death) {
      self->ends.add({death.actor, death.exit});
    };
    return config;
  }
};
ON_ONE_AND_SEVERAL_CORES(Links);

TEST_P(Links, take_along_who_is_linked_for_the_same_reason) {
  for (const std::size_t core : {0u, 1u}) {
    const Pid first = sleeper(0);
    const Pid second = linked_to(core, {first});
    const Pid third = linked_to(core + 1, {second});
    const std::size_t before = ends.entries().size();
    EXPECT_EQ(bulkhead::exit(first, Exit::custom("overboard")), Delivery::kQueued);
    ASSERT_TRUE(ended(before + 3));
    for (const Pid pid : {first, second, third}) EXPECT_EQ(to_string(end_of(pid)), "overboard");
  }
}

TEST_P(Links, take_along_the_other_way_as_well) {
  const Pid first = sleeper(0);
  const Pid second = linked_to(1, {first});
  EXPECT_EQ(bulkhead::kill(second), Delivery::kQueued);
  ASSERT_TRUE(ended(2));
  EXPECT_EQ(end_of(first), Exit::killed());
  EXPECT_EQ(end_of(second), Exit::killed());
}

TEST_P(Links, do_not_spread_a_normal_end) {
  struct Ends {
    void receive(Hold) { this_actor::stop(); }
  };
  const auto ends_normally = runtime.spawn_with<Ends>(on_core(0));
  const Pid first = ends_normally.pid();
  const Pid second = linked_to(1, {first});
  ends_normally.send(Hold{});
  ASSERT_TRUE(ended(1));
  EXPECT_TRUE(end_of(first).is_normal());
  std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(lives(second));
}

TEST_P(Links, go_along_a_whole_chain) {
  std::vector<Pid> chain{sleeper(0)};
  for (std::size_t i = 1; i < 100; ++i) chain.push_back(linked_to(i, {chain.back()}));
  EXPECT_EQ(bulkhead::kill(chain[50]), Delivery::kQueued);
  ASSERT_TRUE(ended(100));
  for (const Pid pid : chain) EXPECT_EQ(end_of(pid), Exit::killed());
}

TEST_P(Links, can_be_undone) {
  const Pid first = sleeper(0);
  std::atomic<bool> undone{false};
  const Pid second = runtime.spawn_with(on_core(1), [&] {
    for (int i = 0; i < 3; ++i) {
      this_actor::link(first);
      this_actor::link(first);  // is one link
      this_actor::unlink(first);
    }
    undone = true;
    this_actor::sleep_for(1h);
  });
  ASSERT_TRUE(support::eventually([&] { return undone.load(); }));
  EXPECT_EQ(bulkhead::kill(first), Delivery::kQueued);
  ASSERT_TRUE(ended(1));
  std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(lives(second));
}

TEST_P(Links, become_messages_where_exits_are_trapped) {
  for (const std::size_t core : {0u, 1u}) {
    const Pid first = sleeper(0);
    support::Event ran;
    runtime.spawn_with<Trapper>(on_core(core), [&](Trapper& mailbox) {
      EXPECT_FALSE(this_actor::trap_exits(true));
      EXPECT_TRUE(this_actor::trap_exits(true));
      this_actor::link(first);
      EXPECT_EQ(bulkhead::exit(first, Exit::custom("out")), Delivery::kQueued);
      const Exited exited = mailbox.next<Exited>();
      EXPECT_EQ(exited.actor, first);
      EXPECT_EQ(to_string(exited.exit), "out");
      auto options = on_core(1);
      options.linked = true;
      const Pid child = bulkhead::spawn_with(options, [] {});  // a normal end is told as well
      const Exited normal = mailbox.next<Exited>();
      EXPECT_EQ(normal.actor, child);
      EXPECT_TRUE(normal.exit.is_normal());
      this_actor::link(first);  // which is no more
      EXPECT_EQ(mailbox.next<Exited>().exit, Exit::no_actor());
      EXPECT_FALSE(mailbox.next_for<Exited>(5ms).has_value());
      ran.set();
    });
    EXPECT_TRUE(ran.wait());
  }
}

TEST_P(Links, to_nobody_end_who_makes_them) {
  const Pid dead = sleeper(1);
  EXPECT_EQ(bulkhead::kill(dead), Delivery::kQueued);
  ASSERT_TRUE(ended(1));
  std::atomic<bool> went_on{false};
  const Pid maker = runtime.spawn_with(on_core(0), [&] {
    this_actor::link(dead);
    this_actor::sleep_for(10ms);
    went_on = true;
  });
  ASSERT_TRUE(ended(2));
  EXPECT_EQ(end_of(maker), Exit::no_actor());
  EXPECT_FALSE(went_on);
}

TEST_P(Links, are_there_from_the_first_moment_of_a_spawn) {
  std::vector<Pid> parents;
  for (std::size_t i = 0; i < 50; ++i) {
    parents.push_back(runtime.spawn_with(on_core(0), [i] {
      auto options = on_core(i);
      options.linked = true;
      bulkhead::spawn_with(options, [] { throw std::runtime_error("at once"); });
      this_actor::sleep_for(1h);
    }));
  }
  ASSERT_TRUE(ended(100));
  for (const Pid parent : parents) EXPECT_EQ(end_of(parent).message(), "at once");
}

TEST_P(Links, of_those_who_link_to_each_other_are_one) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ready{0};
    std::atomic<Pid> other{Pid()};
    const std::size_t before = ends.entries().size();
    const auto body = [&](Pid to) {
      this_actor::link(to);
      this_actor::unlink(to);
      this_actor::link(to);
      ++ready;
      this_actor::sleep_for(1h);
    };
    const Pid first = runtime.spawn_with(on_core(0), [&] {
      while (!other.load()) this_actor::yield();
      body(other);
    });
    other = runtime.spawn_with(on_core(1), [&] { body(first); });
    ASSERT_TRUE(support::eventually([&] { return ready == 2; }));
    EXPECT_EQ(bulkhead::kill(round % 2 == 0 ? first : other.load()), Delivery::kQueued);
    ASSERT_TRUE(ended(before + 2));
  }
}

class Exits : public Links {};
ON_ONE_AND_SEVERAL_CORES(Exits);

TEST_P(Exits, that_are_normal_end_nobody_else_but_the_sender_itself) {
  const Pid other = sleeper(1);
  EXPECT_EQ(bulkhead::exit(other, Exit::normal()), Delivery::kQueued);
  std::atomic<bool> went_on{false};
  const Pid self = runtime.spawn_with(on_core(0), [&] {
    bulkhead::exit(this_actor::pid(), Exit::normal());
    went_on = true;
  });
  ASSERT_TRUE(ended(1));
  EXPECT_TRUE(end_of(self).is_normal());
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(lives(other));
}

TEST_P(Exits, come_in_order_with_messages) {
  std::vector<int> seen;
  const auto trapper = runtime.spawn_with<Trapper>(on_core(0), [&](Trapper& mailbox) {
    this_actor::trap_exits(true);
    ++linked;
    for (int i = 0; i < 30; ++i) {
      mailbox.next([&](Exited exited) { seen.push_back(std::stoi(to_string(exited.exit))); },
                   [&](int number) { seen.push_back(number); });
    }
  });
  ASSERT_TRUE(support::eventually([&] { return linked == 1; }));
  runtime.spawn_with(on_core(1), [trapper] {
    for (int i = 0; i < 30; ++i) {
      if (i % 3 == 0) {
        bulkhead::exit(trapper, Exit::custom(std::to_string(i)));
      } else {
        trapper.send(i);
      }
    }
  });
  ASSERT_TRUE(ended(2));
  ASSERT_EQ(seen.size(), 30u);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST_P(Exits, the_first_reason_stands) {
  const Pid other = sleeper(1);
  runtime.spawn_with(on_core(0), [other] {
    bulkhead::exit(other, Exit::custom("first"));
    bulkhead::exit(other, Exit::custom("second"));
    bulkhead::kill(other);
  });
  ASSERT_TRUE(ended(2));
  EXPECT_EQ(to_string(end_of(other)), "first");
}

TEST_P(Exits, kill_also_who_traps_them_and_who_hears_requests_to_stop) {
  const auto trapper = runtime.spawn_with<Trapper>(on_core(1), [&](Trapper& mailbox) {
    this_actor::trap_exits(true);
    ++linked;
    static_cast<void>(mailbox.next<int>());
  });
  const Pid hears = runtime.spawn_with(on_core(0), [&] {
    ++linked;
    for (;;) bulkhead::select(bulkhead::on_stop([] {}), bulkhead::after(1h, [] {}));
  });
  ASSERT_TRUE(support::eventually([&] { return linked == 2; }));
  EXPECT_EQ(bulkhead::kill(trapper), Delivery::kQueued);
  EXPECT_EQ(bulkhead::kill(hears), Delivery::kQueued);
  ASSERT_TRUE(ended(2));
  EXPECT_EQ(end_of(trapper.pid()), Exit::killed());
  EXPECT_EQ(end_of(hears), Exit::killed());
}

TEST_P(Exits, say_no_when_there_is_nobody) {
  const Pid dead = sleeper(0);
  EXPECT_EQ(bulkhead::kill(dead), Delivery::kQueued);
  ASSERT_TRUE(ended(1));
  EXPECT_EQ(bulkhead::exit(dead, Exit::killed()), Delivery::kGone);
  EXPECT_EQ(bulkhead::kill(Pid()), Delivery::kGone);
}

TEST_P(Exits, carry_reasons_of_any_length) {
  const std::string reason(1'000'000, 'x');
  const Pid first = sleeper(0);
  const Pid second = linked_to(1, {first});
  EXPECT_EQ(bulkhead::exit(first, Exit::shutdown(reason)), Delivery::kQueued);
  ASSERT_TRUE(ended(2));
  EXPECT_EQ(end_of(second).message(), reason);
  EXPECT_EQ(end_of(second).kind(), Exit::Kind::kShutdown);
}

TEST_P(Exits, of_ones_own_say_why) {
  struct Stops {
    void receive(Hold) { this_actor::stop(Exit::custom("done")); }
  };
  const auto stops = runtime.spawn_with<Stops>(on_core(1));
  stops.send(Hold{});
  ASSERT_TRUE(ended(1));
  EXPECT_EQ(to_string(end_of(stops.pid())), "done");
}

// A runtime is not idle while somebody is yet to end.
TEST_P(Exits, are_carried_out_before_the_runtime_is_idle) {
  for (int i = 0; i < 20; ++i) {
    std::vector<Pid> chain{sleeper(0)};
    for (std::size_t k = 1; k < 5; ++k) chain.push_back(linked_to(k, {chain.back()}));
    EXPECT_EQ(bulkhead::kill(chain[2]), Delivery::kQueued);
    wait_for_idle();
    for (const Pid pid : chain) EXPECT_FALSE(lives(pid));
  }
}

}  // namespace
