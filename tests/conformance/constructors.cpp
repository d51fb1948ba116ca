// Constructors and destructors of actors: where they run, what they may do, and what comes of it.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/door.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/numbered.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::Pid;
using support::Door;
using support::Live;
using namespace std::chrono_literals;

class Constructors : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Constructors);

class Unmakable {
 public:
  explicit Unmakable(int depth) : live_(depth) {
    if (depth >= 0) throw std::runtime_error("not made");
  }
  void receive(int /*message*/) {}

 private:
  Live live_;
};

TEST_P(Constructors, that_throw_leave_no_actor_and_the_spawner_has_the_exception) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(runtime.spawn_with<Unmakable>(on_core(1), i), std::runtime_error);
  }
  std::atomic<int> caught{0};
  runtime.spawn_with(on_core(1), [&caught] {
    for (int i = 0; i < 100; ++i) {
      try {
        bulkhead::spawn<Unmakable>(i);
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    bulkhead::spawn<Unmakable>(1);
  });
  wait_for_idle();
  EXPECT_EQ(caught, 100);
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(runtime.stats().actors_started, 1u);
  EXPECT_EQ(runtime.stats().actors_failed, 1u) << "the spawner, which did not catch the last one";
}

TEST_P(Constructors, run_in_the_spawner) {
  struct Curious {
    Pid seen;
    explicit Curious(support::Log<Pid>* log) {
      log->add(this_actor::pid());
      log->add(this_actor::parent());
    }
    void receive(int /*message*/) {}
  };
  support::Log<Pid> log;
  support::Log<Pid> spawner;
  EXPECT_THROW(runtime.spawn<Curious>(&log), std::logic_error) << "outside there is none";
  runtime.spawn([&] {
    spawner.add(this_actor::pid());
    bulkhead::spawn<Curious>(&log);
  });
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<Pid>{spawner.entries()[0], Pid()}));
}

