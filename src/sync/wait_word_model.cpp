// The wait word of wait_word.hpp under every interleaving, with weak memory.
//
//   one_claim_per_wait    W2, W3: of a reply, a stop, and a waiter who runs out of time, one claims
//       the wait; only that one writes into the waiter's frame; the waiter sees what it wrote and
//       is resumed once. The epoch may reach the claimers by a way that orders nothing.
//   no_claim_fails        W2: who is told the epoch by a way that orders, alone, claims it
//   stale_claims          W2: who still holds the epoch of an earlier wait never claims a later one
//   a_wait_that_is_ended  a stop that claims whatever is open, in the face of waits that go on
//
// Broken copies follow: the same code with one memory order weaker, and code with one thing wrong.
#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::sync {
namespace {

using Right = WaitWord<ModelSync>;

// --- the production code, with one memory order weaker ---

enum class Step { kBegin, kClaim };

template <Step step, std::memory_order instead>
struct Weakens {
  static constexpr std::memory_order order(const Written& as) {
    return as.op == (step == Step::kBegin ? Written::kStore : Written::kSwap) ? instead : as.order;
  }
};

template <Step step, std::memory_order order>
using WeakWord = WaitWord<Weakened<Weakens<step, order>>>;

// --- a wait word with one thing wrong ---

enum class Flaw {
  kClaimsByStore,     // two can have looked before either stores
  kForgetsTheEpoch,   // a claim of any wait lands on the one that is open
  kEpochsStartAgain,  // counts to two and begins again
  kStaysArmed         // a claim leaves the wait open
};

template <Flaw flaw>
class Broken {
 public:
  std::uint64_t begin() {
    std::uint64_t epoch = (word_.load(kRelaxed) >> 1) + 1;
    if (flaw == Flaw::kEpochsStartAgain && epoch > 2) epoch = 1;
    word_.store(epoch << 1 | kArmed, kRelease);
    return epoch;
  }

  bool claim(std::uint64_t epoch) {
    if (flaw == Flaw::kForgetsTheEpoch) return claim_any();
    return claim_it(epoch);
  }

  bool claim_any() {
    const std::uint64_t word = word_.load(kRelaxed);
    return (word & kArmed) != 0 && claim_it(word >> 1);
  }

 private:
  static constexpr std::uint64_t kArmed = 1;

  bool claim_it(std::uint64_t epoch) {
    std::uint64_t expected = epoch << 1 | kArmed;
    if constexpr (flaw == Flaw::kClaimsByStore) {
      if (word_.load(kAcquire) != expected) return false;
      word_.store(epoch << 1, kRelease);
      return true;
    }
    const std::uint64_t desired = flaw == Flaw::kStaysArmed ? expected : epoch << 1;
    return word_.compare_exchange_strong(expected, desired, kAcqRel, kRelaxed);
  }

  ModelSync::atomic<std::uint64_t> word_{0};
};

// --- a waiter with a frame ---

enum class Outcome : unsigned { kPending, kAnswered, kStopped };
enum class Resume { kOnce, kBeforeTheFrame };  // the second breaks rule W3

template <class Word>
struct Waiter {
  Word word;
  Parker<ModelSync> parker;
  ModelSync::plain<Outcome> frame{Outcome::kPending};
  ModelSync::atomic<std::uint64_t> epoch{0};    // as the claimers know it
  ModelSync::atomic<std::uint32_t> resumes{0};  // of the wait that is open

  void name(model::Run& run) {
    run.name("word", word);
    run.name("parker", parker);
    run.name("frame", frame);
    run.name("epoch", epoch);
    run.name("resumes", resumes);
  }

  std::uint64_t begin() {
    frame.write(Outcome::kPending);
    return word.begin();
  }

  // Claimers of the wait.
  void resume(Outcome outcome, Resume how = Resume::kOnce) {
    if (how == Resume::kOnce) frame.write(outcome);
    model::check(resumes.fetch_add(1, kRelaxed) == 0, "a wait is resumed once");
    parker.unpark();
    if (how == Resume::kBeforeTheFrame) frame.write(outcome);
  }

  // The waiter, as Guest::park with a time-out. Returns whether it was resumed by somebody.
  bool park_for_some_time(std::uint64_t mine) {
    if (parker.park_for(1) == Parked::kToken) return true;
    if (word.claim(mine)) return false;
    parker.park();
    return true;
  }

  // The waiter, after a wait.
  Outcome end(bool resumed) {
    const Outcome outcome = frame.read();
    model::check(resumed == (outcome != Outcome::kPending), "who claims decides the outcome");
    model::check(resumes.exchange(0, kRelaxed) == (resumed ? 1u : 0u), "a wait is resumed once");
    return outcome;
  }

