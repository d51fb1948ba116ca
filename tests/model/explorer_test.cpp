// What the explorer finds, what it proves, and what it says. Every property has a broken variant
// beside it that must be found.
#include "explorer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace bulkhead::model {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

template <class T>
using Atomic = ModelSync::atomic<T>;
template <class T>
using Plain = ModelSync::plain<T>;

// --- mutual exclusion: Dekker's first half, with its memory orders as a parameter ---

struct Dekker {
  Atomic<int> wants[2];
  Plain<int> inside;

  void visit(unsigned self, std::memory_order store, std::memory_order load, bool fenced) {
    wants[self].store(1, store);
    if (fenced) ModelSync::fence(kSeqCst);
    if (wants[1 - self].load(load) == 0) inside.write(static_cast<int>(self));
  }
};

Result explore_dekker(std::memory_order store, std::memory_order load, bool fenced,
                      bool weak_memory = true) {
  return explore({.preemption_bound = kUnbounded, .weak = weak_memory}, [=](model::Run& run) {
    auto s = std::make_shared<Dekker>();
    run.name("wants0", s->wants[0]);
    run.name("wants1", s->wants[1]);
    run.name("inside", s->inside);
    run.thread("left", [=] { s->visit(0, store, load, fenced); });
    run.thread("right", [=] { s->visit(1, store, load, fenced); });
  });
}

TEST(Dekker, is_broken_with_acquire_and_release) {
  const Result r = explore_dekker(kRelease, kAcquire, false);
  EXPECT_TRUE(r.found("data race")) << r.report();
  EXPECT_LE(r.executions, 5u);
}

TEST(Dekker, is_right_with_sequential_consistency) {
  const Result consistent = explore_dekker(kSeqCst, kSeqCst, false);
  EXPECT_TRUE(consistent.ok()) << consistent.report();
  const Result fenced = explore_dekker(kRelaxed, kRelaxed, true);
  EXPECT_TRUE(fenced.ok()) << fenced.report();
}

TEST(Dekker, looks_right_in_sequential_mode_whatever_its_orders) {
  const Result r = explore_dekker(kRelaxed, kRelaxed, false, false);
  EXPECT_TRUE(r.ok()) << r.report();
}

// --- a mailbox with a sleeping owner ---

enum class Announcing { kThenChecks, kAfterTheCheck };

struct Mailbox {
  Atomic<int> mail{0};
  Atomic<std::uint32_t> asleep{0};

  void send(std::memory_order order) {
    mail.store(1, order);
    if (asleep.load(order) == 1) {
      asleep.store(0, order);
      ModelSync::futex_wake(asleep, 1);
    }
  }

  void receive(Announcing announcing, std::memory_order order) {
    while (mail.load(order) == 0) {
      if (announcing == Announcing::kAfterTheCheck) {
        asleep.store(1, order);  // the mail may have come since we looked
      } else {
        asleep.store(1, order);
        if (mail.load(order) != 0) return;
      }
      ModelSync::futex_wait(asleep, 1);
    }
  }
};

Result explore_mailbox(Announcing announcing, std::memory_order order, bool weak_memory) {
  return explore({.weak = weak_memory, .spurious = 1}, [=](model::Run& run) {
    auto s = std::make_shared<Mailbox>();
    run.name("mail", s->mail);
    run.name("asleep", s->asleep);
    run.thread("owner", [=] { s->receive(announcing, order); });
    run.thread("sender", [=] { s->send(order); });
  });
}

TEST(LostWakeUp, of_a_check_before_the_announcement_is_found_at_once) {
  const Result r = explore_mailbox(Announcing::kAfterTheCheck, kSeqCst, false);
  EXPECT_TRUE(r.found("lost wake-up")) << r.report();
  EXPECT_TRUE(r.found("owner sleeps on asleep")) << r.report();
  EXPECT_LE(r.executions, 10u);
}

