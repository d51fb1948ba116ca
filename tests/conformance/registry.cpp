// C13: the registry of names. What Erlang does in each case was tried with OTP 25; it stands in the
// comments where it is not what one would guess.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::Down;
using bulkhead::NamedAddress;
using bulkhead::Pid;
using bulkhead::RegisterError;
using bulkhead::Runtime;
using namespace std::chrono_literals;

struct Stop {};
struct Get {};

/// Answers with its number.
struct Numbered {
  int number;
  explicit Numbered(int given = 0) : number(given) {}
  void receive(Stop /*message*/) { this_actor::stop(); }
  int receive(Get /*message*/) { return number; }
};
struct Other {
  void receive(Stop /*message*/) { this_actor::stop(); }
  int receive(Get /*message*/) { return -1; }
};

class Registry : public support::Running {
 protected:
  /// Runs in an actor.
  template <class F>
  void run(F body, std::size_t core = 0) {
    support::Event ran;
    runtime.spawn_with(on_core(core), [&] {
      body();
      ran.set();
    });
    ASSERT_TRUE(ran.wait());
  }
  void end(Address<Numbered> actor) {
    actor.send(Stop{});
    wait_for_idle();
  }
  Address<Numbered> spawn(int number = 0, std::size_t core = 0) {
    return runtime.spawn_with<Numbered>(on_core(core), number);
  }
  void give(const std::string& name, Pid actor) {
    const auto given = runtime.register_name(name, actor);
    ASSERT_TRUE(given.has_value()) << name << ": " << to_string(given.error());
  }
};
ON_ONE_AND_SEVERAL_CORES(Registry);

TEST_P(Registry, finds_actors_by_their_names) {
  const auto one = spawn(1);
  const auto two = spawn(2, 1);
  give("one", one.pid());
  ASSERT_TRUE(runtime.register_name("two", two).has_value());
  for (std::size_t core = 0; core < cores(); ++core) {
    run(
        [&] {
          for (int i = 0; i < 3; ++i) {  // the first looks, the others have copies
            EXPECT_EQ(bulkhead::whereis("one"), one.pid());
            EXPECT_EQ(bulkhead::whereis<Numbered>("two"), two);
            EXPECT_EQ(bulkhead::whereis("three"), Pid());
          }
          EXPECT_EQ(bulkhead::name_of(one), "one");
          EXPECT_EQ(bulkhead::name_of(two.pid()), "two");
          EXPECT_EQ(bulkhead::name_of(this_actor::pid()), "");
        },
        core);
  }
  EXPECT_EQ(runtime.whereis("one"), one.pid());
  EXPECT_EQ(runtime.whereis<Numbered>("two"), two);
  EXPECT_EQ(runtime.name_of(one), "one");
  EXPECT_EQ(runtime.name_of(Pid()), "");
  auto names = runtime.registered();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
}

TEST_P(Registry, actors_name_themselves_and_others) {
  run([&] {
    EXPECT_TRUE(bulkhead::register_name("me", this_actor::pid()).has_value());
    EXPECT_EQ(bulkhead::whereis("me"), this_actor::pid());
    const auto other = bulkhead::spawn<Numbered>(7);
    EXPECT_TRUE(bulkhead::register_name("other", other).has_value());
    EXPECT_EQ(bulkhead::whereis<Numbered>("other").ask(Get{}).value_or(0), 7);
    EXPECT_EQ(bulkhead::registered().size(), 2u);
    EXPECT_TRUE(bulkhead::unregister_name("other"));
    EXPECT_EQ(bulkhead::whereis("other"), Pid());
  });
  wait_for_idle();
  EXPECT_EQ(runtime.whereis("me"), Pid());
  EXPECT_TRUE(runtime.registered().empty());
}

// registry: "a name is removed on death, race-free". Of Erlang: whereis, after 'DOWN' has come, is
// `undefined`.
TEST_P(Registry, registry) {
  for (std::size_t core = 0; core < 2; ++core) {
    const auto first = spawn(1, core);
    give("worker", first.pid());
    run([&] { EXPECT_EQ(bulkhead::whereis("worker"), first.pid()); });
    end(first);
    EXPECT_EQ(runtime.whereis("worker"), Pid());
    EXPECT_EQ(runtime.name_of(first), "");
    EXPECT_TRUE(runtime.registered().empty());
    EXPECT_FALSE(runtime.unregister_name("worker"));
    run([&] { EXPECT_EQ(bulkhead::whereis("worker"), Pid()) << "its core has a copy"; });
    const auto second = spawn(2, core);
    give("worker", second.pid());
    run([&] { EXPECT_EQ(bulkhead::whereis("worker"), second.pid()); });
    EXPECT_EQ(runtime.name_of(second), "worker");
    end(second);
  }
}

