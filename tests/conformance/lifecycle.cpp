// A18: a runtime's life: made, started, used, shut down, and started again.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::Runtime;
using support::Door;
using namespace std::chrono_literals;

class Lifecycle : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(Lifecycle);

void use(Runtime& runtime, std::size_t cores) {
  support::Tally tally;
  for (std::size_t i = 0; i < 6; ++i) {
    bulkhead::SpawnOptions options;
    options.core = i % cores;
    const auto receiver = runtime.spawn_with<support::NumberedReceiver>(options, &tally, 1u);
    runtime.spawn([receiver] {
      for (std::uint32_t n = 0; n < 100; ++n) receiver.send(support::Numbered{0, n});
      EXPECT_EQ(receiver.ask(support::NumberedAsk{0, 100}, support::kDeadline), 100u);
      this_actor::sleep_for(100us);
    });
  }
  bulkhead::SpawnOptions own;
  own.own_thread = true;
  runtime.spawn_with(own, [] { bulkhead::spawn([] { bulkhead::panic("on purpose"); }); });
  runtime.shutdown();
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(tally.handled, 606u) << "a shutdown waits for what was sent";
}

// A18
TEST_P(Lifecycle, a_runtime_can_be_started_again_and_again_and_leaves_nothing) {
  Runtime runtime(config());
  for (int i = 0; i < 3; ++i) {
    runtime.start();
    use(runtime, cores());
  }
  const std::size_t descriptors = support::open_descriptors();
  const std::size_t threads = support::threads();
  const std::size_t mappings = support::mappings();
  for (int i = 0; i < 50; ++i) {
    runtime.start();
    use(runtime, cores());
  }
  EXPECT_EQ(support::open_descriptors(), descriptors);
  EXPECT_EQ(support::threads(), threads);
  EXPECT_LE(support::mappings(), mappings + 4 * support::kMemoryFactor)
      << "the allocator may have made an arena";
}

// A18
TEST_P(Lifecycle, runtimes_can_be_made_and_destroyed_one_after_the_other) {
  for (int i = 0; i < 3; ++i) {
    Runtime runtime(config());
    runtime.start();
    use(runtime, cores());
  }
  const std::size_t descriptors = support::open_descriptors();
  const std::size_t threads = support::threads();
  const std::size_t mappings = support::mappings();
  for (int i = 0; i < 50; ++i) {
    Runtime runtime(config());
    runtime.start();
    use(runtime, cores());
  }
  EXPECT_EQ(support::open_descriptors(), descriptors);
  EXPECT_EQ(support::threads(), threads);
  EXPECT_LE(support::mappings(), mappings + 4 * support::kMemoryFactor);
}

// A18: the counts go on over the restarts of one runtime.
TEST_P(Lifecycle, statistics_outlive_a_restart) {
  Runtime runtime(config());
  runtime.start();
  use(runtime, cores());
  const auto first = runtime.stats();
  EXPECT_EQ(first.actors_started, first.actors_ended);
  EXPECT_EQ(first.actors_failed, 1u);
  runtime.start();
  use(runtime, cores());
  const auto second = runtime.stats();
  EXPECT_EQ(second.actors_started, 2 * first.actors_started);
  EXPECT_EQ(second.actors_ended, 2 * first.actors_ended);
  EXPECT_EQ(second.actors_failed, 2u);
}

// A18
TEST_P(Lifecycle, an_address_of_an_earlier_life_stays_dead) {
  Runtime runtime(config());
  std::vector<Address<Door>> old;
  for (int life = 0; life < 10; ++life) {
    runtime.start();
    for (const auto& door : old) EXPECT_EQ(door.send(Door::Open{}), Delivery::kGone);
    for (std::size_t i = 0; i < 10; ++i) old.push_back(runtime.spawn_with<Door>(on_core(i)));
    for (std::size_t i = old.size() - 10; i < old.size(); ++i) {
      EXPECT_EQ(old[i].send(Door::Open{}), Delivery::kQueued);
    }
    runtime.shutdown();
  }
}

