// The readiness of readiness.hpp under every interleaving, with weak memory.
//
//   nothing_is_lost     R2 to R4: bytes, and the end behind them, that come at any time are read
//   closed_once         R1: a close wakes who waits, and is carried out once, after the last has left
//   only_their_waits    R5: a late report ends no wait of an actor that has gone on to something else
//
// Each is followed by broken copies, with one thing wrong, that must be found.
#include <gtest/gtest.h>

#include <memory>

#include "net/modelled.hpp"

namespace bulkhead::net {
namespace {

using Right = Readiness<ModelSync, ModelActors>;
using WithoutSeqCst = Readiness<NoSeqCst, ModelActors>;

// Looks, and only then says that it waits.
struct LooksTooEarly : Right {
  Look announce(Direction direction, std::uint64_t generation, Waiter waiter) {
    const Look seen = look(direction, generation);
    static_cast<void>(Right::announce(direction, generation, waiter));
    return seen;
  }
};

// Marks the word after it has looked who waits.
struct ReportsTooLate : Right {
  void report(std::uint64_t ready, ModelActors& actors) {
    wake_both(actors);
    word_.fetch_or(ready, kSeqCst);
  }
};

// Takes no notice of the end that was reported along with bytes.
struct ForgetsEnd : Right {
  static constexpr std::uint64_t kEnd = 0;
};

// Claims whatever pair it reads.
struct ClaimsTornPairs : Right {
  void report(std::uint64_t ready, ModelActors& actors) {
    word_.fetch_or(ready, kSeqCst);
    const std::uint64_t seen = place(Direction::kRead).load(kSeqCst);
    if (seen == 0) return;
    const Waiter waiter{static_cast<std::uint32_t>((seen >> kEpochBits) - 1),
                        epoch(Direction::kRead).load(kRelaxed)};
    if (actors.claim(waiter)) actors.wake(waiter);
  }
};

struct ClosesAtOnce : Right {
  Closed close(std::uint64_t generation, ModelActors& actors) {
    const Closed closed = Right::close(generation, actors);
    return closed == Closed::kOthersClose ? Closed::kMustClose : closed;
  }
};

struct WakesNobody : Right {
  Closed close(std::uint64_t generation, ModelActors& /*actors*/) {
    ModelActors nobody;
    return Right::close(generation, nobody);
  }
};

struct LeavesItOpen : Right {
  Left leave(Direction direction, std::uint64_t generation, std::uint64_t put_back) {
    static_cast<void>(Right::leave(direction, generation, put_back));
    return Left::kLeft;
  }
};

template <class AnyReadiness>
struct State {
  AnyReadiness readiness;
  ModelActors actors;
  ModelSocket socket;
  std::uint64_t generation = 0;

  State() { generation = readiness.open(actors).generation; }

  ModelOperation<AnyReadiness> operation(Direction direction, std::uint32_t slot) {
    return {readiness, actors, socket, generation, direction, slot};
  }
  void close() {
    if (readiness.close(generation, actors) == Closed::kMustClose) {
      readiness.vacate();
      socket.close();
    }
  }
};

template <class AnyReadiness>
std::shared_ptr<State<AnyReadiness>> make_state(model::Run& run) {
  auto s = std::make_shared<State<AnyReadiness>>();
  run.name("readiness", s->readiness);
  run.name("actors", s->actors);
  run.name("socket", s->socket);
  return s;
}

// One poller brings a byte, and another one, which the descriptor has moved to, a byte and the end; the
// reader, whose buffer has room for two, reads to the end. Its first report may come in one with the
// end's.
template <class AnyReadiness>
model::Result nothing_is_lost(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("reader", [s] {
      auto operation = s->operation(Direction::kRead, 0);
      while (operation.read(2) != Done::kEnd) {
      }
    });
    run.thread("first poller", [s] {
      s->socket.bytes.fetch_add(1, kAcqRel);
      s->readiness.report(Right::kIn, s->actors);
    });
    run.thread("second poller", [s] {
      s->socket.bytes.fetch_add(1, kAcqRel);
      s->socket.ended.store(true, std::memory_order_release);
      s->readiness.report(Right::kIn | AnyReadiness::kEnd, s->actors);
    });
  });
}

