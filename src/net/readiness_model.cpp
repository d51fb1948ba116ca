// The readiness of readiness.hpp under every interleaving, with weak memory.
//
//   nothing_is_lost     R2 to R4: bytes, and the end behind them, that come at any time are read
//   given_away          R8: who gives a descriptor away, and who closes it, do not meet
//   closed_once         R1: a close wakes who waits, and is carried out once, after the last has
//                       left
//   only_their_waits    R5: a late report ends no wait of an actor that has gone on to something
//                       else
//
// Each is followed by broken copies, with one thing wrong, that must be found.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "explorer.hpp"
#include "net/readiness_modelled.hpp"

namespace bulkhead::net {
namespace {

/// Everything seq_cst is only acquire and release.
struct NoSeqCst : ModelSync {
  static constexpr std::memory_order weaker(std::memory_order order, std::memory_order instead) {
    return order == kSeqCst ? instead : order;
  }

  template <class T>
  struct atomic : ModelSync::atomic<T> {
    using Base = ModelSync::atomic<T>;
    using Base::Base;

    [[nodiscard]] T load(std::memory_order order) const {
      return Base::load(weaker(order, kAcquire));
    }
    void store(T value, std::memory_order order) {
      Base::store(value, weaker(order, std::memory_order_release));
    }
    T fetch_or(T value, std::memory_order order) {
      return Base::fetch_or(value, weaker(order, kAcqRel));
    }
    T exchange(T value, std::memory_order order) {
      return Base::exchange(value, weaker(order, kAcqRel));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
      return Base::compare_exchange_strong(expected, desired, weaker(success, kAcqRel),
                                           weaker(failure, kAcquire));
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      return Base::compare_exchange_weak(expected, desired, weaker(success, kAcqRel),
                                         weaker(failure, kAcquire));
    }
  };
};

enum class Done : std::uint8_t { kRead, kEnd, kClosed };

/// What operation.cpp does, in the same order.
template <class AnyReadiness>
struct ModelOperation {
  using Bits = AnyReadiness;

  AnyReadiness& readiness;
  ModelActors& actors;
  ModelSocket& socket;
  std::uint64_t generation;
  Direction direction;
  std::uint32_t slot;
  std::uint64_t ready = 0;

  [[nodiscard]] bool enter() {
    Look look = readiness.enter(direction, generation);
    while (look.access == Access::kBusy) {
      ModelSync::spin_hint();
      look = readiness.enter(direction, generation);
    }
    ready = look.ready;
    return look.access == Access::kOpen;
  }

  void leave() {
    if (readiness.leave(direction, generation, ready) == Left::kMustClose) {
      readiness.vacate();
      socket.close();
    }
  }

  /// False when it is closed.
  [[nodiscard]] bool park() {
    ready = 0;
    const std::uint64_t epoch = actors.words[slot].begin();
    const Waiter waiter{slot, epoch};
    Look look = readiness.announce(direction, generation, waiter);
    if (look.access == Access::kOpen && look.ready == 0) {
      actors.parkers[slot].park();
      readiness.withdraw(direction, waiter);
      look = readiness.look(direction, generation);
    } else {
      if (!actors.words[slot].claim(epoch)) actors.parkers[slot].park();
      readiness.withdraw(direction, waiter);
    }
    ready = look.ready;
    return look.access == Access::kOpen;
  }

  /// Stream::read_some, with room for `most` bytes.
  Done read(std::uint32_t most) {
    if (!enter()) return Done::kClosed;
    Done done = Done::kClosed;
    for (bool open = true; open; open = ready != 0 || park()) {
      if (ready == 0) continue;
      const int got = socket.read(most);
      if (got == ModelSocket::kDry) {
        ready = 0;
        continue;
      }
      done = got == ModelSocket::kEnd ? Done::kEnd : Done::kRead;
      if (got != ModelSocket::kEnd && got < static_cast<int>(most) && (ready & Bits::kEnd) == 0) {
        ready = 0;
      } else {
        ready |= Bits::kIn;
      }
      break;
    }
    leave();
    return done;
  }
};

// --- right and broken ---

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
    wake_all(actors);
    word_.fetch_or(ready, kSeqCst);
  }
};

// Takes no notice of the end that was reported along with bytes.
struct ForgetsEnd : Right {
  static constexpr std::uint64_t kEnd = 0;
};

// Claims whatever wait there is.
struct ClaimsAnyWait : Right {
  void report(std::uint64_t ready, ModelActors& actors) {
    word_.fetch_or(ready, kSeqCst);
    const std::uint64_t seen = place(Direction::kRead).load(kSeqCst);
    if (seen == 0) return;
    const Waiter waiter{static_cast<std::uint32_t>((seen >> kEpochBits) - 1), 0};
    if (actors.words[waiter.slot].claim_any()) actors.wake(waiter);
  }
};