// A18
TEST_P(Lifecycle, nothing_can_be_spawned_while_it_does_not_run) {
  Runtime runtime(config());
  EXPECT_THROW(runtime.spawn<Door>(), bulkhead::SpawnError);
  EXPECT_THROW(runtime.spawn([] {}), bulkhead::SpawnError);
  runtime.start();
  runtime.spawn<Door>();
  runtime.shutdown();
  EXPECT_THROW(runtime.spawn<Door>(), bulkhead::SpawnError);
  try {
    runtime.spawn<Door>();
  } catch (const bulkhead::SpawnError& error) {
    EXPECT_NE(std::string(error.what()).find("not running"), std::string::npos);
  }
  EXPECT_EQ(runtime.stats().actors_started, 1u);
}

// A18
TEST_P(Lifecycle, is_started_once_and_shut_down_as_often_as_you_like) {
  Runtime runtime(config());
  runtime.shutdown();
  runtime.start();
  EXPECT_THROW(runtime.start(), std::logic_error);
  EXPECT_TRUE(runtime.running());
  runtime.shutdown();
  runtime.shutdown();
  EXPECT_FALSE(runtime.running());
}

// A18
TEST_P(Lifecycle, is_not_for_actors) {
  Runtime runtime(config());
  Runtime other(config());
  runtime.start();
  std::atomic<int> refused{0};
  runtime.spawn([&] {
    EXPECT_THROW(runtime.start(), std::logic_error);
    EXPECT_THROW(runtime.shutdown(), std::logic_error);
    EXPECT_THROW(other.start(), std::logic_error);
    ++refused;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(runtime.running());
}

// A18
TEST_P(Lifecycle, sends_while_it_does_not_run_are_counted_and_reported_once) {
  Runtime runtime(config());
  runtime.start();
  const auto door = runtime.spawn<Door>();
  const std::string said = support::stderr_of([&] {
    runtime.shutdown();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(door.send(Door::Open{}), Delivery::kStopped);
    std::thread([&] { EXPECT_EQ(door.send(Door::Open{}), Delivery::kStopped); }).join();
  });
  EXPECT_EQ(runtime.stats().stopped_sends, 11u);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kStopped), 11u);
  const auto first = said.find("not running");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("not running", first + 1), std::string::npos) << said;
  EXPECT_NE(said.find("Open"), std::string::npos) << "names the message: " << said;
}