// "named Down": the Down comes only after the name is gone, and it can be taken over.
TEST_P(Registry, named_Down) {
  using Box = bulkhead::Mailbox<Down>;
  support::Event over;
  runtime.spawn<Box>([&](Box& mailbox) {
    for (int i = 0; i < 200; ++i) {
      const auto other =
          bulkhead::spawn_with<Numbered>(on_core(static_cast<std::size_t>(i) % 2), i);
      this_actor::monitor(other);
      EXPECT_TRUE(bulkhead::register_name("named", other).has_value());
      EXPECT_EQ(bulkhead::whereis("named"), other.pid());
      switch (i % 3) {
        case 0:
          other.send(Stop{});
          break;
        case 1:
          static_cast<void>(bulkhead::kill(other));
          break;
        default:
          static_cast<void>(bulkhead::request_stop(other));
          break;
      }
      static_cast<void>(mailbox.next<Down>());
      EXPECT_EQ(bulkhead::whereis("named"), Pid());
      EXPECT_TRUE(bulkhead::registered().empty());
    }
    over.set();
  });
  ASSERT_TRUE(over.wait());
}

// What lies in a destructor of the actor is not its life any more.
TEST_P(Registry, an_actor_that_ends_has_no_name_and_gets_none) {
  struct Ending {
    std::atomic<int>* seen;
    explicit Ending(std::atomic<int>* out) : seen(out) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
      const bool gone =
          !bulkhead::whereis("ending") && bulkhead::name_of(this_actor::pid()).empty();
      const auto again = bulkhead::register_name("again", this_actor::pid());
      *seen = gone && !again && again.error() == RegisterError::kNoActor ? 1 : 2;
    }
    void receive(Stop /*message*/) { this_actor::stop(); }
  };
  std::atomic<int> seen{0};
  const auto ending = runtime.spawn<Ending>(&seen);
  ASSERT_TRUE(runtime.register_name("ending", ending).has_value());
  ending.send(Stop{});
  wait_for_idle();
  EXPECT_EQ(seen, 1);
}

// Erlang: badarg for each of these.
TEST_P(Registry, names_are_given_to_one_living_actor_once) {
  const auto one = spawn();
  const auto two = spawn();
  const auto dead = spawn();
  end(dead);
  give("one", one.pid());

  auto refused = runtime.register_name("one", two);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), RegisterError::kTaken);
  EXPECT_EQ(refused.error().holder, one.pid());
  EXPECT_EQ(to_string(refused.error()), "the name is that of " + to_string(one.pid()));

  for (const char* name : {"other", "one"}) {  // oneself twice, under another name or the same
    refused = runtime.register_name(name, one);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), RegisterError::kNamed);
    EXPECT_EQ(runtime.name_of(one), "one");
    EXPECT_EQ(to_string(refused.error()), "the actor has a name already");
  }
  EXPECT_EQ(runtime.whereis("other"), Pid());

  for (const Pid nobody : {dead.pid(), Pid(), Pid(0xffff'fff0, 1)}) {
    for (const char* name : {"dead", "one"}) {
      refused = runtime.register_name(name, nobody);
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error(), RegisterError::kNoActor);
      EXPECT_EQ(to_string(refused.error()), "there is no such actor in this runtime");
    }
  }
  EXPECT_EQ(runtime.whereis("one"), one.pid());
  EXPECT_EQ(runtime.registered().size(), 1u);
}

// Erlang: true, and badarg when nobody has it; anybody may.
TEST_P(Registry, names_are_taken_away_by_anybody) {
  const auto one = spawn(1);
  EXPECT_FALSE(runtime.unregister_name("one"));
  give("one", one.pid());
  run([&] {
    EXPECT_EQ(bulkhead::whereis("one"), one.pid());
    EXPECT_TRUE(bulkhead::unregister_name("one"));
    EXPECT_EQ(bulkhead::whereis("one"), Pid());
    EXPECT_FALSE(bulkhead::unregister_name("one"));
    EXPECT_EQ(bulkhead::name_of(one), "");
    // Then both are free.
    EXPECT_TRUE(bulkhead::register_name("uno", one).has_value());
    const auto two = bulkhead::spawn<Numbered>(2);
    EXPECT_TRUE(bulkhead::register_name("one", two).has_value());
    EXPECT_EQ(bulkhead::whereis("one"), two.pid());
    EXPECT_EQ(bulkhead::whereis("uno"), one.pid());
  });
}

