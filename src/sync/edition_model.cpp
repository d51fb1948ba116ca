// C13: copies with an edition (edition.hpp), as the registry uses them (core/names.hpp, N3), under
// every interleaving, with weak memory. There is one name. Its holder is an actor that dies, or
// from which it is taken; then another one gets it. A core that has a copy looks it up meanwhile.
//
//   heard     who has heard that the name was taken away, or that its holder has died, does not
//       find the first holder any more
//   followed  who has heard from one that has found the second holder finds no earlier one
//
// Broken copies follow.
#include "sync/edition.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw {
  kNone,
  kChangesNothing,     // the edition stays when the name is taken away
  kChangesBefore,      // E1: before the lock is taken
  kChangesAfterwards,  // E1: when it has been let go
  kReadsLate,          // E2: the edition is read when the lock has been let go
  kIgnoresDeath,       // a copy is good though its actor is dead
};

constexpr std::uint32_t kNobody = 2;

enum class Ends { kTakenAway, kDies };

template <Flaw flaw>
struct World {
  ModelMutex lock;
  Edition<ModelSync> edition;
  ModelSync::plain<std::uint32_t> holder{0};  // under the lock
  ModelSync::atomic<std::uint32_t> generation[2] = {0, 0};
  ModelSync::atomic<std::uint32_t> told{0};

  bool is_alive(std::uint32_t actor) {
    return actor != kNobody && generation[actor].load(kRelaxed) == 0;
  }

  void die(std::uint32_t actor) { generation[actor].store(1, kRelease); }

  void take_away() {
    if constexpr (flaw == Flaw::kChangesBefore) edition.change();
    lock.lock();
    if (flaw == Flaw::kNone || flaw == Flaw::kReadsLate) edition.change();
    holder.write(kNobody);
    lock.unlock();
    if constexpr (flaw == Flaw::kChangesAfterwards) edition.change();
  }

  bool give_to(std::uint32_t actor) {
    lock.lock();
    const bool free = !is_alive(holder.read());
    if (free) holder.write(actor);
    lock.unlock();
    return free;
  }

  struct Copy {
    std::uint32_t holder = kNobody;
    std::uint64_t edition = 0;
  };
  std::uint32_t look_up(Copy& copy) {
    if (copy.holder != kNobody && copy.edition == edition.now() &&
        (flaw == Flaw::kIgnoresDeath || is_alive(copy.holder))) {
      return copy.holder;
    }
    lock.lock();
    const std::uint32_t found = is_alive(holder.read()) ? holder.read() : kNobody;
    std::uint64_t as_of = edition.now();
    lock.unlock();
    if constexpr (flaw == Flaw::kReadsLate) as_of = edition.now();
    if (found != kNobody) copy = {found, as_of};
    return found;
  }

  void end(Ends how) {
    if (how == Ends::kDies) {
      die(0);
    } else {
      take_away();
    }
  }
};

template <Flaw flaw>
model::Result heard(Ends how, bool has_copy) {
  return model::explore(full(), [how, has_copy](model::Run& run) {
    auto s = std::make_shared<World<flaw>>();
    run.thread("who ends it", [s, how] {
      s->end(how);
      s->told.store(1, kRelease);
    });
    run.thread("who looks", [s, has_copy] {
      typename World<flaw>::Copy copy;
      if (has_copy) copy = {0, 0};
      static_cast<void>(s->look_up(copy));
      const bool knows = s->told.load(kAcquire) == 1;
      const std::uint32_t found = s->look_up(copy);
      model::check(!knows || found != 0, "who has heard does not find the first one");
    });
  });
}

template <Flaw flaw>
model::Result followed(Ends how) {
  return model::explore(full(), [how](model::Run& run) {
    auto s = std::make_shared<World<flaw>>();
    run.thread("who ends it", [s, how] { s->end(how); });
    run.thread("who is next", [s] {
      if (!s->give_to(1)) return;
      typename World<flaw>::Copy copy;
      if (s->look_up(copy) == 1) s->told.store(1, kRelease);
    });
    run.thread("who looks", [s] {
      typename World<flaw>::Copy copy{0, 0};
      if (s->told.load(kAcquire) == 0) return;
      model::check(s->look_up(copy) == 1, "who has heard of the second one finds it");
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }
void expect_found(const model::Result& r) { EXPECT_FALSE(r.failure.empty()) << r.report(); }

TEST(EditionModel, who_has_heard_of_an_end_does_not_find_the_holder) {
  for (const bool has_copy : {false, true}) {
    expect_ok(heard<Flaw::kNone>(Ends::kTakenAway, has_copy));
    expect_ok(heard<Flaw::kNone>(Ends::kDies, has_copy));
  }
}

TEST(EditionModel, who_has_heard_of_the_next_holder_finds_that) {
  expect_ok(followed<Flaw::kNone>(Ends::kTakenAway));
  expect_ok(followed<Flaw::kNone>(Ends::kDies));
}

TEST(EditionModel, an_edition_that_stays_is_found) {
  expect_found(heard<Flaw::kChangesNothing>(Ends::kTakenAway, true));
}

TEST(EditionModel, an_edition_that_changes_outside_the_lock_is_found) {
  expect_found(heard<Flaw::kChangesBefore>(Ends::kTakenAway, false));
  expect_found(followed<Flaw::kChangesAfterwards>(Ends::kTakenAway));
}

TEST(EditionModel, an_edition_that_is_read_late_is_found) {
  expect_found(heard<Flaw::kReadsLate>(Ends::kTakenAway, false));
}

TEST(EditionModel, a_copy_of_a_dead_actor_is_found) {
  expect_found(heard<Flaw::kIgnoresDeath>(Ends::kDies, true));
  expect_found(followed<Flaw::kIgnoresDeath>(Ends::kDies));
}

}  // namespace
}  // namespace bulkhead::sync