TEST(LostWakeUp, does_not_happen_when_the_announcement_comes_first) {
  const Result r = explore_mailbox(Announcing::kThenChecks, kSeqCst, true);
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(LostWakeUp, happens_in_weak_memory_without_sequential_consistency) {
  EXPECT_TRUE(explore_mailbox(Announcing::kThenChecks, kRelaxed, false).ok());
  const Result r = explore_mailbox(Announcing::kThenChecks, kRelaxed, true);
  EXPECT_TRUE(r.found("lost wake-up")) << r.report();
}

TEST(Futex, a_wait_that_is_not_in_a_loop_is_found_by_spurious_returns) {
  const auto program = [](model::Run& run) {
    auto s = std::make_shared<Mailbox>();
    run.thread("owner", [s] {
      ModelSync::futex_wait(s->asleep, 0);
      check(s->asleep.load() == 1, "was really woken");
    });
    run.thread("sender", [s] {
      s->asleep.store(1);
      ModelSync::futex_wake(s->asleep, 1);
    });
  };
  EXPECT_TRUE(explore({}, program).ok());
  EXPECT_TRUE(explore({.spurious = 1}, program).found("was really woken"));
}

TEST(Futex, a_wake_takes_any_of_the_sleepers) {
  std::set<unsigned> woken;
  const Result r = explore({}, [&](model::Run& run) {
    auto word = std::make_shared<Atomic<std::uint32_t>>(0u);
    auto first = std::make_shared<Atomic<std::uint32_t>>(0u);
    for (const char* name : {"a", "b"}) {
      run.thread(name, [=, &woken] {
        ModelSync::futex_wait(*word, 0);
        if (first->exchange(1) == 0) woken.insert(this_thread());
      });
    }
    run.thread("waker", [=] {
      ModelSync::futex_wake(*word, 1);
      word->store(1);
      ModelSync::futex_wake(*word, 2);
    });
  });
  EXPECT_TRUE(r.ok()) << r.report();
  EXPECT_EQ(woken, (std::set<unsigned>{0, 1}));
}

TEST(Futex, a_wait_with_a_limit_ends_when_nobody_wakes_it) {
  bool timed_out = false;
  bool woken = false;
  const Result r = explore({}, [&](model::Run& run) {
    auto word = std::make_shared<Atomic<std::uint32_t>>(0u);
    run.thread("owner", [=, &timed_out, &woken] {
      const sync::FutexWait how = ModelSync::futex_wait_for(*word, 0, 1);
      (how == sync::FutexWait::kTimedOut ? timed_out : woken) = true;
    });
    run.thread("waker", [=] { ModelSync::futex_wake(*word, 1); });
  });
  EXPECT_TRUE(r.ok()) << r.report();
  EXPECT_TRUE(timed_out);
  EXPECT_TRUE(woken);
}

// --- deadlock, livelock, endless loops ---

struct SpinLock {
  Atomic<bool> held{false};

  void lock() {
    while (held.exchange(true, kAcquire)) ModelSync::spin_hint();
  }
  void unlock() { held.store(false, kRelease); }
};

TEST(SpinLock, keeps_threads_apart_in_weak_memory) {
  for (const unsigned bound : {2u, kUnbounded}) {
    const Result r = explore({.preemption_bound = bound, .weak = true}, [](model::Run& run) {
      struct State {
        SpinLock lock;
        Plain<int> count{0};
      };
      auto s = std::make_shared<State>();
      for (const char* name : {"a", "b", "c"}) {
        run.thread(name, [s] {
          s->lock.lock();
          ++s->count.edit();
          s->lock.unlock();
        });
      }
      run.finally([s] { check(s->count.read() == 3, "every thread was counted"); });
    });
    EXPECT_TRUE(r.ok()) << r.report();
  }
}

TEST(Deadlock, of_two_locks_taken_in_opposite_orders_is_found) {
  const Result r = explore({}, [](model::Run& run) {
    struct State {
      SpinLock a;
      SpinLock b;
    };
    auto s = std::make_shared<State>();
    run.thread("left", [s] {
      s->a.lock();
      s->b.lock();
      s->b.unlock();
      s->a.unlock();
    });
    run.thread("right", [s] {
      s->b.lock();
      s->a.lock();
      s->a.unlock();
      s->b.unlock();
    });
  });
  EXPECT_TRUE(r.found("livelock")) << r.report();
}

TEST(Endless, a_loop_without_a_hint_is_reported) {
  const Result r = explore({.max_steps = 200}, [](model::Run& run) {
    auto flag = std::make_shared<Atomic<bool>>(false);
    run.thread("waits", [flag] {
      while (!flag->load()) {
      }
    });
    run.thread("sets", [flag] { flag->store(true); });
  });
  EXPECT_TRUE(r.found("endless")) << r.report();
}

TEST(Spinning, sees_every_value_that_a_loop_can_end_with) {
  std::set<int> seen;
  const Options full{.preemption_bound = kUnbounded, .weak = true};
  const Result r = explore(full, [&seen](model::Run& run) {
    auto flag = std::make_shared<Atomic<int>>(0);
    run.thread("waits", [flag, &seen] {
      int value = 0;
      while ((value = flag->load(kRelaxed)) == 0) ModelSync::spin_hint();
      seen.insert(value);
    });
    run.thread("sets", [flag] {
      for (int i = 1; i <= 3; ++i) flag->store(i, kRelaxed);
    });
  });
  EXPECT_TRUE(r.ok()) << r.report();
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3}));
}

// --- plain memory ---

Result explore_hand_over(std::memory_order store, std::memory_order load, bool weak_memory) {
  return explore({.weak = weak_memory}, [=](model::Run& run) {
    struct State {
      Plain<int> data{0};
      Atomic<bool> ready{false};
    };
    auto s = std::make_shared<State>();
    run.name("data", s->data);
    run.name("ready", s->ready);
    run.thread("writer", [=] {
      s->data.write(42);
      s->ready.store(true, store);
    });
    run.thread("reader", [=] {
      if (s->ready.load(load)) check(s->data.read() == 42, "sees what was written");
    });
  });
}