// Erlang: '' is an atom, and so a name; here it is refused: it is what name_of gives for none.
// An atom of 256 characters is a system_limit. `undefined` is reserved there, since it is what
// whereis gives for none; here that is Pid(), and no name is reserved.
TEST_P(Registry, names_that_are_malformed_are_refused) {
  const auto one = spawn();
  const std::string longest(255, 'x');
  const std::string too_long(256, 'x');
  for (const std::string& name : {std::string(), too_long}) {
    EXPECT_THROW(static_cast<void>(runtime.register_name(name, one)), std::invalid_argument);
    EXPECT_THROW(runtime.unregister_name(name), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(runtime.whereis(name)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(runtime.named<Numbered>(name)), std::invalid_argument);
    run([&] {
      EXPECT_THROW(static_cast<void>(bulkhead::register_name(name, one)), std::invalid_argument);
      EXPECT_THROW(static_cast<void>(bulkhead::whereis<Numbered>(name)), std::invalid_argument);
    });
  }
  try {
    static_cast<void>(runtime.whereis(too_long));
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "bulkhead: the name of an actor has 256 bytes, beginning "
              "with \"" +
                  std::string(32, 'x') + "\"; it must have 1 to 255");
  }
  for (const std::string& name :
       {longest, std::string("undefined"), std::string("a\0b", 3), std::string("µ §\n")}) {
    give(name, one.pid());
    run([&] {
      for (int i = 0; i < 2; ++i) EXPECT_EQ(bulkhead::whereis(name), one.pid());
      EXPECT_EQ(bulkhead::whereis(name.substr(0, 1)), Pid());
    });
    EXPECT_EQ(runtime.name_of(one), name);
    EXPECT_EQ(runtime.registered(), std::vector<std::string>{name});
    EXPECT_TRUE(runtime.unregister_name(name));
  }
}

TEST_P(Registry, an_actor_of_another_class_is_not_taken_for_one) {
  const auto one = spawn();
  give("one", one.pid());
  run([&] {
    for (int i = 0; i < 2; ++i) {
      EXPECT_THROW(static_cast<void>(bulkhead::whereis<Other>("one")), std::logic_error);
      EXPECT_EQ(bulkhead::whereis<Numbered>("one"), one);
    }
    EXPECT_FALSE(bulkhead::whereis<Other>("two"));
    EXPECT_THROW(NamedAddress<Other>("one").send(Stop{}), std::logic_error);
  });
  try {
    static_cast<void>(runtime.whereis<Other>("one"));
    FAIL();
  } catch (const std::logic_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("\"one\" is the name of " + to_string(one.pid())), std::string::npos);
    EXPECT_NE(text.find("Numbered"), std::string::npos) << text;
    EXPECT_NE(text.find("Other"), std::string::npos) << text;
  }
  using Box = bulkhead::Mailbox<Stop>;
  const auto box = runtime.spawn<Box>([](Box& mailbox) { mailbox.next<Stop>(); });
  ASSERT_TRUE(runtime.register_name("box", box).has_value());
  EXPECT_EQ(runtime.whereis<Box>("box"), box);
  box.send(Stop{});
}

TEST_P(Registry, threads_outside_have_no_registry_of_their_own) {
  EXPECT_THROW(static_cast<void>(bulkhead::whereis("one")), std::logic_error);
  EXPECT_THROW(static_cast<void>(bulkhead::whereis<Numbered>("one")), std::logic_error);
  EXPECT_THROW(static_cast<void>(bulkhead::register_name("one", Pid())), std::logic_error);
  EXPECT_THROW(bulkhead::unregister_name("one"), std::logic_error);
  EXPECT_THROW(static_cast<void>(bulkhead::name_of(Pid())), std::logic_error);
  EXPECT_THROW(static_cast<void>(bulkhead::registered()), std::logic_error);
  EXPECT_THROW(NamedAddress<Numbered>("one"), std::logic_error);
}

TEST_P(Registry, each_runtime_has_its_own_names) {
  Runtime second(config());
  EXPECT_EQ(second.whereis("one"), Pid()) << "before it is started";
  second.start();
  const auto here = spawn(1);
  const auto there = second.spawn<Numbered>(2);
  give("one", here.pid());
  EXPECT_EQ(second.whereis("one"), Pid());
  ASSERT_TRUE(second.register_name("one", there).has_value());
  const auto refused = second.register_name("two", here);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), RegisterError::kNoActor);
  run([&] {
    EXPECT_EQ(bulkhead::whereis("one"), here.pid());
    EXPECT_EQ(second.whereis("one"), there.pid());  // an actor may ask the other, too
    const NamedAddress<Numbered> abroad = second.named<Numbered>("one");
    EXPECT_EQ(abroad.ask(Get{}).value_or(0), 2);
    EXPECT_EQ(bulkhead::NamedAddress<Numbered>("one").ask(Get{}).value_or(0), 1);
  });
  second.shutdown();
  EXPECT_EQ(second.whereis("one"), Pid());
  EXPECT_TRUE(second.registered().empty());
  EXPECT_FALSE(second.register_name("one", there).has_value());
  second.start();
  EXPECT_EQ(second.whereis("one"), Pid());
}