// A18: threads outside send all the while, as the runtime comes and goes.
TEST_P(Lifecycle, threads_outside_may_send_at_any_time) {
  Runtime runtime(config());
  std::atomic<std::uint64_t> address{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> senders;
  std::array<std::atomic<long>, 4> outcomes{};
  const std::string said = support::stderr_of([&] {
    for (int t = 0; t < 3; ++t) {
      senders.emplace_back([&, t] {
        while (!done) {
          const std::uint64_t word = address.load();
          const Address<Door> door(bulkhead::Pid(static_cast<std::uint32_t>(word),
                                                 static_cast<std::uint32_t>(word >> 32)));
          ++outcomes[static_cast<std::size_t>(door.send(Door::Open{}))];
          if (t == 0) static_cast<void>(door.ask(Door::Waiting{}, 10ms));
        }
      });
    }
    for (int life = 0; life < 60; ++life) {
      runtime.start();
      const auto door = runtime.spawn_with<Door>(on_core(static_cast<std::size_t>(life)));
      address = std::uint64_t{door.pid().generation()} << 32 | door.pid().index();
      const auto before = runtime.stats().handled;
      EXPECT_TRUE(support::eventually([&] { return runtime.stats().handled > before + 20; }));
      runtime.shutdown(1ms);
    }
    done = true;
    for (std::thread& sender : senders) sender.join();
  });
  EXPECT_GT(outcomes[static_cast<std::size_t>(Delivery::kQueued)], 60 * 10);
  const auto stats = runtime.stats();
  std::uint64_t dropped = 0;
  for (const auto count : stats.dropped) dropped += count;
  dropped -= stats.dropped_for(bulkhead::DropCause::kLateReply);
  EXPECT_EQ(stats.sent, stats.handled + dropped - stats.refused);
}

// A18
TEST_P(Lifecycle, several_runtimes_live_side_by_side_and_talk) {
  Runtime one(config());
  Runtime two(config());
  one.start();
  two.start();
  support::Tally tally;
  const auto receiver =
      two.spawn_with<support::NumberedReceiver>(on_core(1), &tally, std::size_t{4});
  for (std::uint32_t sender = 0; sender < 4; ++sender) {
    one.spawn_with(on_core(sender), [receiver, sender] {
      for (std::uint32_t number = 0; number < 1000; ++number) {
        if (number % 10 == 9) {
          EXPECT_EQ(receiver.ask(support::NumberedAsk{sender, number}, support::kDeadline), number);
        } else {
          receiver.send(support::Numbered{sender, number});
        }
      }
    });
  }
  ASSERT_TRUE(one.wait_for_idle(support::kDeadline));
  ASSERT_TRUE(two.wait_for_idle(support::kDeadline));
  EXPECT_EQ(tally.handled, 4000u);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(two.stats().moved, 0u) << "nobody moves to a core of another runtime";
  two.shutdown();
  std::atomic<int> failed{0};
  one.spawn([receiver, &failed] {
    if (!receiver.ask(support::NumberedAsk{0, 0}, support::kDeadline)) ++failed;
    if (receiver.send(support::Numbered{0, 0}) != Delivery::kQueued) ++failed;
  });
  ASSERT_TRUE(one.wait_for_idle(support::kDeadline));
  EXPECT_EQ(failed, 2);
}

// A18: an ask to an actor of a runtime that is shutting down, and still has it.
TEST_P(Lifecycle, an_ask_into_a_runtime_that_shuts_down_fails_or_is_answered) {
  Runtime one(config());
  one.start();
  for (int round = 0; round < 20; ++round) {
    Runtime two(config());
    two.start();
    support::Event held;
    support::Event go;
    const auto door = two.spawn<Door>();
    two.spawn([&] {
      held.set();
      go.wait();
    });
    held.wait();
    std::thread stopper([&] { two.shutdown(0s); });
    std::atomic<int> asked{0};
    const std::string said = support::stderr_of([&] {
      for (std::size_t core = 0; core < cores(); ++core) {
        one.spawn_with(pinned_to(core), [&, door] {
          for (int i = 0; i < 50; ++i) {
            static_cast<void>(door.ask(Door::Waiting{}, 100us));
            if (++asked == 20) go.set();
          }
        });
      }
      EXPECT_TRUE(one.wait_for_idle(support::kDeadline));
      stopper.join();
    });
    EXPECT_EQ(two.stats().actors(), 0u);
  }
}

// A18: what the system refuses to give is an error, and the runtime can be started later.
TEST_P(Lifecycle, a_start_without_descriptors_fails_cleanly) {
  const std::size_t count = cores();
  const support::Ended child = support::run_in_child([count] {
    bulkhead::Config config;
    config.cores = count;
    Runtime runtime(config);
    const std::size_t threads = support::threads();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = limit.rlim_cur;
    // Room for the descriptors of all cores but the last.
    const int next = dup(STDERR_FILENO);
    close(next);
    limit.rlim_cur = static_cast<rlim_t>(next) + 2 * (count - 1) + 1;
    setrlimit(RLIMIT_NOFILE, &limit);
    try {
      runtime.start();
      _exit(2);
    } catch (const std::system_error&) {
    }
    if (runtime.running()) _exit(3);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (support::threads() != threads) _exit(4);
    runtime.start();
    const auto door = runtime.spawn<Door>();
    if (door.ask(Door::Waiting{}, support::kDeadline) != 0u) _exit(5);
    runtime.shutdown();
  });
  // A sanitizer looks at the exception through a pipe, and reports what it cannot see when there
  // are no descriptors left.
  if (child.errors.find("invalid vptr") != std::string::npos) return;
  EXPECT_EQ(child.status, 0) << child.errors << child.signal;
}

}  // namespace
