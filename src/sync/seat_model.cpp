// D3: the seat of seat.hpp under every interleaving, with weak memory. light_fence and heavy_fence
// are both a sequentially consistent fence here: that is what they promise each other. There is one
// holder, so no two light ones meet.
//
//   looked_at     E1 to E3: the holder comes and goes while a taker takes what is held, works on it
//       and puts it back: one of them works on it at a time, each sees what the other has done, and
//       the holder, once inside, always has it, and keeps it while it is inside (E4)
//   taken_away    the same, but the taker keeps it once it has got it: from then on the holder
//       never works on it, and knows that
//   in_a_handler  E6: the holder comes inside without the lock, while the taker keeps what it has
//       got, and notes that, or puts it back: the same, and the holder sees what the note says
//
// Broken copies follow: the same code with one thing weaker, and code with one thing wrong.
#include "sync/seat.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

enum class Weaker { kNothing, kLightFence, kHeavyFence, kLeave, kLookInside, kPutBack, kEnter };

template <Weaker weaker>
struct Fenced : ModelSync {
  static void light_fence() {
    if (weaker != Weaker::kLightFence) ModelSync::fence(kSeqCst);
  }
  static void heavy_fence() {
    if (weaker != Weaker::kHeavyFence) ModelSync::fence(kSeqCst);
  }

  // inside_ is of one byte, held_ is a pointer.
  template <class T>
  struct atomic : ModelSync::atomic<T> {
    using Base = ModelSync::atomic<T>;
    using Base::Base;
    static constexpr bool kInside = sizeof(T) == 1;

    [[nodiscard]] T load(std::memory_order order) const {
      return Base::load(weaker == (kInside ? Weaker::kLookInside : Weaker::kEnter) ? kRelaxed
                                                                                   : order);
    }
    void store(T value, std::memory_order order) {
      Base::store(value,
                  weaker == (kInside ? Weaker::kLeave : Weaker::kPutBack) ? kRelaxed : order);
    }
  };
};

using Right = Fenced<Weaker::kNothing>;

struct Work {
  ModelSync::plain<unsigned> done;
};

// A seat whose taker looks first, and pulls then.
template <class Sync>
class LooksFirst : public Seat<Sync, Work> {
 public:
  explicit LooksFirst(Work* what) : what_(what) {}
  Taken take() {
    if (this->inside() != 0) return Taken::kInside;
    this->put_back(nullptr);
    Sync::heavy_fence();
    return Taken::kTaken;
  }

 private:
  Work* what_;
};

enum class Believes : bool { kAfterAll, kAtOnce };
// Where one who is inside reads what it holds.
enum class Again : bool { kMine, kTheWord };

template <class AnySeat, Again again = Again::kMine>
struct State {
  AnySeat seat;
  Work work;
  ModelMutex lock;
  ModelSync::atomic<std::uint32_t> taken{0};
  ModelSync::plain<unsigned> mine;  // of the holder's turns

  State() requires std::is_default_constructible_v<AnySeat>
  = default;

  void name(model::Run& run) {
    run.name("seat", seat);
    run.name("work", work.done);
    run.name("lock", lock);
    run.name("taken", taken);
  }

  // One call into the runtime. False when what was held is gone.
  bool turn(Believes believes) {
    const std::uint8_t was = seat.inside();
    Work* held = seat.enter();
    if (held == nullptr && believes == Believes::kAfterAll) {
      lock.lock();
      held = seat.look_again();
      lock.unlock();
    }
    if (held == nullptr) return false;
    model::check((again == Again::kMine ? seat.mine() : seat.look_again()) == held,
                 "who is inside keeps what it holds");
    ++held->done.edit();
    seat.leave(was);
    return true;
  }
};

constexpr unsigned kTurns = 2;

template <class AnySeat, Again again = Again::kMine>
model::Result looked_at(const model::Options& options, Believes believes = Believes::kAfterAll) {
  return model::explore(options, [believes](model::Run& run) {
    auto s = std::make_shared<State<AnySeat, again>>();
    s->name(run);
    s->seat.sit(&s->work);
    s->seat.leave();
    run.thread("holder", [s, believes] {
      for (unsigned i = 0; i < kTurns; ++i) {
        model::check(s->turn(believes), "what is only looked at is never gone");
      }
    });
    run.thread("taker", [s] {
      s->lock.lock();
      if (s->seat.take() == Taken::kTaken) {
        ++s->work.done.edit();
        s->seat.put_back(&s->work);
        s->taken.store(1, kRelaxed);
      }
      s->lock.unlock();
    });
    run.finally([s] {
      model::check(s->work.done.read() == kTurns + s->taken.load(kRelaxed), "no work is lost");
    });
  });
}

template <class AnySeat>
model::Result taken_away(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<State<AnySeat>>();
    s->name(run);
    s->seat.sit(&s->work);
    s->seat.leave();
    run.thread("holder", [s] {
      for (unsigned i = 0; i < kTurns; ++i) {
        if (!s->turn(Believes::kAfterAll)) break;
        ++s->mine.edit();
      }
    });
    run.thread("taker", [s] {
      s->lock.lock();
      const bool taken = s->seat.take() == Taken::kTaken;
      s->lock.unlock();
      if (!taken) return;
      ++s->work.done.edit();
      ++s->work.done.edit();
      s->taken.store(1, kRelaxed);
    });
    run.finally([s] {
      const bool taken = s->taken.load(kRelaxed) == 1;
      model::check(s->work.done.read() == s->mine.read() + (taken ? 2 : 0), "no work is lost");
      model::check(taken || s->mine.read() == kTurns, "what is not taken stays");
      model::check(s->seat.look_again() == (taken ? nullptr : &s->work), "and the seat knows");
    });
  });
}

