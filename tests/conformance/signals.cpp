// C12: signals: in which order they arrive, that no one is lost or comes late, and that none
// waits behind messages. Named after the lines of OTP's signal_SUITE, process_SUITE and
// monitor_SUITE whose behaviours they check. What Erlang does was tried with OTP 25.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::Mailbox;
using bulkhead::MonitorRef;
using bulkhead::Pid;
using bulkhead::this_actor::Flush;
using namespace std::chrono_literals;

struct Stop {};
struct Sleep {};

/// Ends when it is told to.
struct Other {
  void receive(Stop /*message*/) { this_actor::stop(); }
  void receive(Sleep /*message*/) { this_actor::sleep_for(1h); }
  void receive(int /*message*/) {}
};

using Box = Mailbox<Down, Exited, int>;

class Signals : public support::OnCores {
 protected:
  Signals() : runtime(with_log(this)) { runtime.start(); }
  ~Signals() override { runtime.shutdown(0ms); }

  template <class F>
  void run(F body) {
    support::Event ran;
    runtime.spawn_with<Box>(on_core(0), [&](Box& mailbox) {
      body(mailbox);
      ran.set();
    });
    ASSERT_TRUE(ran.wait());
  }
  static Address<Other> other(std::size_t core) {
    return bulkhead::spawn_with<Other>(on_core(core));
  }
  [[nodiscard]] Exit end_of(Pid pid) {
    Exit exit;
    EXPECT_TRUE(support::eventually([&] {
      for (const auto& [actor, why] : ends.entries()) {
        if (actor != pid) continue;
        exit = why;
        return true;
      }
      return false;
    })) << to_string(pid);
    return exit;
  }
  [[nodiscard]] bool lives(Pid pid) {
    const auto all = ends.entries();
    return std::ranges::none_of(all, [pid](const auto& end) { return end.first == pid; });
  }

  support::Log<std::pair<Pid, Exit>> ends;
  bulkhead::Runtime runtime;

 private:
  static bulkhead::Config with_log(Signals* self) {
    bulkhead::Config config = OnCores::config();
    config.on_death = [self](const bulkhead::Death& death) {
      self->ends.add({death.actor, death.exit});
    };
    return config;
  }
};
ON_ONE_AND_SEVERAL_CORES(Signals);

// --- signal order --------------------------------------------------------------------------------

// Who monitors first and then ends it hears how it has ended. The other way about there is none any
// more, so in Erlang always; or, here, it is on the way to its end, and that is told.
TEST_P(Signals, signal_order_of_monitors_and_exits) {
  run([&](Box& mailbox) {
    for (int i = 0; i < 200; ++i) {
      const auto core = static_cast<std::size_t>(i % 2);
      const auto first = other(core);
      this_actor::monitor(first);
      EXPECT_EQ(bulkhead::kill(first), Delivery::kQueued);
      EXPECT_EQ(mailbox.next<Down>().exit, Exit::killed());
      const auto second = other(core);
      EXPECT_EQ(bulkhead::exit(second, Exit::custom("out")), Delivery::kQueued);
      this_actor::monitor(second);
      const Exit exit = mailbox.next<Down>().exit;
      EXPECT_TRUE(exit == Exit::no_actor() || exit == Exit::custom("out")) << to_string(exit);
      const auto third = other(core);
      this_actor::monitor(third);
      third.send(Stop{});
      EXPECT_EQ(mailbox.next<Down>().exit, Exit::normal());
    }
  });
}

TEST_P(Signals, signal_order_of_links_and_exits) {
  run([&](Box& mailbox) {
    this_actor::trap_exits(true);
    for (int i = 0; i < 200; ++i) {
      const auto core = static_cast<std::size_t>(i % 2);
      const auto first = other(core);
      this_actor::link(first);
      bulkhead::exit(first, Exit::custom("out"));
      const auto exited = mailbox.next<Exited>();
      EXPECT_EQ(exited.actor, first.pid());
      EXPECT_EQ(exited.exit, Exit::custom("out"));
      const auto second = other(core);
      this_actor::link(second);
      this_actor::unlink(second);
      bulkhead::kill(second);
      const auto third = other(core);
      this_actor::link(third);
      this_actor::unlink(third);
      this_actor::link(third);
      bulkhead::kill(third);
      EXPECT_EQ(mailbox.next<Exited>().actor, third.pid()) << "not the second";
    }
    EXPECT_FALSE(mailbox.next_for<Exited>(5ms).has_value());
    EXPECT_TRUE(this_actor::links().empty());
  });
}

