// The semaphore of semaphore_state.hpp under every interleaving, with weak memory.
//
//   conserved   E1, N2 to N4: some take permits and give them back, some give up when time is up,
//       some are stopped; in the end all permits are there, and never were more out
//   served      E2, E3: who waits for what is there gets it, when permits come and when he who
//       stood before him leaves; and nobody takes permits past one who waits
//
// Broken copies follow, with one thing wrong.
#include "wait/semaphore_state.hpp"

#include <gtest/gtest.h>

#include "wait/modelled.hpp"

namespace bulkhead::wait {
namespace {

template <Flaw flaw>
using AnySemaphore = SemaphoreState<ModelSync, ModelActors<flaw>, 0>;
using Right = AnySemaphore<Flaw::kNone>;

/// Who leaves does not look whether the next one could be served now.
struct LeavesOnly : Right {
  using Right::Right;
  bool leave(Node& node) {
    lock_.lock();
    line_.remove(node);
    lock_.unlock();
    return node.granted.read();
  }
};

/// Takes the permits of a waiter whose wait was over.
struct PaysForTheStale : Right {
  using Right::Right;
  bool give(std::uint64_t count) {
    Woken<ModelSync, ModelActors<>> woken;
    lock_.lock();
    permits_.edit() += count;
    while (!line_.empty() && line_.first()->what <= permits_.read()) {
      permits_.edit() -= line_.first()->what;
      static_cast<void>(woken.grant_first(line_));
    }
    lock_.unlock();
    woken.wake();
    return true;
  }
};

/// Serves those behind one that wants more than there is.
struct Overtakes : Right {
  using Right::Right;
  bool try_take(std::uint64_t count) {
    lock_.lock();
    const bool taken = permits_.read() >= count;
    if (taken) permits_.edit() -= count;
    lock_.unlock();
    return taken;
  }
};

/// Looks, lets the lock go, and then joins the line.
struct LooksTooEarly : Right {
  using Right::Right;
  bool enter(Node& node) {
    lock_.lock();
    const bool taken = take(node.what);
    lock_.unlock();
    if (taken) return true;
    lock_.lock();
    line_.append(node);
    lock_.unlock();
    return false;
  }
};

template <class Semaphore>
struct State {
  Semaphore semaphore;
  ModelActor actors[3];
  ModelSync::atomic<std::uint64_t> out{0};
  ModelSync::atomic<unsigned> served{0};

  State(std::uint64_t permits, std::uint64_t most) : semaphore(permits, most) {}
  void name(model::Run& run) {
    run.name("semaphore", semaphore);
    run.name("actors", actors);
    run.name("out", out);
  }
};

/// Semaphore::acquire_for.
template <Flaw flaw, class Semaphore>
Waited take(State<Semaphore>& s, unsigned thread, std::uint64_t count, Limit limit) {
  if (s.semaphore.try_take(count)) return Waited::kLetGo;
  auto* node = model::make<typename Semaphore::Node>();
  node->what = count;
  return wait_in_line<flaw>(
      s.semaphore, s.actors[thread], node, limit,
      [&](auto& mine) { return !s.semaphore.enter(mine); },
      [&] { static_cast<void>(s.semaphore.give(count)); });
}

struct Actor {
  std::uint64_t count;
  Limit limit;
};

enum class Stop : std::uint8_t { kNobody, kTheFirst };

/// Two permits. Each actor takes some, and gives them back.
template <class Semaphore, Flaw flaw = Flaw::kNone>
model::Result conserved(const model::Options& options, std::vector<Actor> actors,
                        Stop stop = Stop::kNobody) {
  return model::explore(options, [=](model::Run& run) {
    constexpr std::uint64_t kPermits = 2;
    auto s = std::make_shared<State<Semaphore>>(kPermits, kPermits);
    s->name(run);
    for (unsigned i = 0; i < actors.size(); ++i) {
      run.thread("actor", [s, i, actor = actors[i]] {
        if (take<flaw>(*s, i, actor.count, actor.limit) != Waited::kLetGo) return;
        const std::uint64_t before = s->out.fetch_add(actor.count, kRelaxed);
        model::check(before + actor.count <= kPermits, "no more are out than there are");
        static_cast<void>(s->served.fetch_add(1, kRelaxed));
        static_cast<void>(s->out.fetch_sub(actor.count, kRelaxed));
        model::check(s->semaphore.give(actor.count), "what was taken can be given back");
      });
    }
    if (stop == Stop::kTheFirst) run.thread("stop", [s] { s->actors[0].stop(); });
    run.finally([s, actors, stop] {
      for (const ModelActor& actor : s->actors) actor.check_wakes();
      model::check(s->semaphore.permits() == kPermits, "all permits are there again");
      std::size_t may_leave = stop == Stop::kTheFirst ? 1 : 0;
      for (const Actor& actor : actors) may_leave += actor.limit == Limit::kSome ? 1 : 0;
      model::check(s->served.load(kRelaxed) + may_leave >= actors.size(),
                   "who waits for ever is served");
    });
  });
}

/// One permit is there. One actor waits for two and gives up; one waits for one, and nobody gives
/// any back.
template <class Semaphore>
model::Result served(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<State<Semaphore>>(1, 2);
    s->name(run);
    run.thread("wants two", [s] {
      const Waited waited = take<Flaw::kNone>(*s, 0, 2, Limit::kSome);
      model::check(waited == Waited::kTimedOut, "two are never there");
    });
    run.thread("wants one", [s] {
      model::check(take<Flaw::kNone>(*s, 1, 1, Limit::kForever) == Waited::kLetGo, "it waits");
    });
    run.finally([s] { model::check(s->semaphore.permits() == 0, "one was taken"); });
  });
}