TEST(DataRace, is_found_whenever_the_hand_over_is_not_ordered) {
  for (const bool weak_memory : {false, true}) {
    EXPECT_TRUE(explore_hand_over(kRelease, kAcquire, weak_memory).ok());
    EXPECT_TRUE(explore_hand_over(kRelaxed, kAcquire, weak_memory).found("data race"));
    const Result r = explore_hand_over(kRelease, kRelaxed, weak_memory);
    EXPECT_TRUE(r.found("data race: plain memory data is read")) << r.report();
  }
}

TEST(DataRace, of_a_write_after_a_read_is_found_though_the_read_comes_first) {
  const auto program = [](std::memory_order done) {
    return [done](model::Run& run) {
      struct State {
        Plain<int> data{0};
        Atomic<bool> done{false};
      };
      auto s = std::make_shared<State>();
      run.thread("reader", [=] {
        static_cast<void>(s->data.read());
        s->done.store(true, done);
      });
      run.thread("writer", [=] {
        if (s->done.load(kAcquire)) s->data.write(1);
      });
    };
  };
  EXPECT_TRUE(explore({.weak = true}, program(kRelease)).ok());
  EXPECT_TRUE(explore({.weak = true}, program(kRelaxed)).found("data race"));
}

TEST(DataRace, is_found_when_an_atomic_is_used_before_anybody_has_handed_it_over) {
  const auto program = [](std::memory_order order) {
    return [order](model::Run& run) {
      auto head = std::make_shared<Atomic<Atomic<int>*>>(nullptr);
      run.thread("maker", [=] { head->store(make<Atomic<int>>(7), order); });
      run.thread("user", [=] {
        if (Atomic<int>* made = head->load(kAcquire)) check(made->load(kRelaxed) == 7, "is made");
      });
      run.finally([=] { model::free(head->load()); });
    };
  };
  EXPECT_TRUE(explore({.weak = true}, program(kRelease)).ok());
  EXPECT_TRUE(explore({.weak = true}, program(kRelaxed)).found("data race"));
}

// --- a stack of which all is taken at once ---

struct Node {
  int value;
  Plain<Node*> next;
};

template <class Sync>
struct Stack {
  typename Sync::template atomic<Node*> head{nullptr};

  void push(Node* node, std::memory_order order) noexcept {
    Node* old = head.load(kRelaxed);
    do {
      node->next.write(old);
    } while (!head.compare_exchange_weak(old, node, order, kRelaxed));
  }
  Node* take_all() noexcept { return head.exchange(nullptr, kAcquire); }
};

struct StackRun {
  Stack<ModelSync> stack;
  int taken[2] = {-1, -1};  // the last of each producer, by the consumer

  void take() {
    Node* reversed = nullptr;
    for (Node* node = stack.take_all(); node != nullptr;) {
      Node* next = node->next.read();
      node->next.write(reversed);
      reversed = node;
      node = next;
    }
    while (reversed != nullptr) {
      Node* node = reversed;
      reversed = node->next.read();
      const int producer = node->value / 10;
      check(node->value % 10 == taken[producer] + 1, "a producer's nodes come in order");
      ++taken[producer];
      model::free(node);
    }
  }
};

Result explore_stack(const Options& options, std::memory_order push) {
  return explore(options, [=](model::Run& run) {
    auto s = std::make_shared<StackRun>();
    run.name("head", s->stack.head);
    for (int producer : {0, 1}) {
      run.thread(producer == 0 ? "producer 0" : "producer 1", [=] {
        for (int i = 0; i < 2; ++i) {
          Node* node = make<Node>();
          node->value = producer * 10 + i;
          s->stack.push(node, push);
        }
      });
    }
    run.thread("consumer", [=] {
      s->take();
      s->take();
    });
    run.finally([=] {
      s->take();
      check(s->taken[0] == 1 && s->taken[1] == 1, "nothing is lost");
    });
  });
}

TEST(Stack, keeps_the_order_of_each_producer_and_loses_nothing) {
  const Result all = explore_stack({.preemption_bound = kUnbounded}, kRelease);
  EXPECT_TRUE(all.ok()) << all.report();
  const Result weak = explore_stack({.preemption_bound = 3, .weak = true, .spurious = 1}, kRelease);
  EXPECT_TRUE(weak.ok()) << weak.report();
}

TEST(Stack, needs_the_release_in_push) {
  for (const bool weak_memory : {false, true}) {
    const Result r = explore_stack({.weak = weak_memory}, kRelaxed);
    EXPECT_TRUE(r.found("data race")) << r.report();
  }
}

}  // namespace
}  // namespace bulkhead::model
