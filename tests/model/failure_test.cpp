// What else the explorer finds, what it does with threads that it stops, and what it says.
#include "explorer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace bulkhead::model {
namespace {

template <class T>
using Atomic = ModelSync::atomic<T>;
template <class T>
using Plain = ModelSync::plain<T>;

// An owner that looks for mail, and only then says that it sleeps.
Result explore_careless_owner(const Options& options) {
  return explore(options, [](model::Run& run) {
    struct State {
      Atomic<int> mail{0};
      Atomic<std::uint32_t> asleep{0};
    };
    auto s = std::make_shared<State>();
    run.name("mail", s->mail);
    run.name("asleep", s->asleep);
    run.thread("owner", [s] {
      if (s->mail.load() == 1) return;
      s->asleep.store(1);
      ModelSync::futex_wait(s->asleep, 1);
    });
    run.thread("sender", [s] {
      s->mail.store(1);
      if (s->asleep.load() == 1) {
        s->asleep.store(0);
        ModelSync::futex_wake(s->asleep, 1);
      }
    });
  });
}

// Three threads that count, each in two steps.
Result explore_counting(const Options& options) {
  return explore(options, [](model::Run& run) {
    auto count = std::make_shared<Atomic<int>>(0);
    run.name("count", *count);
    for (const char* name : {"a", "b", "c"}) {
      run.thread(name, [count] { count->store(count->load() + 1); });
    }
    run.finally([count] { check(count->load() >= 1, "somebody counted"); });
  });
}

// --- watched memory ---

TEST(WatchedMemory, use_after_free_is_found_in_either_order) {
  const Result r = explore({}, [](model::Run& run) {
    auto* number = make_named<Plain<int>>("number");
    run.thread("frees", [number] { model::free(number); });
    run.thread("uses", [number] { number->write(1); });
  });
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.found("data race") || r.found("use after free")) << r.report();

  const Result atomic = explore({}, [](model::Run& run) {
    auto* word = make_named<Atomic<int>>("word");
    run.thread("frees", [word] { model::free(word); });
    run.thread("uses", [word] { word->store(1); });
  });
  EXPECT_FALSE(atomic.ok());
  EXPECT_TRUE(atomic.found("word")) << atomic.report();
}

TEST(WatchedMemory, the_last_to_let_go_may_free_only_what_the_others_are_known_to_have_left) {
  struct Shared {
    Atomic<int> users{2};
    Atomic<int> used{0};
  };
  const auto program = [](std::memory_order letting_go) {
    return [letting_go](model::Run& run) {
      auto* shared = make_named<Shared>("shared");
      for (const char* name : {"a", "b"}) {
        run.thread(name, [=] {
          shared->used.store(1, std::memory_order_relaxed);
          if (shared->users.fetch_sub(1, letting_go) == 1) model::free(shared);
        });
      }
    };
  };
  const Result right = explore({.weak = true}, program(std::memory_order_acq_rel));
  EXPECT_TRUE(right.ok()) << right.report();
  for (const auto order : {std::memory_order_relaxed, std::memory_order_release}) {
    const Result wrong = explore({.weak = true}, program(order));
    EXPECT_TRUE(wrong.found("nothing orders this after its last use")) << wrong.report();
  }
}

TEST(WatchedMemory, leaks_and_double_frees_are_found) {
  EXPECT_TRUE(explore({}, [](model::Run& run) {
                run.thread("a", [] { static_cast<void>(make_named<int>("number", 1)); });
              }).found("leak: number"));
  EXPECT_TRUE(explore({}, [](model::Run& run) {
                int* number = make<int>(1);
                run.thread("a", [number] {
                  model::free(number);
                  model::free(number);
                });
              }).found("double free"));
}

// --- failures of other kinds ---

TEST(Failure, an_exception_that_nobody_catches_is_reported) {
  const Result r = explore({}, [](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    run.thread("throws", [x] {
      if (x->load() == 1) throw std::runtime_error("overboard");
    });
    run.thread("stores", [x] { x->store(1); });
  });
  EXPECT_TRUE(r.found("exception: throws threw: overboard")) << r.report();
}