/// One actor waits for two; another takes the one that is there again and again.
template <class Semaphore>
model::Result nobody_overtakes(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct Order : State<Semaphore> {
      using State<Semaphore>::State;
      ModelSync::atomic<bool> in_line{false};
    };
    auto s = std::make_shared<Order>(1, 2);
    s->name(run);
    run.thread("wants two", [s] {
      auto* node = model::make<typename Semaphore::Node>();
      node->what = 2;
      static_cast<void>(wait_in_line<Flaw::kNone>(
          s->semaphore, s->actors[0], node, Limit::kForever,
          [&](auto& mine) {
            const bool waits = !s->semaphore.enter(mine);
            if (waits) s->in_line.store(true, kRelease);
            return waits;
          },
          [] {}));
    });
    run.thread("wants one", [s] {
      const bool somebody_waits = s->in_line.load(kAcquire);
      const bool taken = s->semaphore.try_take(1);
      if (somebody_waits) model::check(!taken, "nobody overtakes");
      model::check(s->semaphore.give(taken ? 2 : 1), "they fit");
    });
    run.finally([s] { model::check(s->semaphore.permits() == 0, "two were taken"); });
  });
}

constexpr Actor kOne{1, Limit::kForever};
constexpr Actor kTwo{2, Limit::kForever};
constexpr Actor kHastyTwo{2, Limit::kSome};

TEST(SemaphoreModel, permits_are_conserved_and_all_are_served) {
  expect_ok(conserved<Right>(sync::within(3), {kTwo, kOne}));
  expect_ok(conserved<Right>(sync::within(3), {kHastyTwo, kTwo}));
  expect_ok(conserved<Right>(sync::within(1), {kTwo, kTwo, kOne}));
  expect_ok(conserved<Right>(sync::within(1), {kHastyTwo, kTwo, kOne}));
}

TEST(SemaphoreModel, a_grant_and_a_stop_have_one_outcome) {
  expect_ok(conserved<Right>(sync::within(3), {kTwo, kTwo}, Stop::kTheFirst));
  expect_ok(conserved<Right>(sync::within(1), {kTwo, kTwo, kOne}, Stop::kTheFirst));
}

TEST(SemaphoreModel, who_leaves_lets_the_next_one_through) {
  expect_ok(served<Right>(sync::full()));
}

TEST(SemaphoreModel, nobody_overtakes_who_waits) {
  expect_ok(nobody_overtakes<Right>(sync::full()));
}

TEST(SemaphoreModel, what_is_wrong_in_the_semaphore_is_found) {
  expect_found(served<LeavesOnly>(kSequential), kStuck);
  expect_found(conserved<PaysForTheStale>(kSequential, {kHastyTwo, kTwo}), "all permits");
  expect_found(nobody_overtakes<Overtakes>(kSequential), "nobody overtakes");
  expect_found(conserved<LooksTooEarly>(kSequential, {kTwo, kTwo}), kStuck);
}

TEST(SemaphoreModel, what_is_wrong_in_a_grant_is_found) {
  const auto with = [](auto flaw, Stop stop) {
    constexpr Flaw kFlaw = decltype(flaw)::value;
    return conserved<AnySemaphore<kFlaw>, kFlaw>(kSequential, {kTwo, kTwo}, stop);
  };
  expect_found(with(std::integral_constant<Flaw, Flaw::kDoesNotWake>(), Stop::kNobody), kStuck);
  expect_found(with(std::integral_constant<Flaw, Flaw::kKeepsTheGrant>(), Stop::kTheFirst),
               "all permits");
}

}  // namespace
}  // namespace bulkhead::wait
