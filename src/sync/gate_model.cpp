// The gate of gate.hpp under every interleaving, with weak memory.
//
//   opened_and_closed  G1, G2: who is inside sees the house as it was when it was opened, and it is
//       not torn down around him; after close() nobody is inside and nobody comes in; then all that
//       was done inside is seen; and the same when it is opened once more
//   a_late_visitor     G3: who holds something that keeps the house from going away comes in
//       although the gate is closed, and the second close() waits for him
//   a_visitor_who_looks  G4: who finds, when he has come in, that it has not ended what keeps the
//       house from going away, is waited for by the second close(), too
//
// Broken copies follow: the same code with one memory order weaker, and code with one thing wrong.
#include <gtest/gtest.h>

#include <memory>

#include "sync/gate.hpp"
#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

using Right = Gate<ModelSync>;

// --- the production code, with one memory order weaker ---

enum class Step { kEnter, kLeave, kClose, kOpen };

template <Step step>
struct Relaxes {
  static constexpr Step step_of(Written::Op op) {
    switch (op) {
      case Written::kAdd:
        return Step::kEnter;
      case Written::kSub:
        return Step::kLeave;
      case Written::kAnd:
        return Step::kOpen;
      default:
        return Step::kClose;
    }
  }
  static constexpr std::memory_order order(const Written& as) {
    return step_of(as.op) == step ? kRelaxed : as.order;
  }
};
template <Step step>
using Relaxed = Weakened<Relaxes<step>>;

// --- a gate with one thing wrong ---

enum class Flaw {
  kLooksThenEnters,  // the gate may be closed between look and step
  kClosesAtOnce,     // turns away who comes, and waits for nobody
  kWaitsFirst,       // waits, and only then turns away
  kStaysAtTheGate    // who is turned away is counted as inside for ever
};

template <Flaw flaw>
class Broken {
 public:
  bool enter() {
    if constexpr (flaw == Flaw::kLooksThenEnters) {
      if ((word_.load(kAcquire) & kClosed) != 0) return false;
      visit();
      return true;
    }
    if ((word_.fetch_add(kOne, kAcquire) & kClosed) == 0) return true;
    if (flaw != Flaw::kStaysAtTheGate) leave();
    return false;
  }
  void visit() { word_.fetch_add(kOne, kAcquire); }
  void leave() { word_.fetch_sub(kOne, kRelease); }
  void close() {
    if constexpr (flaw == Flaw::kWaitsFirst) {
      while (word_.load(kAcquire) > kClosed) ModelSync::spin_hint();
    }
    word_.fetch_or(kClosed, kAcqRel);
    if (flaw == Flaw::kWaitsFirst || flaw == Flaw::kClosesAtOnce) return;
    while (word_.load(kAcquire) != kClosed) ModelSync::spin_hint();
  }
  void open() { word_.fetch_and(~kClosed, kRelease); }

 private:
  static constexpr std::uint64_t kClosed = 1;
  static constexpr std::uint64_t kOne = 2;
  ModelSync::atomic<std::uint64_t> word_{kClosed};
};

// --- the theorems ---

enum class House { kEmpty, kRunning };

template <class AnyGate>
struct State {
  AnyGate gate;
  ModelSync::plain<House> house{House::kEmpty};
  ModelSync::plain<unsigned> marks[2];  // left inside by each thread
  ModelSync::atomic<std::uint32_t> ended{0};

  void name(model::Run& run) {
    run.name("gate", gate);
    run.name("house", house);
    run.name("marks", marks);
    run.name("ended", ended);
  }

  void open() {
    house.write(House::kRunning);
    gate.open();
  }
  void look_around() { model::check(house.read() == House::kRunning, "who is inside is safe"); }
  void tear_down() {
    house.write(House::kEmpty);
    for (auto& mark : marks) ++mark.edit();
  }
};

enum class Openings { kOne, kTwo };

template <class AnyGate>
model::Result opened_and_closed(const model::Options& options, Openings openings) {
  return model::explore(options, [openings](model::Run& run) {
    auto s = std::make_shared<State<AnyGate>>();
    s->name(run);
    run.thread("owner", [s, openings] {
      s->open();
      s->gate.close();
      s->tear_down();
      if (openings == Openings::kTwo) s->open();
    });
    for (unsigned i = 0; i < 2; ++i) {
      run.thread(i == 0 ? "first" : "second", [s, i] {
        if (!s->gate.enter()) return;
        s->look_around();
        ++s->marks[i].edit();
        s->gate.leave();
      });
    }
    run.finally([s, openings] {
      const bool open = openings == Openings::kTwo;
      model::check(s->gate.enter() == open, "a closed gate stays closed, an open one open");
    });
  });
}

