// The parker of parker.hpp under every interleaving, with weak memory.
//
//   no_token_is_lost      P1, P2: an owner that waits for several things never sleeps for good
//   what_came_before      P3: plain memory written before unpark is seen after park
//   time_is_up            P1 with park_for: a token that comes as time runs out is not lost
//
// Each is followed by broken parkers, copies with one thing wrong, that must be found.
#include <gtest/gtest.h>

#include <memory>

#include "explorer.hpp"
#include "sync/parker.hpp"

namespace bulkhead::sync {
namespace {

using model::ModelSync;
using Word = ModelSync::atomic<std::uint32_t>;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

using Right = Parker<ModelSync>;

// --- broken parkers ------------------------------------------------------------------------------

enum class Flaw {
  kAnnouncesByStore,    // a token that comes between look and announcement is overwritten
  kWakesBeforeToken,    // the wake comes too early
  kTakesByStore,        // a coalesced token is thrown away unseen
  kSkipsWhenToken,      // an unpark that finds a token writes nothing
  kNeverWakes,          // leaves the token, and the owner asleep
  kSleepsOnce,          // believes that every return of the futex is a wake-up
  kTakesRelaxed,        // does not acquire what came before the token
  kLeavesRelaxed,       // does not release it
  kDropsTokenOnTimeOut  // takes the token without a word when time was up
};

template <Flaw flaw>
class Broken {
 public:
  void park() {
    if (take_token_or_announce()) return;
    do {
      ModelSync::futex_wait(word_, kParked);
    } while (!take_token() && flaw != Flaw::kSleepsOnce);
  }

  Parked park_for(std::int64_t nanoseconds) {
    if (take_token_or_announce()) return Parked::kToken;
    if (ModelSync::futex_wait_for(word_, kParked, nanoseconds) == FutexWait::kTimedOut &&
        flaw == Flaw::kDropsTokenOnTimeOut) {
      word_.store(kEmpty, kRelease);
      return Parked::kNone;
    }
    return word_.exchange(kEmpty, kAcquire) == kToken ? Parked::kToken : Parked::kNone;
  }

  void unpark() {
    if (flaw == Flaw::kSkipsWhenToken && word_.load(kRelaxed) == kToken) return;
    if (flaw == Flaw::kWakesBeforeToken && word_.load(kRelaxed) == kParked) {
      ModelSync::futex_wake(word_, 1);
      word_.exchange(kToken, kRelease);
      return;
    }
    const std::uint32_t old =
        word_.exchange(kToken, flaw == Flaw::kLeavesRelaxed ? kRelaxed : kRelease);
    if (old == kParked && flaw != Flaw::kNeverWakes) ModelSync::futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kToken = 1;
  static constexpr std::uint32_t kParked = 2;
  static constexpr auto kTaking = flaw == Flaw::kTakesRelaxed ? kRelaxed : kAcquire;

  bool take_token_or_announce() {
    if constexpr (flaw == Flaw::kAnnouncesByStore) {
      if (word_.load(kRelaxed) == kEmpty) {
        word_.store(kParked, kRelaxed);
        return false;
      }
    } else {
      std::uint32_t seen = kEmpty;
      if (word_.compare_exchange_strong(seen, kParked, kRelaxed)) return false;
    }
    if constexpr (flaw == Flaw::kTakesByStore) {
      static_cast<void>(word_.load(kAcquire));
      word_.store(kEmpty, kRelaxed);
    } else {
      word_.exchange(kEmpty, kTaking);
    }
    return true;
  }

  bool take_token() {
    std::uint32_t seen = kToken;
    return word_.compare_exchange_strong(seen, kEmpty, kTaking, kRelaxed);
  }

  Word word_{kEmpty};
};

// --- the theorems: each a program over any kind of parker ----------------------------------------

constexpr unsigned kProducers = 2;

// The owner waits until every producer has brought something; each says so by one unpark.
template <class AnyParker>
model::Result no_token_is_lost(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct State {
      AnyParker parker;
      ModelSync::atomic<bool> brought[kProducers];
    };
    auto s = std::make_shared<State>();
    run.name("parker", s->parker);
    run.name("brought", s->brought);
    run.thread("owner", [s] {
      for (unsigned i = 0; i < kProducers; ++i) {
        while (!s->brought[i].load(kRelaxed)) s->parker.park();
      }
    });
    for (unsigned i = 0; i < kProducers; ++i) {
      run.thread(i == 0 ? "producer 0" : "producer 1", [s, i] {
        s->brought[i].store(true, kRelaxed);
        s->parker.unpark();
      });
    }
  });
}

// After a park the owner owns what was written before the unpark, with nothing else in between.
template <class AnyParker>
model::Result what_came_before(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct State {
      AnyParker parker;
      ModelSync::plain<int> data{0};
    };
    auto s = std::make_shared<State>();
    run.name("parker", s->parker);
    run.name("data", s->data);
    run.thread("owner", [s] {
      s->parker.park();
      model::check(s->data.read() == 1, "sees what was written before the unpark");
    });
    run.thread("producer", [s] {
      s->data.write(1);
      s->parker.unpark();
    });
  });
}