TEST_P(Registry, an_address_by_name_goes_to_whoever_has_it) {
  const auto address = runtime.named<Numbered>("numbered");
  EXPECT_EQ(address.name(), "numbered");
  const auto expect_nobody = [&] {
    EXPECT_EQ(address.send(Stop{}), Delivery::kGone);
    Stop kept;
    EXPECT_EQ(address.try_send(kept), Delivery::kGone);
    EXPECT_EQ(address.send_or_wait(kept), Delivery::kGone);
    EXPECT_EQ(address.ask(Get{}).error(), AskError::kGone);
    EXPECT_FALSE(address.address());
    EXPECT_EQ(address.pid(), Pid());
  };
  expect_nobody();
  for (int i = 1; i <= 3; ++i) {
    const auto actor = spawn(i, static_cast<std::size_t>(i));
    give("numbered", actor.pid());
    EXPECT_EQ(address.ask(Get{}).value_or(0), i);
    run(
        [&, copy = address] {
          EXPECT_EQ(copy, address);
          EXPECT_EQ(copy.ask(Get{}).value_or(0), i);
          EXPECT_EQ(NamedAddress<Numbered>("numbered"), copy);
          EXPECT_NE(NamedAddress<Numbered>("another"), copy);
        },
        static_cast<std::size_t>(i));
    EXPECT_EQ(address.send(Stop{}), Delivery::kQueued);
    wait_for_idle();
    expect_nobody();
    run([&] { expect_nobody(); });
  }
  const NamedAddress<Numbered> nobody;
  EXPECT_EQ(nobody.name(), "");
  EXPECT_EQ(nobody.send(Stop{}), Delivery::kGone);
  EXPECT_EQ(nobody, NamedAddress<Numbered>());
  EXPECT_NE(nobody, address);
}

TEST_P(Registry, an_address_by_name_can_be_sent_and_outlives_its_runtime) {
  struct Use {
    NamedAddress<Numbered> whom;
  };
  struct User {
    std::atomic<int>* got;
    void receive(const Use& use) { *got = use.whom.ask(Get{}).value_or(0); }
  };
  std::atomic<int> got{0};
  NamedAddress<Numbered> kept;
  {
    Runtime second(config());
    second.start();
    ASSERT_TRUE(second.register_name("far", second.spawn<Numbered>(5)).has_value());
    kept = second.named<Numbered>("far");
    runtime.spawn<User>(&got).send(Use{kept});
    wait_for_idle();
    EXPECT_EQ(got, 5) << "it means the name of the runtime that it was made for";
  }
  EXPECT_EQ(kept.send(Stop{}), Delivery::kGone);
  Runtime third(config());
  third.start();
  ASSERT_TRUE(third.register_name("far", third.spawn<Numbered>(6)).has_value());
  EXPECT_EQ(kept.ask(Get{}).error(), AskError::kGone);
}

TEST_P(Registry, in_a_fork_nobody_has_a_name) {
  const auto one = spawn();
  give("one", one.pid());
  const auto named = runtime.named<Numbered>("one");
  wait_for_idle();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const bool right = !runtime.whereis("one") && !named.pid() && runtime.name_of(one).empty() &&
                       runtime.registered().empty() && !runtime.unregister_name("one") &&
                       !runtime.register_name("two", one);
    std::_Exit(right ? 3 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  EXPECT_EQ(runtime.whereis("one"), one.pid());
}

// More names than a core keeps copies of, some of them long, and all found again.
TEST_P(Registry, many_names) {
  constexpr int kMany = 3000;
  std::vector<Address<Numbered>> actors;
  const auto name = [](int i) {
    return std::string(static_cast<std::size_t>(i % 120), '-') + std::to_string(i);
  };
  for (int i = 0; i < kMany; ++i) {
    actors.push_back(spawn(i, static_cast<std::size_t>(i)));
    give(name(i), actors.back().pid());
  }
  run([&] {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kMany; ++i) {
        ASSERT_EQ(bulkhead::whereis<Numbered>(name(i)), actors[static_cast<std::size_t>(i)]);
      }
    }
  });
  EXPECT_EQ(runtime.registered().size(), static_cast<std::size_t>(kMany));
  for (int i = 0; i < kMany; i += 2) actors[static_cast<std::size_t>(i)].send(Stop{});
  wait_for_idle();
  EXPECT_EQ(runtime.registered().size(), static_cast<std::size_t>(kMany) / 2);
  run([&] {
    for (int i = 0; i < kMany; ++i) {
      ASSERT_EQ(static_cast<bool>(bulkhead::whereis(name(i))), i % 2 == 1);
    }
  });
}

}  // namespace
