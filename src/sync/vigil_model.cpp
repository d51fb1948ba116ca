// D3: the vigil of vigil.hpp under every interleaving, with weak memory.
//
//   watched   V1: one wakes, sleeps, and wakes for good: the watcher then does not sleep
//       for good either
//   roused    one who is to end the watch counts as awake and rouses: the watcher comes back
//
// Broken copies follow.
#include "sync/vigil.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw { kLooksThenCounts, kCountsThenAnnounces, kWeak };

template <Flaw flaw>
class Broken {
 public:
  void wakes() {
    const auto order = flaw == Flaw::kWeak ? kAcqRel : kSeqCst;
    if constexpr (flaw == Flaw::kLooksThenCounts) {
      const bool asleep = watcher_.load(kSeqCst) == 1;
      awake_.fetch_add(1, kSeqCst);
      if (asleep) rouse();
      return;
    }
    awake_.fetch_add(1, order);
    if (watcher_.load(flaw == Flaw::kWeak ? kAcquire : kSeqCst) == 1) rouse();
  }
  void sleeps() { awake_.fetch_sub(1, kSeqCst); }
  void rouse() {
    if (watcher_.exchange(0, kSeqCst) == 1) ModelSync::futex_wake(watcher_, 1);
  }
  void sleep_if_all_do() {
    if constexpr (flaw == Flaw::kCountsThenAnnounces) {
      if (awake_.load(kSeqCst) != 0) return;
      watcher_.store(1, kSeqCst);
      wait();
      return;
    }
    watcher_.store(1, flaw == Flaw::kWeak ? kRelease : kSeqCst);
    if (awake_.load(flaw == Flaw::kWeak ? kAcquire : kSeqCst) == 0) wait();
    watcher_.store(0, kSeqCst);
  }

 private:
  void wait() {
    while (watcher_.load(kSeqCst) == 1) ModelSync::futex_wait(watcher_, 1);
  }
  ModelSync::atomic<std::uint32_t> awake_{0};
  ModelSync::atomic<std::uint32_t> watcher_{0};
};

template <class AnyVigil>
model::Result watched(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<AnyVigil>();
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
    auto s = std::make_shared<AnyVigil>();
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
  const model::Result r = watched<Vigil<ModelSync>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(VigilModel, the_watcher_comes_back_when_the_watch_is_to_end) {
  const model::Result r = roused<Vigil<ModelSync>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(VigilModel, a_watcher_that_sleeps_for_good_is_found) {
  expect_found(watched<Broken<Flaw::kLooksThenCounts>>(full()));
  expect_found(watched<Broken<Flaw::kCountsThenAnnounces>>(full()));
  expect_found(watched<Broken<Flaw::kWeak>>(full()));
  expect_found(roused<Broken<Flaw::kLooksThenCounts>>(full()));
  expect_found(roused<Broken<Flaw::kCountsThenAnnounces>>(full()));
}

}  // namespace
}  // namespace bulkhead::sync