// A constructor may block, and its spawner go on on another core than it began on.
TEST_P(Constructors, may_wait) {
  struct Patient {
    std::atomic<int>* handled;
    explicit Patient(std::atomic<int>* h) : handled(h) {
      this_actor::yield();
      support::burn(10us);
      this_actor::sleep_for(50us);
    }
    void receive(int value) { *handled += value; }
  };
  std::atomic<int> handled{0};
  for (int i = 0; i < 60; ++i) {
    runtime.spawn([&handled] {
      for (int k = 0; k < 20; ++k) {
        const auto patient = bulkhead::spawn<Patient>(&handled);
        patient.send(1);
        patient.send(1);
        bulkhead::stop(patient);
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(handled, 60 * 20 * 2);
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

TEST_P(Constructors, may_wait_and_then_throw) {
  struct Patient {
    Patient() {
      this_actor::yield();
      support::burn(10us);
      this_actor::sleep_for(50us);
      throw std::runtime_error("not made");
    }
    void receive(int /*message*/) {}
  };
  std::atomic<int> caught{0};
  for (int i = 0; i < 60; ++i) {
    runtime.spawn([&caught] {
      for (int k = 0; k < 20; ++k) {
        try {
          bulkhead::spawn<Patient>();
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(caught, 60 * 20);
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

TEST_P(Constructors, may_spawn_and_send_and_ask) {
  struct Parent {
    Address<Door> door;
    std::size_t waiting;
    explicit Parent(Address<Door> d) : door(d) {
      door.send(Door::Open{});
      waiting = door.ask(Door::Waiting{}, support::kDeadline).value();
      if (bulkhead::in_actor()) {
        for (int i = 0; i < 3; ++i) bulkhead::spawn<Door>().send(Door::Open{});
      }
    }
    std::size_t receive(int /*message*/) { return waiting; }
  };
  const auto door = runtime.spawn_with<Door>(on_core(1));
  EXPECT_EQ(runtime.spawn<Parent>(door).ask(1, support::kDeadline), 0u);
  runtime.spawn(
      [door] { EXPECT_EQ(bulkhead::spawn<Parent>(door).ask(1, support::kDeadline), 0u); });
  wait_for_idle();
}

TEST_P(Constructors, take_arguments_that_move) {
  struct Owner {
    std::unique_ptr<int> number;
    std::string text;
    Owner(std::unique_ptr<int> n, std::string t) : number(std::move(n)), text(std::move(t)) {}
    int receive(int factor) { return *number * factor + static_cast<int>(text.size()); }
  };
  const auto owner = runtime.spawn_with<Owner>(on_core(1), std::make_unique<int>(20), "ab");
  EXPECT_EQ(owner.ask(2, support::kDeadline), 42);
}

TEST_P(Constructors, of_callables_take_captures_that_move) {
  std::atomic<int> sum{0};
  auto number = std::make_unique<int>(5);
  runtime.spawn_with(on_core(1), [&sum, number = std::move(number)] { sum += *number; });
  wait_for_idle();
  EXPECT_EQ(sum, 5);
}

// States of all sizes: of the pool, of the heap, aligned.
TEST_P(Constructors, place_large_and_aligned_states) {
  struct alignas(64) Aligned {
    std::uint64_t value = 7;
    bool receive(int /*message*/) {
      return reinterpret_cast<std::uintptr_t>(this) % 64 == 0 && value == 7;
    }
  };
  struct Large {
    std::vector<int> none;
    char bytes[100'000] = {1};
    bool receive(int /*message*/) { return bytes[0] == 1 && bytes[99'999] == 0; }
  };
  struct Empty {
    bool receive(int /*message*/) { return true; }
  };
  const auto check = [](auto address) { EXPECT_EQ(address.ask(1, support::kDeadline), true); };
  for (std::size_t core = 0; core < cores(); ++core) {
    check(runtime.spawn_with<Aligned>(on_core(core)));
    check(runtime.spawn_with<Large>(on_core(core)));
    check(runtime.spawn_with<Empty>(on_core(core)));
  }
  runtime.spawn([check] {
    for (int i = 0; i < 50; ++i) {
      check(bulkhead::spawn<Aligned>());
      check(bulkhead::spawn<Large>());
      check(bulkhead::spawn<Empty>());
    }
  });
  wait_for_idle();
}

class Destructors : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Destructors);

TEST_P(Destructors, run_once_in_the_actor_and_on_its_core) {
  struct Curious {
    support::Log<Pid>* log;
    explicit Curious(support::Log<Pid>* l) : log(l) {}
    ~Curious() {
      log->add(this_actor::pid());
      if (bulkhead::in_actor() && this_actor::core() < 100) log->add(this_actor::parent());
    }
    void receive(int /*message*/) { this_actor::stop(); }
  };
  support::Log<Pid> log;
  const auto curious = runtime.spawn_with<Curious>(on_core(1), &log);
  curious.send(1);
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<Pid>{curious.pid(), Pid()}));
}

TEST_P(Destructors, may_send_ask_sleep_and_spawn) {
  struct Busy {
    support::Tally* tally;
    Address<support::NumberedReceiver> to;
    Busy(support::Tally* t, Address<support::NumberedReceiver> a) : tally(t), to(a) {}
    ~Busy() {
      to.send(support::Numbered{0, 0});
      this_actor::sleep_for(100us);
      EXPECT_EQ(to.ask(support::NumberedAsk{0, 1}, support::kDeadline), 1u);
      try {
        bulkhead::spawn([this_to = to] {
          this_actor::yield();
          this_to.send(support::Numbered{0, 2});
        });
      } catch (const bulkhead::SpawnError& error) {
        ADD_FAILURE() << error.what();
      }
      this_actor::yield();
      EXPECT_EQ(this_actor::address(this).try_send(value), Delivery::kGone);
    }
    int value = 1;
    void receive(int /*message*/) { this_actor::stop(); }
  };
  support::Tally tally;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto to = runtime.spawn_with<support::NumberedReceiver>(on_core(i), &tally, 1u);
    runtime.spawn_with<Busy>(on_core(i + 1), &tally, to).send(1);
  }
  wait_for_idle();
  EXPECT_EQ(tally.handled, 60u);
  EXPECT_EQ(tally.wrong, 0u);
}

TEST_P(Destructors, run_while_nobody_can_reach_the_actor_any_more) {
  struct Slow {
    support::Event* ending;
    const support::Event* go;
    Slow(support::Event* e, const support::Event* g) : ending(e), go(g) {}
    ~Slow() {
      ending->set();
      while (!go->happened()) this_actor::sleep_for(100us);
    }
    void receive(int /*message*/) { this_actor::stop(); }
  };
  support::Event ending;
  support::Event go;
  const auto slow = runtime.spawn_with<Slow>(on_core(1), &ending, &go);
  slow.send(1);
  slow.send(2);
  ASSERT_TRUE(ending.wait());
  EXPECT_EQ(slow.send(3), Delivery::kGone);
  EXPECT_EQ(slow.ask(4).error(), bulkhead::AskError::kGone);
  go.set();
  wait_for_idle();
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kGone), 3u);
}

// Bodies of callables are destroyed as well, with what they captured.
TEST_P(Destructors, of_captures_run_when_a_callable_returns_or_fails) {
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn_with(on_core(i), [live = Live(1), i] {
      this_actor::yield();
      if (i % 2 == 0) bulkhead::panic("failed");
    });
  }
  wait_for_idle();
  EXPECT_EQ(Live::alive(), 0);
  EXPECT_EQ(runtime.stats().actors_failed, 25u);
}

}  // namespace