// What an actor has sent comes before the news of its end: messages, then the Exited and the Down.
TEST_P(Signals, signal_order_of_messages_and_the_end) {
  run([&](Box& mailbox) {
    this_actor::trap_exits(true);
    const auto self = mailbox.address();
    for (int i = 0; i < 100; ++i) {
      auto options = on_core(static_cast<std::size_t>(i % 2));
      MonitorRef monitor;
      options.linked = true;
      options.monitor = &monitor;
      bulkhead::spawn_with(options, [self, i] {
        for (int n = 0; n < 10; ++n) self.send(n);
        if (i % 3 == 0) this_actor::stop(Exit::custom("done"));
        if (i % 3 == 1) throw std::runtime_error("failed");
      });
      for (int n = 0; n < 10; ++n) {
        mailbox.next([n](int got) { EXPECT_EQ(got, n); },
                     [](const Down& /*down*/) { ADD_FAILURE() << "Down first"; },
                     [](const Exited& /*exited*/) { ADD_FAILURE() << "Exited first"; });
      }
      EXPECT_EQ(mailbox.next<Down>().monitor, monitor);
      static_cast<void>(mailbox.next<Exited>());
    }
  });
}

// --- kill, and signals in front of a backlog ----------------------------------------------------

// No signal waits behind messages: not an end, nor a link or a monitor, nor a look.
TEST_P(Signals, no_priority_inversion) {
  constexpr int kMany = 50'000;
  runtime.spawn_with<Box>(pinned_to(0), [this](Box& mailbox) {
    const auto busy = bulkhead::spawn_with<Other>(pinned_to(0));
    this_actor::monitor(busy);
    this_actor::trap_exits(true);
    busy.send(Sleep{});
    for (int i = 0; i < kMany; ++i) busy.send(i);
    this_actor::link(busy);
    bulkhead::exit(busy, Exit::custom("enough"));
    EXPECT_EQ(mailbox.next<Down>().exit, Exit::custom("enough"));
    EXPECT_EQ(mailbox.next<Exited>().exit, Exit::custom("enough"));
    ends.add({this_actor::pid(), Exit()});
  });
  ASSERT_TRUE(support::eventually([&] { return ends.size() >= 3; }));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_LT(runtime.stats().handled, 100u) << "what was in its mailbox is not handled any more";
}

// A flood of others does not keep one from hearing that it is to end.
TEST_P(Signals, kill_in_a_flood) {
  std::atomic<bool> over{false};
  std::atomic<int> flooding{0};
  const auto victim = runtime.spawn_with<Other>(on_core(1));
  for (std::size_t i = 0; i < 4; ++i) {
    runtime.spawn_with(on_core(i), [&] {
      ++flooding;
      while (!over && victim.send(1) == Delivery::kQueued) {
      }
      --flooding;
    });
  }
  ASSERT_TRUE(support::eventually([&] { return flooding == 4; }));
  EXPECT_EQ(bulkhead::kill(victim), Delivery::kQueued);
  EXPECT_EQ(end_of(victim.pid()), Exit::killed());
  over = true;
  EXPECT_TRUE(support::eventually([&] { return flooding == 0; })) << "they use what is here";
}

// --- t_exit -------------------------------------------------------------------------------------