// A token that comes as the time runs out ends this park or the next.
template <class AnyParker>
model::Result time_is_up(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto parker = std::make_shared<AnyParker>();
    run.name("parker", *parker);
    run.thread("owner", [parker] {
      if (parker->park_for(1) == Parked::kNone) parker->park();
    });
    run.thread("producer", [parker] { parker->unpark(); });
  });
}

// What the models allow beside interleavings: weak memory, and waits that return for no reason.
constexpr model::Options kBounded{.preemption_bound = 3, .weak = true, .spurious = 1};
constexpr model::Options kFull{.preemption_bound = model::kUnbounded, .weak = true, .spurious = 1};

TEST(ParkerModel, no_token_is_lost) {
  const model::Result bounded = no_token_is_lost<Right>(kBounded);
  EXPECT_TRUE(bounded.ok()) << bounded.report();
  const model::Result full = no_token_is_lost<Right>(kFull);
  EXPECT_TRUE(full.ok()) << full.report();
}

TEST(ParkerModel, a_lost_token_is_found) {
  const auto lost = [](const model::Result& r) {
    EXPECT_TRUE(r.found("lost wake-up")) << r.report();
  };
  lost(no_token_is_lost<Broken<Flaw::kAnnouncesByStore>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kWakesBeforeToken>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kTakesByStore>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kSkipsWhenToken>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kNeverWakes>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kTakesRelaxed>>(kBounded));
  lost(no_token_is_lost<Broken<Flaw::kLeavesRelaxed>>(kBounded));
}

TEST(ParkerModel, what_came_before_an_unpark_is_seen_after_the_park) {
  const model::Result r = what_came_before<Right>(kFull);
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(ParkerModel, a_park_that_sees_too_little_is_found) {
  const auto race = [](const model::Result& r) { EXPECT_TRUE(r.found("data race")) << r.report(); };
  race(what_came_before<Broken<Flaw::kTakesRelaxed>>(kFull));
  race(what_came_before<Broken<Flaw::kLeavesRelaxed>>(kFull));
  race(what_came_before<Broken<Flaw::kSleepsOnce>>(kFull));
}

TEST(ParkerModel, a_token_that_comes_as_time_runs_out_is_not_lost) {
  const model::Result r = time_is_up<Right>(kFull);
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(ParkerModel, a_token_dropped_as_time_runs_out_is_found) {
  const model::Result r = time_is_up<Broken<Flaw::kDropsTokenOnTimeOut>>(kFull);
  EXPECT_TRUE(r.found("lost wake-up")) << r.report();
}

}  // namespace
}  // namespace bulkhead::sync