// A reader waits, a writer is at a short call, and two actors close.
template <class AnyReadiness>
model::Result closed_once(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("reader", [s] {
      model::check(s->operation(Direction::kRead, 0).read(2) == Done::kClosed, "nothing was sent");
    });
    run.thread("writer", [s] {
      auto operation = s->operation(Direction::kWrite, 1);
      if (!operation.enter()) return;
      model::check(s->socket.closed.load(kRelaxed) == 0, "it is open while somebody is at work");
      operation.leave();
    });
    run.thread("closer", [s] { s->close(); });
    run.finally([s] { model::check(s->socket.closed.load() == 1, "it was closed"); });
  });
}

// Two actors read a byte each, one after the other; each byte is reported by another poller. The first
// actor then waits for something else.
template <class AnyReadiness>
model::Result only_their_waits(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    // The second actor's wait gets the number that the first one's next wait will have.
    const std::uint64_t earlier = s->actors.words[1].begin();
    model::check(s->actors.words[1].claim(earlier), "it was open");
    s->socket.bytes.store(0, kRelaxed);
    run.thread("first actor", [s] {
      model::check(s->operation(Direction::kRead, 0).read(1) == Done::kRead, "a byte comes");
      const std::uint64_t epoch = s->actors.words[0].begin();
      model::check(s->actors.words[0].claim(epoch), "nobody ends a wait for something else");
    });
    run.thread("second actor", [s] {
      model::check(s->operation(Direction::kRead, 1).read(1) == Done::kRead, "a byte comes");
    });
    for (int i = 0; i < 2; ++i) {
      run.thread(i == 0 ? "first poller" : "second poller", [s] {
        s->socket.bytes.fetch_add(1, kAcqRel);
        s->readiness.report(Right::kIn, s->actors);
      });
    }
  });
}

TEST(ReadinessModel, no_readiness_is_lost_whenever_it_comes) {
  for (const bool weak : {false, true}) {
    const auto result = nothing_is_lost<Right>({.preemption_bound = 3, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(ReadinessModel, a_waiter_that_looks_before_it_announces_itself_is_found) {
  EXPECT_TRUE(nothing_is_lost<LooksTooEarly>({}).found("lost wake-up"));
}

TEST(ReadinessModel, a_report_that_looks_for_waiters_before_it_marks_the_word_is_found) {
  EXPECT_TRUE(nothing_is_lost<ReportsTooLate>({}).found("lost wake-up"));
}

TEST(ReadinessModel, a_reader_that_forgets_the_end_which_came_with_bytes_is_found) {
  EXPECT_TRUE(nothing_is_lost<ForgetsEnd>({}).found("lost wake-up"));
}

TEST(ReadinessModel, acquire_and_release_do_not_suffice_between_waiter_and_report) {
  EXPECT_TRUE(nothing_is_lost<WithoutSeqCst>({.weak = true}).found("lost wake-up"));
}

TEST(ReadinessModel, a_close_wakes_who_waits_and_is_carried_out_once_after_the_last_has_left) {
  for (const bool weak : {false, true}) {
    const auto result = closed_once<Right>({.preemption_bound = 3, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(ReadinessModel, a_close_while_others_are_at_work_is_found) {
  const auto result = closed_once<ClosesAtOnce>({});
  EXPECT_TRUE(result.found("closed")) << result.report();
}

TEST(ReadinessModel, a_close_that_wakes_nobody_is_found) {
  EXPECT_TRUE(closed_once<WakesNobody>({}).found("lost wake-up"));
}

TEST(ReadinessModel, a_close_that_nobody_carries_out_is_found) {
  EXPECT_TRUE(closed_once<LeavesItOpen>({}).found("it was closed"));
}

TEST(ReadinessModel, a_late_report_ends_only_waits_for_this_descriptor) {
  for (const bool weak : {false, true}) {
    const auto result = only_their_waits<Right>({.preemption_bound = weak ? 1u : 3u, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(ReadinessModel, a_report_that_claims_a_slot_with_another_ones_epoch_is_found) {
  const auto result = only_their_waits<ClaimsTornPairs>({.preemption_bound = 3});
  EXPECT_TRUE(result.found("nobody ends a wait")) << result.report();
}

}  // namespace
}  // namespace bulkhead::net