  std::uint64_t wait_for_epoch() {
    std::uint64_t known = 0;
    while ((known = epoch.load(kRelaxed)) == 0) ModelSync::spin_hint();
    return known;
  }
};

template <class Word>
model::Result one_claim_per_wait(const model::Options& options, Resume how = Resume::kOnce) {
  return model::explore(options, [how](model::Run& run) {
    auto s = std::make_shared<Waiter<Word>>();
    s->name(run);
    run.thread("waiter", [s] {
      const std::uint64_t epoch = s->begin();
      s->epoch.store(epoch, kRelaxed);
      s->end(s->park_for_some_time(epoch));
    });
    run.thread("replier", [s, how] {
      if (s->word.claim(s->wait_for_epoch())) s->resume(Outcome::kAnswered, how);
    });
    run.thread("stopper", [s] {
      static_cast<void>(s->wait_for_epoch());
      if (s->word.claim_any()) s->resume(Outcome::kStopped);
    });
  });
}

enum class Telling { kOrders, kOrdersNothing };

// Without a time-out: the only claim must not fail. A claim that reads an old value of the word
// does.
template <class Word>
model::Result no_claim_fails(const model::Options& options, Telling telling) {
  return model::explore(options, [telling](model::Run& run) {
    auto s = std::make_shared<Waiter<Word>>();
    s->name(run);
    run.thread("waiter", [s, telling] {
      s->epoch.store(s->begin(), telling == Telling::kOrders ? kRelease : kRelaxed);
      s->parker.park();
      s->end(true);
    });
    run.thread("replier", [s, telling] {
      std::uint64_t known = 0;
      while ((known = s->epoch.load(telling == Telling::kOrders ? kAcquire : kRelaxed)) == 0) {
        ModelSync::spin_hint();
      }
      if (s->word.claim(known)) s->resume(Outcome::kAnswered);
    });
  });
}

// The waiter waits again and again. Of its first wait it runs out of time, or not; the late reply
// to that one must not end one of the others, which end by time alone.
template <class Word>
model::Result stale_claims(model::Options options) {
  options.time_outs = 3;
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Waiter<Word>>();
    s->name(run);
    run.thread("waiter", [s] {
      const std::uint64_t epoch = s->begin();
      s->epoch.store(epoch, kRelaxed);
      s->end(s->park_for_some_time(epoch));
      for (int i = 0; i < 2; ++i) {
        const Outcome outcome = s->end(s->park_for_some_time(s->begin()));
        model::check(outcome == Outcome::kPending, "a stale claim lands on no later wait");
      }
    });
    run.thread("replier", [s] {
      if (s->word.claim(s->wait_for_epoch())) s->resume(Outcome::kAnswered);
    });
  });
}

// One replies to the first wait, and one stops what it finds, whichever that is.
template <class Word>
model::Result a_wait_that_is_ended(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Waiter<Word>>();
    s->name(run);
    run.thread("waiter", [s] {
      for (int i = 0; i < 2; ++i) {
        const std::uint64_t epoch = s->begin();
        if (i == 0) s->epoch.store(epoch, kRelaxed);
        const Outcome outcome = s->end(s->park_for_some_time(epoch));
        model::check(i == 0 || outcome != Outcome::kAnswered, "a reply ends its own wait only");
      }
    });
    run.thread("replier", [s] {
      if (s->word.claim(s->wait_for_epoch())) s->resume(Outcome::kAnswered);
    });
    run.thread("stopper", [s] {
      if (s->word.claim_any()) s->resume(Outcome::kStopped);
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

// What is wrong without weak memory is looked for without.
TEST(WaitWordModel, a_wait_is_claimed_by_one_who_decides_its_outcome) {
  expect_ok(one_claim_per_wait<Right>(full()));
}

TEST(WaitWordModel, a_claim_does_not_fail_when_it_is_the_only_one) {
  expect_ok(no_claim_fails<Right>(full(), Telling::kOrders));
}

TEST(WaitWordModel, a_claim_that_fails_since_nothing_orders_it_is_found) {
  expect_found(no_claim_fails<Right>(full(), Telling::kOrdersNothing), "lost wake-up");
}

TEST(WaitWordModel, two_claims_of_a_wait_are_found) {
  expect_found(one_claim_per_wait<Broken<Flaw::kClaimsByStore>>(kSequential), "data race");
  expect_found(one_claim_per_wait<Broken<Flaw::kStaysArmed>>(kSequential), "data race");
}

TEST(WaitWordModel, a_frame_that_is_not_handed_over_is_found) {
  constexpr std::string_view kRace = "data race: plain memory frame";
  expect_found(one_claim_per_wait<WeakWord<Step::kBegin, kRelaxed>>(kSequential), kRace);
  expect_found(one_claim_per_wait<WeakWord<Step::kClaim, kRelease>>(kSequential), kRace);
  expect_found(one_claim_per_wait<Right>(kSequential, Resume::kBeforeTheFrame), kRace);
}

TEST(WaitWordModel, a_stale_epoch_lands_on_no_later_wait) {
  expect_ok(stale_claims<Right>(full()));
}

TEST(WaitWordModel, a_stale_epoch_that_lands_on_a_later_wait_is_found) {
  expect_found(stale_claims<Broken<Flaw::kForgetsTheEpoch>>(kSequential), "lands on no later wait");
  expect_found(stale_claims<Broken<Flaw::kEpochsStartAgain>>(kSequential),
               "lands on no later wait");
}

TEST(WaitWordModel, a_stop_ends_the_wait_that_it_finds) {
  expect_ok(a_wait_that_is_ended<Right>(full()));
}

TEST(WaitWordModel, a_stop_that_ends_a_wait_twice_is_found) {
  expect_found(a_wait_that_is_ended<Broken<Flaw::kStaysArmed>>(kSequential), "data race");
}

}  // namespace
}  // namespace bulkhead::sync
