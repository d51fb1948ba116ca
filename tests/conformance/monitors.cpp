// C12: monitors: one message Down for each, whenever and however the other ends.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Mailbox;
using bulkhead::MonitorRef;
using bulkhead::Pid;
using bulkhead::SpawnOptions;
using namespace std::chrono_literals;

struct Hold {};
struct Fail {};

/// Ends when it is told to.
struct Other {
  void receive(Hold) { this_actor::stop(); }
  void receive(Fail) { throw std::runtime_error("it failed"); }
};

using Box = Mailbox<Down>;

class Monitors : public support::Running {
 protected:
  /// Runs in an actor that can be told.
  template <class F>
  void run(F body) {
    support::Event ran;
    runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
      body(mailbox);
      ran.set();
    });
    EXPECT_TRUE(ran.wait());
  }
  /// None that is more than on its way.
  static bool nothing_more(Box& mailbox) { return !mailbox.next_for<Down>(10ms).has_value(); }
};
ON_ONE_AND_SEVERAL_CORES(Monitors);

// B7: those that are in a mailbox, or on their way to it, when its actor ends.
TEST_P(Monitors, whose_actors_have_ended_are_counted_when_their_news_come) {
  support::Event go;
  std::vector<bulkhead::Address<Other>> others;
  for (std::size_t i = 0; i < 10; ++i) others.push_back(runtime.spawn_with<Other>(on_core(i)));
  runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
    std::vector<MonitorRef> monitors;
    for (const auto& other : others) monitors.push_back(this_actor::monitor(other));
    for (const auto& other : others) other.send(Hold{});
    for (int i = 0; i < 3; ++i) std::erase(monitors, mailbox.next<Down>().monitor);
    while (runtime.stats().actors_ended < 10) this_actor::sleep_for(1ms);
    static_cast<void>(this_actor::demonitor(monitors.back(), this_actor::Flush::kYes));
    go.set();
  });
  EXPECT_TRUE(go.wait());
  wait_for_idle();
  EXPECT_EQ(runtime.stats().downs_lost, 6u);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 0u);
}

TEST_P(Monitors, tell_how_an_actor_has_ended) {
  for (const std::size_t core : {0u, 1u}) {
    const auto normal = runtime.spawn_with<Other>(on_core(core));
    const auto failing = runtime.spawn_with<Other>(on_core(core));
    const auto stopped = runtime.spawn_with<Other>(on_core(core));
    run([&](Box& mailbox) {
      const MonitorRef first = this_actor::monitor(normal);
      normal.send(Hold{});
      Down down = mailbox.next<Down>();
      EXPECT_EQ(down.monitor, first);
      EXPECT_EQ(down.actor, normal.pid());
      EXPECT_EQ(down.exit, Exit::normal());
      this_actor::monitor(failing);
      failing.send(Fail{});
      down = mailbox.next<Down>();
      EXPECT_EQ(down.actor, failing.pid());
      EXPECT_EQ(down.exit.message(), "it failed");
      this_actor::monitor(stopped);
      EXPECT_EQ(bulkhead::request_stop(stopped), bulkhead::Delivery::kQueued);
      EXPECT_EQ(mailbox.next<Down>().exit, Exit::stopped());
      EXPECT_TRUE(nothing_more(mailbox));
    });
  }
}

TEST_P(Monitors, of_the_dead_tell_at_once) {
  for (const std::size_t core : {0u, 1u}) {
    const auto dead = runtime.spawn_with<Other>(on_core(core));
    dead.send(Hold{});
    wait_for_idle();
    run([&](Box& mailbox) {
      for (const Pid pid : {dead.pid(), Pid()}) {
        const MonitorRef monitor = this_actor::monitor(pid);
        const auto down = mailbox.next_for<Down>(support::kDeadline);
        ASSERT_TRUE(down.has_value());
        EXPECT_EQ(down->monitor, monitor);
        EXPECT_EQ(down->actor, pid);
        EXPECT_EQ(down->exit, Exit::no_actor());
      }
    });
  }
}