struct ClosesAtOnce : Right {
  Closed close(std::uint64_t generation, ModelActors& actors) {
    const Closed closed = Right::close(generation, actors);
    return closed == Closed::kOthersClose ? Closed::kMustClose : closed;
  }
};

struct LeavesItOpen : Right {
  Left leave(Direction direction, std::uint64_t generation, std::uint64_t put_back) {
    static_cast<void>(Right::leave(direction, generation, put_back));
    return Left::kLeft;
  }
};

struct GivesAwayUnseen : Right {
  bool hand_over(std::uint64_t generation, ModelActors& /*actors*/) {
    const std::uint64_t word = word_.load(kAcquire);
    if (!open_to(word, generation) || (word & kOperations) != 0) return false;
    word_.store(next_generation(word) | (word & kBits), kSeqCst);
    return true;
  }
};

// --- the theorems ---

template <class AnyReadiness>
ModelOperation<AnyReadiness> operation_of(const std::shared_ptr<State<AnyReadiness>>& s,
                                          Direction direction, std::uint32_t slot) {
  return {s->readiness, s->actors, s->socket, s->generation, direction, slot};
}

// One poller brings a byte, and another one, which the descriptor has moved to, a byte and the end;
// the reader, whose buffer has room for two, reads to the end. Its first report may come in one
// with the end's.
template <class AnyReadiness>
model::Result nothing_is_lost(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("reader", [s] {
      auto operation = operation_of(s, Direction::kRead, 0);
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

// Is at a short call.
template <class AnyReadiness>
void add_writer(model::Run& run, const std::shared_ptr<State<AnyReadiness>>& s) {
  run.thread("writer", [s] {
    auto operation = operation_of(s, Direction::kWrite, 1);
    if (!operation.enter()) return;
    model::check(s->socket.closed.load(kRelaxed) == 0, "it is open while somebody is at work");
    operation.leave();
  });
}

// A reader waits, a writer is at a short call, and two actors close.
template <class AnyReadiness>
model::Result closed_once(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("reader", [s] {
      model::check(operation_of(s, Direction::kRead, 0).read(2) == Done::kClosed,
                   "nothing was sent");
    });
    add_writer(run, s);
    run.thread("closer", [s] { s->close(); });
    run.finally([s] { model::check(s->socket.closed.load() == 1, "it was closed"); });
  });
}

// The owner gives it to another actor, which closes it, while somebody closes it by the old
// generation, or is at a short call.
template <class AnyReadiness>
model::Result given_away(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    run.thread("giver", [s] {
      if (!s->readiness.hand_over(s->generation, s->actors)) {
        s->close();
        return;
      }
      if (s->readiness.close(s->generation + 1, s->actors) == Closed::kMustClose) {
        s->readiness.vacate();
        s->socket.close();
      }
    });
    add_writer(run, s);
    run.thread("closer", [s] { s->close(); });
    run.finally([s] { model::check(s->socket.closed.load() == 1, "it was closed"); });
  });
}

// Two actors read a byte each, one after the other; each byte is reported by another poller. The
// first actor then waits for something else.
template <class AnyReadiness>
model::Result only_their_waits(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = make_state<AnyReadiness>(run);
    // The second actor's wait gets the number that the first one's next wait will have.
    const std::uint64_t earlier = s->actors.words[1].begin();
    model::check(s->actors.words[1].claim(earlier), "it was open");
    s->socket.bytes.store(0, kRelaxed);
    run.thread("first actor", [s] {
      model::check(operation_of(s, Direction::kRead, 0).read(1) == Done::kRead, "a byte comes");
      const std::uint64_t epoch = s->actors.words[0].begin();
      model::check(s->actors.words[0].claim(epoch), "nobody ends a wait for something else");
    });
    run.thread("second actor", [s] {
      model::check(operation_of(s, Direction::kRead, 1).read(1) == Done::kRead, "a byte comes");
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

TEST(ReadinessModel, a_descriptor_that_is_given_away_is_closed_once) {
  for (const bool weak : {false, true}) {
    const auto result = given_away<Right>({.preemption_bound = 3, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(ReadinessModel, a_gift_that_overlooks_what_others_do_is_found) {
  const auto result = given_away<GivesAwayUnseen>({});
  EXPECT_TRUE(result.found("closed")) << result.report();
}

TEST(ReadinessModel, a_late_report_ends_only_waits_for_this_descriptor) {
  for (const bool weak : {false, true}) {
    const auto result = only_their_waits<Right>({.preemption_bound = weak ? 1u : 3u, .weak = weak});
    EXPECT_TRUE(result.ok()) << result.report();
  }
}

TEST(ReadinessModel, a_report_that_claims_whatever_wait_a_slot_has_is_found) {
  const auto result = only_their_waits<ClaimsAnyWait>({.preemption_bound = 3});
  EXPECT_TRUE(result.found("nobody ends a wait")) << result.report();
}

}  // namespace
}  // namespace bulkhead::net