// The owner waits for the end of what the visitor has to end, as a domain does for its actors.
template <class AnyGate>
model::Result a_late_visitor(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<State<AnyGate>>();
    s->name(run);
    run.thread("owner", [s] {
      s->open();
      s->gate.close();
      while (s->ended.load(kAcquire) == 0) ModelSync::spin_hint();
      s->gate.close();
      s->tear_down();
    });
    run.thread("visitor", [s] {
      s->gate.visit();
      ++s->marks[0].edit();
      s->ended.store(1, kRelease);
      ++s->marks[0].edit();
      s->gate.leave();
    });
    run.thread("other", [s] {
      if (!s->gate.enter()) return;
      s->look_around();
      ++s->marks[1].edit();
      s->gate.leave();
    });
  });
}

enum class Looks { kInside, kBefore };

// As the news of a bond, for an actor of the house that may end meanwhile.
template <class AnyGate>
model::Result a_visitor_who_looks(const model::Options& options, Looks looks) {
  return model::explore(options, [looks](model::Run& run) {
    auto s = std::make_shared<State<AnyGate>>();
    s->name(run);
    run.thread("owner", [s] {
      s->open();
      s->gate.close();
      while (s->ended.load(kAcquire) == 0) ModelSync::spin_hint();
      s->gate.close();
      s->tear_down();
    });
    run.thread("actor", [s] { s->ended.store(1, kRelease); });
    run.thread("visitor", [s, looks] {
      if (looks == Looks::kBefore && s->ended.load(kRelaxed) != 0) return;
      s->gate.visit();
      if (looks == Looks::kBefore || s->ended.load(kRelaxed) == 0) ++s->marks[0].edit();
      s->gate.leave();
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

// What is wrong without weak memory is looked for without.
constexpr std::string_view kRace = "data race: plain memory";

TEST(GateModel, a_house_is_not_torn_down_around_who_is_inside) {
  expect_ok(opened_and_closed<Right>(full(), Openings::kOne));
  expect_ok(opened_and_closed<Right>(full(), Openings::kTwo));
}

TEST(GateModel, a_house_that_is_torn_down_around_somebody_is_found) {
  const auto race = [](const model::Result& r) { expect_found(r, kRace); };
  race(opened_and_closed<Broken<Flaw::kLooksThenEnters>>(kSequential, Openings::kOne));
  race(opened_and_closed<Broken<Flaw::kClosesAtOnce>>(kSequential, Openings::kOne));
  race(opened_and_closed<Broken<Flaw::kWaitsFirst>>(kSequential, Openings::kOne));
}

TEST(GateModel, a_close_that_never_returns_is_found) {
  expect_found(opened_and_closed<Broken<Flaw::kStaysAtTheGate>>(kSequential, Openings::kOne),
               "livelock: no thread can go on: owner spins");
}

TEST(GateModel, an_order_that_is_too_weak_is_found) {
  const auto race = [](const model::Result& r) { expect_found(r, kRace); };
  race(opened_and_closed<Gate<Relaxed<Step::kEnter>>>(kSequential, Openings::kOne));
  race(opened_and_closed<Gate<Relaxed<Step::kLeave>>>(kSequential, Openings::kOne));
  race(opened_and_closed<Gate<Relaxed<Step::kClose>>>(kSequential, Openings::kOne));
  race(opened_and_closed<Gate<Relaxed<Step::kOpen>>>(kSequential, Openings::kOne));
}

TEST(GateModel, a_late_visitor_is_waited_for) { expect_ok(a_late_visitor<Right>(full())); }

TEST(GateModel, a_late_visitor_who_is_not_waited_for_is_found) {
  expect_found(a_late_visitor<Broken<Flaw::kClosesAtOnce>>(kSequential), kRace);
  expect_found(a_late_visitor<Gate<Relaxed<Step::kLeave>>>(kSequential), kRace);
}

TEST(GateModel, a_visitor_who_looks_is_waited_for_or_goes_again) {
  expect_ok(a_visitor_who_looks<Right>(full(), Looks::kInside));
}

TEST(GateModel, a_visitor_who_looks_too_early_or_sees_too_little_is_found) {
  expect_found(a_visitor_who_looks<Right>(kSequential, Looks::kBefore), kRace);
  expect_found(a_visitor_who_looks<Broken<Flaw::kClosesAtOnce>>(kSequential, Looks::kInside),
               kRace);
  expect_found(a_visitor_who_looks<Gate<Relaxed<Step::kEnter>>>(full(), Looks::kInside), kRace);
  expect_found(a_visitor_who_looks<Gate<Relaxed<Step::kClose>>>(full(), Looks::kInside), kRace);
}

}  // namespace
}  // namespace bulkhead::sync
