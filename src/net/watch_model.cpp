// B10: the watches of readiness.hpp (R9) under every interleaving, with weak memory.
//
//   watched             a watch is told of bytes that come at any time
//   watched_and_closed  and of a close
//   displaced           of two that watch the same one stays, and the other one is told
//
// Each is followed by broken copies, with one thing wrong, that must be found.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "explorer.hpp"
#include "net/readiness_modelled.hpp"

namespace bulkhead::net {
namespace {

/// What watch.cpp does, in the same order; the message is handled by who has waited for it.
template <class AnyReadiness>
struct ModelWatch {
  AnyReadiness& readiness;
  ModelActors& actors;
  ModelSocket& socket;
  std::uint64_t generation;
  std::uint32_t record;

  enum class Told : std::uint8_t { kReady, kOver };

  Told wait(bool takes_the_place) {
    std::uint64_t epoch = 0;
    if (readiness.hold(generation) != Access::kOpen) return Told::kOver;
    constexpr bool kAsksFirst = requires { AnyReadiness::kAsksFirst; };
    const bool was_ready = kAsksFirst && socket.poll();
    epoch = actors.words[record].begin();
    const Watcher watcher{record, epoch, AnyReadiness::kIn};
    Watcher displaced{};
    if (takes_the_place) {
      displaced = readiness.watch(watcher);
      if (!displaced.is_nobody()) actors.displaced[displaced.record].store(true, kSeqCst);
    } else {
      const bool was_displaced = actors.displaced[record].load(kSeqCst);
      if (!readiness.watch_again(watcher)) {
        release();
        return Told::kOver;
      }
      model::check(!was_displaced, "who was displaced does not come back");
    }
    const bool ready = kAsksFirst ? was_ready : socket.poll();
    release();
    AnyReadiness::tell_displaced(displaced, actors);
    const bool tells = ready || !readiness.is_open(generation);
    if (!tells || !actors.words[record].claim(epoch)) actors.parkers[record].park();
    return is_its_own() ? Told::kReady : Told::kOver;
  }
  void release() {
    if (readiness.release(generation) == Left::kMustClose) {
      readiness.vacate();
      socket.close();
    }
  }
  [[nodiscard]] bool is_its_own() {
    return readiness.is_open(generation) && readiness.watcher().record == record;
  }
};

// --- right and broken ---

// Asks the kernel, and only then takes its place.
struct AsksTooEarly : Right {
  static constexpr bool kAsksFirst = true;
};

// Leaves the one that it displaces waiting.
struct DisplacesInSilence : Right {
  static void tell_displaced(Watcher /*watcher*/, ModelActors& /*actors*/) {}
};

// Waits again, whoever has the place by now.
struct WatchesRegardless : Right {
  bool watch_again(Watcher watcher) {
    static_cast<void>(watch(watcher));
    return true;
  }
};

// --- the theorems ---

template <class AnyReadiness>
ModelWatch<AnyReadiness> watch_of(const std::shared_ptr<State<AnyReadiness>>& s,
                                  std::uint32_t record) {
  return {s->readiness, s->actors, s->socket, s->generation, record};
}

// Bytes come one after the other, and are read when the watch is told, until somebody closes it.
template <class AnyReadiness>
model::Result watched(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("watch", [s] {
      auto watch = watch_of(s, 0);
      std::uint32_t read = 0;
      for (bool first = true;; first = false) {
        if (watch.wait(first) == ModelWatch<AnyReadiness>::Told::kOver) break;
        read += s->socket.bytes.exchange(0, kAcqRel);
        if (read == 2) s->close();
      }
      model::check(s->socket.closed.load(kAcquire) == 1 || !s->readiness.is_open(s->generation),
                   "it is over when it is closed");
    });
    for (int i = 0; i < 2; ++i) {
      run.thread(i == 0 ? "first poller" : "second poller", [s] {
        s->socket.bytes.fetch_add(1, kSeqCst);
        s->readiness.report(Right::kIn, s->actors);
      });
    }
  });
}

// Somebody else closes it, at any time.
template <class AnyReadiness>
model::Result watched_and_closed(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("watch", [s] {
      model::check(watch_of(s, 0).wait(true) == ModelWatch<AnyReadiness>::Told::kOver,
                   "nothing was sent");
    });
    run.thread("closer", [s] { s->close(); });
    run.finally([s] { model::check(s->socket.closed.load() == 1, "it was closed"); });
  });
}

// Two watch it. A byte comes, which the one that has the place in the end reads.
template <class AnyReadiness>
model::Result displaced(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    for (std::uint32_t record = 0; record < 2; ++record) {
      run.thread(record == 0 ? "first watch" : "second watch", [s, record] {
        using Told = typename ModelWatch<AnyReadiness>::Told;
        auto watch = watch_of(s, record);
        int told = 0;
        for (bool first = true; watch.wait(first) != Told::kOver; first = false) {
          model::check(++told <= 2, "who is told that it is ready is not told again for nothing");
          if (s->socket.bytes.exchange(0, kAcqRel) != 0) s->close();
        }
      });
    }
    run.thread("poller", [s] {
      s->socket.bytes.fetch_add(1, kSeqCst);
      s->readiness.report(Right::kIn, s->actors);
    });
  });
}

TEST(WatchModel, a_watch_is_told_whenever_bytes_come) {
  for (const bool weak : {false, true}) {
    const auto result = watched<Right>({.weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(WatchModel, a_watch_that_asks_before_it_takes_its_place_is_found) {
  EXPECT_TRUE(watched<AsksTooEarly>({}).found("lost wake-up"));
}

TEST(WatchModel, a_watch_is_told_of_a_close) {
  for (const bool weak : {false, true}) {
    const auto result = watched_and_closed<Right>({.preemption_bound = 3, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(WatchModel, a_close_that_does_not_tell_the_watch_is_found) {
  EXPECT_TRUE(watched_and_closed<WakesNobody>({}).found("lost wake-up"));
}

TEST(WatchModel, of_two_watches_one_stays_and_the_other_is_told) {
  for (const bool weak : {false, true}) {
    const auto result = displaced<Right>({.weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(WatchModel, a_watch_that_displaces_another_in_silence_is_found) {
  EXPECT_TRUE(displaced<DisplacesInSilence>({}).found("lost wake-up"));
}

TEST(WatchModel, a_watch_that_comes_back_after_it_was_displaced_is_found) {
  const auto result = displaced<WatchesRegardless>({});
  EXPECT_TRUE(result.found("does not come back")) << result.report();
}

}  // namespace
}  // namespace bulkhead::net