TEST(Failure, exceptions_that_are_caught_may_be_in_flight_at_any_operation) {
  const Result r = explore({}, [](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    for (const char* name : {"a", "b"}) {
      run.thread(name, [x] {
        try {
          throw std::runtime_error(std::to_string(this_thread()));
        } catch (const std::exception& first) {
          x->fetch_add(1);
          try {
            throw std::logic_error("inner");
          } catch (const std::logic_error&) {
            x->fetch_add(1);
          }
          check(first.what() == std::to_string(this_thread()), "each thread has its own");
        }
        check(std::uncaught_exceptions() == 0, "none is left");
      });
    }
    run.finally([x] { check(x->load() == 4, "all were counted"); });
  });
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(Failure, what_a_stopped_thread_owns_is_left_alone) {
  struct Owned {
    explicit Owned(bool* flag) : destroyed(flag) {}
    ~Owned() { *destroyed = true; }
    bool* destroyed;
    std::string text = std::string(100, 'x');
  };
  bool destroyed = false;
  const Result r = explore({}, [&](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    run.thread("owner", [x, &destroyed]() noexcept {
      const Owned owned(&destroyed);
      x->store(1);
      check(x->load() == 2, "fails while something is owned");
    });
  });
  EXPECT_TRUE(r.found("fails while something is owned"));
  EXPECT_FALSE(destroyed);
}

TEST(Failure, in_the_setup_and_at_the_end_is_reported_too) {
  EXPECT_TRUE(explore({}, [](model::Run&) { check(false, "setup"); }).found("setup"));
  EXPECT_TRUE(explore({}, [](model::Run& run) {
                run.thread("t", [] {});
                run.finally([] { throw std::runtime_error("end"); });
              }).found("end"));
}

TEST(Limits, an_unfinished_search_is_no_success) {
  const Result r = explore_counting({.max_executions = 10});
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.found("not exhausted")) << r.report();
  EXPECT_EQ(r.executions, 10u);
}

TEST(Limits, a_model_that_behaves_differently_each_time_is_reported) {
  int turn = 0;
  const Result r = explore({}, [&turn](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    const int stores = 2 - turn++ % 2;
    for (const char* name : {"a", "b"}) {
      run.thread(name, [=] {
        for (int i = 0; i < stores; ++i) x->store(i);
      });
    }
  });
  EXPECT_TRUE(r.found("not deterministic")) << r.report();
}

TEST(Failure, a_loop_that_waits_when_nobody_is_left_is_reported) {
  const Result r = explore({}, [](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    run.thread("t", [] {});
    run.finally([x] {
      while (x->load() == 0) ModelSync::spin_hint();
    });
  });
  EXPECT_TRUE(r.found("livelock: main spins")) << r.report();
}

TEST(Bound, no_preemption_means_that_threads_run_until_they_wait) {
  std::set<int> results;
  const auto program = [&results](model::Run& run) {
    auto x = std::make_shared<Atomic<int>>(0);
    const auto torn = [x] { x->store(x->load() + 1); };
    run.thread("a", torn);
    run.thread("b", torn);
    run.finally([x, &results] { results.insert(x->load()); });
  };
  EXPECT_TRUE(explore({.preemption_bound = 0}, program).ok());
  EXPECT_EQ(results, (std::set<int>{2}));
  EXPECT_TRUE(explore({.preemption_bound = 1}, program).ok());
  EXPECT_EQ(results, (std::set<int>{1, 2}));
}

// --- reports and replays ---

TEST(Replay, runs_the_failing_execution_alone_and_says_the_same) {
  const Result first = explore_careless_owner({});
  ASSERT_FALSE(first.replay.empty());
  setenv("BULKHEAD_MODEL_REPLAY", first.replay.c_str(), 1);
  const Result again = explore_careless_owner({});
  const Result other = explore_careless_owner({.weak = true});
  unsetenv("BULKHEAD_MODEL_REPLAY");
  EXPECT_EQ(again.executions, 1u);
  EXPECT_EQ(again.failure, first.failure);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_FALSE(other.ok());
  EXPECT_TRUE(other.found("not exhausted")) << other.report();
}

TEST(Report, shows_each_step_with_its_thread_location_value_and_order) {
  const Result r = explore_careless_owner({});
  EXPECT_EQ(r.trace,
            "    1     owner   load       mail         -> 0                     seq_cst\n"
            "    2   * sender  store      mail         <- 1                     seq_cst\n"
            "    3     sender  load       asleep       -> 0                     seq_cst\n"
            "    4     owner   store      asleep       <- 1                     seq_cst\n"
            "    5     owner   futex_wait asleep       1, sleeps\n"
            "    6     owner   FAILS: deadlock, lost wake-up: no thread can go on: owner sleeps on "
            "asleep\n")
      << r.report();
}

TEST(Report, is_the_same_each_time) {
  const Result a = explore_careless_owner({.weak = true});
  const Result b = explore_careless_owner({.weak = true});
  EXPECT_EQ(a.trace, b.trace);
  EXPECT_EQ(a.replay, b.replay);
  EXPECT_EQ(a.executions, b.executions);
}

TEST(Objects, outside_of_an_exploration_are_just_values) {
  Atomic<int> x{3};
  EXPECT_EQ(x.fetch_add(2), 3);
  int expected = 5;
  EXPECT_TRUE(x.compare_exchange_strong(expected, 6));
  EXPECT_EQ(x.load(), 6);
  Plain<int> plain{1};
  plain.edit() = 2;
  EXPECT_EQ(plain.read(), 2);
}

TEST(Objects, of_another_run_are_refused) {
  Atomic<int> outside{0};
  const Result r = explore(
      {}, [&outside](model::Run& run) { run.thread("t", [&outside] { outside.store(1); }); });
  EXPECT_TRUE(r.found("was not made in this run")) << r.report();
}

}  // namespace
}  // namespace bulkhead::model