// An exit that comes at the moment when a wait is over: it ends for that reason, whatever it waited
// with, and nothing is left of the wait.
TEST_P(Signals, t_exit_during_timeout) {
  std::atomic<int> through{0};
  for (int i = 0; i < 300; ++i) {
    const auto time = std::chrono::microseconds(100 + i % 7 * 20);
    const auto waiter = runtime.spawn_with<Box>(on_core(1), [&, i, time](Box& mailbox) {
      for (;;) {
        if (i % 3 == 0) this_actor::sleep_for(time);
        if (i % 3 == 1) static_cast<void>(mailbox.next_for<int>(time));
        if (i % 3 == 2) this_actor::yield();
        ++through;
      }
    });
    const auto end = support::Clock::now() + time;
    while (support::Clock::now() < end) std::this_thread::yield();
    bulkhead::exit(waiter, Exit::custom(std::to_string(i)));
    EXPECT_EQ(end_of(waiter.pid()), Exit::custom(std::to_string(i)));
  }
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

// The same where exits are trapped: each comes once, none is lost to a wait that is over.
TEST_P(Signals, t_exit_during_timeout_trapped) {
  constexpr int kMany = 500;
  std::atomic<int> trapped{0};
  support::Event ready;
  const auto waiter = runtime.spawn_with<Box>(on_core(1), [&](Box& mailbox) {
    this_actor::trap_exits(true);
    ready.set();
    for (int next = 0; next < kMany;) {
      const auto exited = mailbox.next_for<Exited>(50us);
      if (!exited) continue;
      EXPECT_EQ(to_string(exited->exit), std::to_string(next));
      ++next;
      ++trapped;
    }
  });
  ASSERT_TRUE(ready.wait());
  for (int i = 0; i < kMany; ++i) {
    bulkhead::exit(waiter, Exit::custom(std::to_string(i)));
    if (i % 2 == 0) support::burn(std::chrono::microseconds(40 + i % 20));
  }
  EXPECT_TRUE(support::eventually([&] { return trapped == kMany; }));
  EXPECT_EQ(end_of(waiter.pid()), Exit::normal());
}

// --- links --------------------------------------------------------------------------------------

// Both lists are empty after any ending.
TEST_P(Signals, links_are_gone_after_any_ending) {
  run([&](Box& mailbox) {
    this_actor::trap_exits(true);
    for (int how = 0; how < 6; ++how) {
      auto options = on_core(static_cast<std::size_t>(how));
      options.linked = true;
      const Pid pid = bulkhead::spawn_with(options, [how] {
        if (how == 0) return;
        if (how == 1) throw std::runtime_error("failed");
        if (how == 2) return this_actor::stop(Exit::shutdown());
        this_actor::sleep_for(1h);
      });
      if (how == 3) bulkhead::kill(pid);
      if (how == 4) bulkhead::request_stop(pid);
      if (how == 5) bulkhead::exit(pid, Exit::custom("out"));
      EXPECT_EQ(mailbox.next<Exited>().actor, pid);
      EXPECT_TRUE(this_actor::links().empty()) << how;
    }
    // Of one that was linked from the other end, too.
    const auto self = mailbox.address();
    const Pid pid = bulkhead::spawn_with(on_core(1), [self] {
      this_actor::link(self);
      EXPECT_EQ(this_actor::links(), std::vector<Pid>{self.pid()});
      self.send(1);
      this_actor::sleep_for(1h);
    });
    static_cast<void>(mailbox.next<int>());
    EXPECT_EQ(this_actor::links(), std::vector<Pid>{pid});
    bulkhead::kill(pid);
    EXPECT_EQ(mailbox.next<Exited>().actor, pid);
    EXPECT_TRUE(this_actor::links().empty());
  });
}

// Once unlink has returned nothing arrives, at whatever moment the other ends. With kYes what had
// come before is gone, too.
TEST_P(Signals, unlink_races_with_an_end) {
  run([&](Box& mailbox) {
    this_actor::trap_exits(true);
    for (int i = 0; i < 1000; ++i) {
      auto options = on_core(1);
      options.linked = true;
      const Pid pid = bulkhead::spawn_with(options, [i] {
        if (i % 2 == 0) throw std::runtime_error("failed");
      });
      for (int turn = 0; turn < i % 4; ++turn) this_actor::yield();
      const bool flush = i % 3 != 0;
      this_actor::unlink(pid, flush ? Flush::kYes : Flush::kNo);
      const auto before = mailbox.next_for<Exited>(0ms);
      if (flush) {
        EXPECT_FALSE(before.has_value());
      }
      if (i % 50 == 0) this_actor::sleep_for(1ms);
      EXPECT_FALSE(mailbox.next_for<Exited>(0ms).has_value()) << "it has come after unlink";
    }
    EXPECT_FALSE(mailbox.next_for<Exited>(10ms).has_value());
    EXPECT_TRUE(this_actor::links().empty());
  });
}

// The same where exits are not trapped: the unlinked one lives.
TEST_P(Signals, unlink_keeps_alive) {
  std::atomic<int> alive{0};
  for (int i = 0; i < 100; ++i) {
    runtime.spawn_with(on_core(0), [&, i] {
      const auto child = other(1);
      this_actor::link(child);
      for (int turn = 0; turn < i % 3; ++turn) this_actor::yield();
      this_actor::unlink(child);
      bulkhead::kill(child);
      this_actor::sleep_for(2ms);
      ++alive;
    });
  }
  EXPECT_TRUE(support::eventually([&] { return ends.size() == 200; }));
  EXPECT_EQ(alive, 100);
}

// Cycles end as a whole, once each.
TEST_P(Signals, cycles_of_links) {
  constexpr std::size_t kMany = 50;
  std::atomic<int> linked{0};
  std::vector<std::atomic<Pid>> pids(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    pids[i] = runtime.spawn_with(on_core(i), [&, i] {
      while (!pids[(i + 1) % kMany].load()) this_actor::yield();
      this_actor::link(pids[(i + 1) % kMany].load());
      this_actor::link(pids[i].load() ? pids[i].load() : this_actor::pid());  // and oneself
      ++linked;
      this_actor::sleep_for(1h);
    });
  }
  ASSERT_TRUE(support::eventually([&] { return linked == kMany; }));
  bulkhead::exit(pids[7].load(), Exit::custom("round"));
  for (const auto& pid : pids) EXPECT_EQ(end_of(pid.load()), Exit::custom("round"));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(ends.size(), kMany);
}

// Erlang: link(self()) and monitor(process, self()) do nothing, and no message comes.
TEST_P(Signals, oneself) {
  run([&](Box& mailbox) {
    this_actor::trap_exits(true);
    const Pid self = this_actor::pid();
    this_actor::link(self);
    EXPECT_TRUE(this_actor::links().empty());
    this_actor::unlink(self);
    static_cast<void>(this_actor::demonitor(this_actor::monitor(self)));
    EXPECT_FALSE(mailbox.next_for<Down>(1ms).has_value());
    bulkhead::exit(self, Exit::custom("note"));  // to oneself it is trapped like any other
    EXPECT_EQ(mailbox.next<Exited>().actor, self);
  });
}

// Two that monitor each other, and what each is told.
TEST_P(Signals, cycles_of_monitors) {
  run([&](Box& mailbox) {
    const auto self = mailbox.address();
    const auto partner = bulkhead::spawn_with<Box>(on_core(1), [self](Box& box) {
      this_actor::monitor(self);
      self.send(1);
      static_cast<void>(box.next<int>());
    });
    this_actor::monitor(partner);
    static_cast<void>(mailbox.next<int>());
    partner.send(2);
    EXPECT_EQ(mailbox.next<Down>().exit, Exit::normal());
  });
}

// One-way: the watched one notices nothing when its watcher ends, however that is.
TEST_P(Signals, monitor_is_one_way) {
  const auto watched = runtime.spawn_with<Other>(on_core(1));
  for (int i = 0; i < 20; ++i) {
    runtime.spawn_with<Box>(on_core(0), [watched, i](Box& /*mailbox*/) {
      for (int n = 0; n < 10; ++n) this_actor::monitor(watched);
      if (i % 2 == 0) throw std::runtime_error("failed");
    });
  }
  ASSERT_TRUE(support::eventually([&] { return ends.size() == 20; }));
  EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_TRUE(lives(watched.pid()));
  watched.send(Stop{});
  EXPECT_EQ(end_of(watched.pid()), Exit::normal());
}

// Linked from the first moment also when it is the parent that ends at once.
TEST_P(Signals, spawn_with_link_when_the_parent_ends_at_once) {
  for (int i = 0; i < 100; ++i) {
    runtime.spawn_with(on_core(0), [i] {
      auto options = on_core(static_cast<std::size_t>(i) % 2);
      options.linked = true;
      static_cast<void>(bulkhead::spawn_with<Other>(options));
      throw std::runtime_error("at once");
    });
  }
  ASSERT_TRUE(support::eventually([&] { return ends.size() == 200; }));
  for (const auto& end : ends.entries()) EXPECT_EQ(end.second.message(), "at once");
}

// --- process_info -------------------------------------------------------------------------------

// It takes as long with a long mailbox as with a short one.
TEST_P(Signals, process_info_is_constant_in_the_length_of_the_mailbox) {
  support::Clock::duration times[2]{};
  support::Event over;
  runtime.spawn_with(pinned_to(0), [&] {
    const auto subject = bulkhead::spawn_with<Other>(pinned_to(0));
    const auto measure = [&] {
      auto best = support::Clock::duration::max();
      for (int round = 0; round < 20; ++round) {
        const auto begun = support::Clock::now();
        for (int i = 0; i < 100; ++i) {
          static_cast<void>(bulkhead::actor_info(subject.pid()).value());
        }
        best = std::min(best, support::Clock::now() - begun);
      }
      return best;
    };
    static_cast<void>(measure());
    times[0] = measure();
    subject.send(Sleep{});
    for (int i = 0; i < 200'000; ++i) subject.send(i);
    EXPECT_GE(bulkhead::actor_info(subject.pid())->mailbox, 200'000u);
    times[1] = measure();
    bulkhead::kill(subject);
    over.set();
  });
  ASSERT_TRUE(over.wait());
  EXPECT_LT(times[1], 10 * times[0] + 200us);
}

}  // namespace