enum class Handler { kRight, kNoteIsRelaxed, kStaysOutside };
enum class Keeps : bool { kNo, kYes };

template <Handler handler = Handler::kRight, class AnySeat = Seat<Right, Work>>
model::Result in_a_handler(const model::Options& options, Keeps keeps) {
  struct WithNote : State<AnySeat> {
    ModelSync::plain<unsigned> note;
    ModelSync::atomic<std::uint32_t> kept{0};
  };
  return model::explore(options, [keeps](model::Run& run) {
    auto s = std::make_shared<WithNote>();
    s->name(run);
    run.name("note", s->note);
    s->seat.sit(&s->work);
    s->seat.leave();
    run.thread("holder", [s] {
      for (unsigned i = 0; i < kTurns; ++i) {
        bool gone = false;
        unsigned naps = 1;
        const std::uint8_t was = s->seat.inside();
        const auto look = [&] { return gone = s->kept.load(kAcquire) == 1; };
        Work* held = s->seat.mine();
        if (handler != Handler::kStaysOutside) {
          held = s->seat.enter_without_lock(1, look, [&] { return naps-- > 0; });
        }
        if (held != nullptr) {
          ++held->done.edit();
          ++s->mine.edit();
        } else if (gone) {
          model::check(s->note.read() == 1, "the note is there");
        }
        if (handler != Handler::kStaysOutside) s->seat.leave(was);
      }
    });
    run.thread("taker", [s, keeps] {
      s->lock.lock();
      if (s->seat.take() == Taken::kTaken) {
        ++s->work.done.edit();
        s->taken.store(1, kRelaxed);
        if (keeps == Keeps::kYes) {
          s->note.edit() = 1;
          s->kept.store(1, handler == Handler::kNoteIsRelaxed ? kRelaxed : kRelease);
        } else {
          s->seat.put_back(&s->work);
        }
      }
      s->lock.unlock();
    });
    run.finally([s] {
      model::check(s->work.done.read() == s->mine.read() + s->taken.load(kRelaxed),
                   "no work is lost");
    });
  });
}

template <class Sync>
struct FirstLooker : LooksFirst<Sync> {
  FirstLooker() : LooksFirst<Sync>(nullptr) {}
};

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }
void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr std::string_view kRace = "data race: plain memory";
template <Weaker weaker>
using Weak = Seat<Fenced<weaker>, Work>;

TEST(SeatModel, what_is_looked_at_is_worked_on_by_one_at_a_time) {
  expect_ok(looked_at<Seat<Right, Work>>(full()));
}

TEST(SeatModel, what_is_taken_is_no_longer_worked_on_by_its_holder) {
  expect_ok(taken_away<Seat<Right, Work>>(full()));
}

TEST(SeatModel, a_fence_that_is_missing_is_found) {
  expect_found(taken_away<Weak<Weaker::kLightFence>>(full()), kRace);
  expect_found(taken_away<Weak<Weaker::kHeavyFence>>(full()), kRace);
  expect_found(looked_at<Weak<Weaker::kLightFence>>(full()), kRace);
  expect_found(looked_at<Weak<Weaker::kHeavyFence>>(full()), kRace);
}

TEST(SeatModel, an_order_that_is_too_weak_is_found) {
  expect_found(taken_away<Weak<Weaker::kLeave>>(full()), kRace);
  expect_found(taken_away<Weak<Weaker::kLookInside>>(full()), kRace);
  expect_found(looked_at<Weak<Weaker::kPutBack>>(full()), kRace);
  expect_found(looked_at<Weak<Weaker::kEnter>>(full()), kRace);
}

TEST(SeatModel, a_taker_that_looks_before_it_pulls_is_found) {
  expect_found(taken_away<FirstLooker<Right>>(full()), kRace);
}

TEST(SeatModel, a_holder_that_does_not_wait_for_the_decision_is_found) {
  expect_found(looked_at<Seat<Right, Work>>(full(), Believes::kAtOnce),
               "what is only looked at is never gone");
}

TEST(SeatModel, a_signal_handler_needs_no_lock) {
  expect_ok(in_a_handler(full(), Keeps::kNo));
  expect_ok(in_a_handler(full(), Keeps::kYes));
}

TEST(SeatModel, a_signal_handler_that_stays_outside_is_found) {
  expect_found(in_a_handler<Handler::kStaysOutside>(full(), Keeps::kNo), kRace);
}

TEST(SeatModel, a_note_without_order_is_found) {
  expect_found(in_a_handler<Handler::kNoteIsRelaxed>(full(), Keeps::kYes), kRace);
}

TEST(SeatModel, a_signal_handler_depends_on_the_fences_and_orders_as_well) {
  constexpr auto kKept = Keeps::kYes;
  expect_found((in_a_handler<Handler::kRight, Weak<Weaker::kHeavyFence>>(full(), kKept)), kRace);
  expect_found((in_a_handler<Handler::kRight, Weak<Weaker::kLightFence>>(full(), kKept)), kRace);
  expect_found((in_a_handler<Handler::kRight, Weak<Weaker::kPutBack>>(full(), Keeps::kNo)), kRace);
}

TEST(SeatModel, a_holder_that_reads_the_word_again_is_found) {
  const model::Result r = looked_at<Seat<Right, Work>, Again::kTheWord>(full());
  expect_found(r, "who is inside keeps what it holds");
}

}  // namespace
}  // namespace bulkhead::sync