TEST_P(Monitors, stack_up) {
  const auto other = runtime.spawn_with<Other>(on_core(1));
  run([&](Box& mailbox) {
    std::vector<MonitorRef> monitors;
    for (int i = 0; i < 10; ++i) monitors.push_back(this_actor::monitor(other));
    EXPECT_TRUE(this_actor::demonitor(monitors[3]));
    monitors.erase(monitors.begin() + 3);
    other.send(Hold{});
    for (std::size_t i = 0; i < monitors.size(); ++i) {
      const Down down = mailbox.next<Down>();
      EXPECT_EQ(std::erase(monitors, down.monitor), 1u);
      --i;
    }
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

TEST_P(Monitors, tell_nothing_after_demonitor) {
  for (const std::size_t core : {0u, 1u}) {
    const auto other = runtime.spawn_with<Other>(on_core(core));
    run([&](Box& mailbox) {
      const MonitorRef monitor = this_actor::monitor(other);
      EXPECT_TRUE(this_actor::demonitor(monitor));
      EXPECT_FALSE(this_actor::demonitor(monitor)) << "it is over";
      EXPECT_FALSE(this_actor::demonitor(MonitorRef()));
      other.send(Hold{});
      EXPECT_TRUE(nothing_more(mailbox));
    });
  }
}

TEST_P(Monitors, can_be_flushed) {
  const auto other = runtime.spawn_with<Other>(on_core(1));
  run([&](Box& mailbox) {
    const MonitorRef kept = this_actor::monitor(other);
    const MonitorRef flushed = this_actor::monitor(other);
    other.send(Hold{});
    this_actor::sleep_for(20ms);  // both are in the mailbox, or come
    static_cast<void>(this_actor::demonitor(flushed, this_actor::Flush::kYes));
    EXPECT_EQ(mailbox.next<Down>().monitor, kept);
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

TEST_P(Monitors, of_oneself_have_no_effect) {
  run([&](Box& mailbox) {
    static_cast<void>(this_actor::monitor(this_actor::pid()));
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

TEST_P(Monitors, begin_with_the_spawn) {
  run([&](Box& mailbox) {
    for (std::size_t i = 0; i < 100; ++i) {
      MonitorRef monitor;
      auto options = on_core(i);
      options.monitor = &monitor;
      const Pid child = bulkhead::spawn_with(options, [] {});
      const Down down = mailbox.next<Down>();
      EXPECT_EQ(down.monitor, monitor);
      EXPECT_EQ(down.actor, child);
      EXPECT_EQ(down.exit, Exit::normal());
    }
    EXPECT_TRUE(nothing_more(mailbox));
  });
}

// An answer of true says that no Down comes, one of false that it is there.
TEST_P(Monitors, and_an_end_at_the_same_time) {
  run([&](Box& mailbox) {
    int told = 0;
    for (int i = 0; i < 2000; ++i) {
      MonitorRef monitor;
      auto options = on_core(1);
      options.monitor = &monitor;
      bulkhead::spawn_with(options, [] {});
      for (int turn = 0; turn < i % 5; ++turn) this_actor::yield();
      const bool none = this_actor::demonitor(monitor);
      const auto down = mailbox.next_for<Down>(0ms);
      ASSERT_EQ(none, !down.has_value());
      if (down) ++told;
    }
    EXPECT_TRUE(nothing_more(mailbox));
    EXPECT_LE(told, 2000);
  });
}

TEST_P(Monitors, are_refused_where_nobody_could_be_told) {
  bool refused = false;
  bool refused_at_spawn = false;
  runtime.spawn([&] {
    try {
      static_cast<void>(this_actor::monitor(this_actor::pid()));
    } catch (const std::logic_error& error) {
      refused = std::string_view(error.what()).find("receive(bulkhead::Down)") != std::string::npos;
    }
    try {
      MonitorRef monitor;
      bulkhead::spawn_with({.monitor = &monitor}, [] {});
    } catch (const bulkhead::ConfigError&) {
      refused_at_spawn = true;
    }
  });
  wait_for_idle();
  EXPECT_TRUE(refused);
  EXPECT_TRUE(refused_at_spawn);
  EXPECT_THROW(static_cast<void>(this_actor::monitor(Pid())), std::logic_error);
  EXPECT_THROW(runtime.spawn_with({.linked = true}, [] {}), bulkhead::ConfigError);
}

}  // namespace
