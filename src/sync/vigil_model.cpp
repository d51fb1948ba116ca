// D3: the vigil of vigil.hpp under every interleaving, with weak memory.
//
//   watched   V1: one wakes, sleeps, and wakes for good: the watcher then does not sleep
//       for good either
//   roused    one who is to end the watch counts as awake: the watcher comes back
//
// Broken copies follow.
#include "sync/vigil.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

/// Keeps what it is told, as V3 says.
class Bed {
 public:
  void wake() noexcept {
    told_.store(1, kSeqCst);
    ModelSync::futex_wake(told_, 1);
  }
  void wait() noexcept {
    while (told_.exchange(0, kSeqCst) == 0) ModelSync::futex_wait(told_, 0);
  }

 private:
  ModelSync::atomic<std::uint32_t> told_{0};
};

enum class Flaw { kLooksThenCounts, kCountsThenAnnounces, kWeak, kForgetfulBed };

template <Flaw flaw>
class Broken {
 public:
  void wakes(Bed& bed) {
    const auto order = flaw == Flaw::kWeak ? kAcqRel : kSeqCst;
    if constexpr (flaw == Flaw::kLooksThenCounts) {
      const bool asleep = watcher_.load(kSeqCst) == 1;
      awake_.fetch_add(1, kSeqCst);
      if (asleep) rouse(bed);
      return;
    }
    awake_.fetch_add(1, order);
    if (watcher_.load(flaw == Flaw::kWeak ? kAcquire : kSeqCst) == 1) rouse(bed);
  }
  void sleeps() { awake_.fetch_sub(1, kSeqCst); }
  bool sleep_if_all_do(Bed& bed) {
    if constexpr (flaw == Flaw::kCountsThenAnnounces) {
      if (awake_.load(kSeqCst) != 0) return false;
      watcher_.store(1, kSeqCst);
      wait(bed);
      return true;
    }
    watcher_.store(1, flaw == Flaw::kWeak ? kRelease : kSeqCst);
    if (awake_.load(flaw == Flaw::kWeak ? kAcquire : kSeqCst) == 0) wait(bed);
    watcher_.store(0, kSeqCst);
    return true;
  }

 private:
  void rouse(Bed& bed) {
    if (watcher_.exchange(0, kSeqCst) != 1) return;
    if constexpr (flaw == Flaw::kForgetfulBed) {
      ModelSync::futex_wake(forgetful_, 1);
    } else {
      bed.wake();
    }
  }
  void wait(Bed& bed) {
    while (watcher_.load(kSeqCst) == 1) {
      if constexpr (flaw == Flaw::kForgetfulBed) {
        ModelSync::futex_wait(forgetful_, 0);
      } else {
        bed.wait();
      }
    }
  }
  ModelSync::atomic<std::uint32_t> awake_{0};
  ModelSync::atomic<std::uint32_t> watcher_{0};
  ModelSync::atomic<std::uint32_t> forgetful_{0};
};

/// A vigil, and where its watcher sleeps.
template <class AnyVigil>
struct Watched {
  AnyVigil vigil;
  Bed bed;
  void wakes() { vigil.wakes(bed); }
  void sleeps() { vigil.sleeps(); }
  void sleep_if_all_do() { static_cast<void>(vigil.sleep_if_all_do(bed)); }
};

template <class AnyVigil>
model::Result watched(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Watched<AnyVigil>>();
    run.name("vigil", *s);
    run.thread("watcher", [s] {
      s->sleep_if_all_do();
      s->sleep_if_all_do();
    });
    run.thread("core", [s] {
      s->wakes();
      s->sleeps();
      s->wakes();
    });
  });
}

template <class AnyVigil>
model::Result roused(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Watched<AnyVigil>>();
    run.name("vigil", *s);
    run.thread("watcher", [s] { s->sleep_if_all_do(); });
    run.thread("core", [s] {
      s->wakes();
      s->sleeps();
    });
    run.thread("end", [s] { s->wakes(); });
  });
}

constexpr std::string_view kAsleepForGood = "deadlock";

void expect_found(const model::Result& r) { EXPECT_TRUE(r.found(kAsleepForGood)) << r.report(); }

TEST(VigilModel, the_watcher_does_not_sleep_while_somebody_is_awake) {
  const model::Result r = watched<Vigil<ModelSync, Bed>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(VigilModel, the_watcher_comes_back_when_the_watch_is_to_end) {
  const model::Result r = roused<Vigil<ModelSync, Bed>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(VigilModel, a_watcher_that_sleeps_for_good_is_found) {
  expect_found(watched<Broken<Flaw::kLooksThenCounts>>(full()));
  expect_found(watched<Broken<Flaw::kCountsThenAnnounces>>(full()));
  expect_found(watched<Broken<Flaw::kWeak>>(full()));
  expect_found(watched<Broken<Flaw::kForgetfulBed>>(full()));
  expect_found(roused<Broken<Flaw::kLooksThenCounts>>(full()));
  expect_found(roused<Broken<Flaw::kCountsThenAnnounces>>(full()));
}

}  // namespace
}  // namespace bulkhead::sync
