// The lock of lock.hpp under every interleaving, with weak memory.
//
//   one_at_a_time   L1: what each has done under the lock is seen by the next; and L2: everybody
//       gets his turn, since a lost wake-up would leave somebody asleep for ever
//
// Broken copies follow: the same code with one memory order weaker, and code with one thing wrong.
#include <gtest/gtest.h>

#include <memory>

#include "sync/lock.hpp"
#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

using Right = Lock<ModelSync, 0>;

// --- the production code, with one memory order weaker ---

enum class Step { kTake, kWait, kUnlock };

template <Step step>
struct Relaxes {
  static constexpr std::memory_order order(const Written& as) {
    const Step which = as.op == Written::kSwap ? Step::kTake
                       : as.order == kRelease  ? Step::kUnlock
                                               : Step::kWait;
    return which == step ? kRelaxed : as.order;
  }
};
template <Step step>
using Relaxed = Weakened<Relaxes<step>>;

// --- a lock with one thing wrong ---

enum class Flaw {
  kTakesAsHeld,     // forgets those who sleep beside it
  kWakesNobody,     //
  kWakesBeforehand  // and lets go afterwards
};

template <Flaw flaw>
class Broken {
 public:
  void lock() {
    std::uint32_t seen = kFree;
    if (word_.compare_exchange_strong(seen, kHeld, kAcquire, kRelaxed)) return;
    if constexpr (flaw == Flaw::kTakesAsHeld) {
      for (;;) {
        seen = kFree;
        if (word_.compare_exchange_strong(seen, kHeld, kAcquire, kRelaxed)) return;
        seen = kHeld;
        static_cast<void>(word_.compare_exchange_strong(seen, kContended, kRelaxed, kRelaxed));
        ModelSync::futex_wait(word_, kContended);
      }
    }
    while (word_.exchange(kContended, kAcquire) != kFree) ModelSync::futex_wait(word_, kContended);
  }
  void unlock() {
    if constexpr (flaw == Flaw::kWakesBeforehand) {
      if (word_.load(kRelaxed) == kContended) ModelSync::futex_wake(word_, 1);
      word_.store(kFree, kRelease);
      return;
    }
    const bool contended = word_.exchange(kFree, kRelease) == kContended;
    if (contended && flaw != Flaw::kWakesNobody) ModelSync::futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;
  ModelSync::atomic<std::uint32_t> word_{kFree};
};

// --- the theorem ---

template <class AnyLock>
struct State {
  AnyLock lock;
  ModelSync::plain<unsigned> turns{0};

  void name(model::Run& run) {
    run.name("lock", lock);
    run.name("turns", turns);
  }
};

template <class AnyLock>
model::Result one_at_a_time(const model::Options& options, unsigned threads, unsigned rounds) {
  return model::explore(options, [threads, rounds](model::Run& run) {
    auto s = std::make_shared<State<AnyLock>>();
    s->name(run);
    for (unsigned i = 0; i < threads; ++i) {
      run.thread("thread", [s, rounds] {
        for (unsigned round = 0; round < rounds; ++round) {
          s->lock.lock();
          ++s->turns.edit();
          s->lock.unlock();
        }
      });
    }
    run.finally([s, threads, rounds] {
      s->lock.lock();
      model::check(s->turns.read() == threads * rounds, "nobody's turn is lost");
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr std::string_view kRace = "data race: plain memory";
constexpr std::string_view kStuck = "lost wake-up";

TEST(LockModel, one_at_a_time_holds_it_and_everybody_gets_his_turn) {
  expect_ok(one_at_a_time<Right>(full(), 2, 2));
  expect_ok(one_at_a_time<Right>(model::Options{.preemption_bound = 3, .weak = true}, 3, 1));
}

TEST(LockModel, an_order_that_is_too_weak_is_found) {
  expect_found(one_at_a_time<Lock<Relaxed<Step::kTake>, 0>>(full(), 2, 1), kRace);
  expect_found(one_at_a_time<Lock<Relaxed<Step::kWait>, 0>>(full(), 2, 1), kRace);
  expect_found(one_at_a_time<Lock<Relaxed<Step::kUnlock>, 0>>(full(), 2, 1), kRace);
}

TEST(LockModel, who_is_not_woken_is_found) {
  expect_found(one_at_a_time<Broken<Flaw::kWakesNobody>>(kSequential, 2, 1), kStuck);
  expect_found(one_at_a_time<Broken<Flaw::kTakesAsHeld>>(kSequential, 3, 1), kStuck);
  expect_found(one_at_a_time<Broken<Flaw::kWakesBeforehand>>(kSequential, 2, 1), kStuck);
}

}  // namespace
}  // namespace bulkhead::sync
