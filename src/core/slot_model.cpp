// Slots that are used again, and actors that are woken, under every interleaving, with weak memory.
//
//   used_again   S2, S4, S5: an actor ends, and another core, or the same, makes one of its slot.
//       What is sent to the first, by threads outside or by a core that admitted it before, is
//       dropped or comes to the first, and never to the second; what is sent to the second comes to
//       it; the core that the slot has left touches it no more; no right is lost
//   scanned      S5: a core that ends its actors looks at all slots while others are taken
//   sent_to_another_domain   D5 (domain.hpp): who has come inside the gate of a slot's domain, and
//       has seen there that the receiver lives, finds the slot that domain's, whatever stops and
//       starts
//   resumed      W3, I2: an actor that is blocked is resumed once, by its timer or by a reply,
//       whichever claims its wait; while letters to it empty its inbox early, and wherever it goes
//       between one wait and the next
//
// Broken copies follow; modelled.hpp says what each has wrong.
#include <gtest/gtest.h>

#include <memory>

#include "core/modelled.hpp"
#include "sync/gate.hpp"

namespace bulkhead::core {
namespace {

using sync::kSequential;

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

// What is wrong without weak memory is looked for without.
// --- slots that are used again ---

enum class Taker { kSameCore, kOtherCore };
enum class Late { kFromOutside, kFromTheOldHome };
enum class First { kFromOutside, kFromTheCore };

struct Setting {
  Taker taker = Taker::kOtherCore;
  Late late = Late::kFromOutside;     // the letter to the actor that has ended
  First first = First::kFromTheCore;  // the letter to the one that follows
};

template <Flaw flaw>
struct Program {
  using Core = ModelCore<flaw>;

  typename Core::World world;
  Core cores[2] = {{world, 0}, {world, 1}};
  VacantSlots<flaw> vacant;
  ModelSlot slot;
  ModelSignal late;
  ModelSignal first;
  ModelSync::atomic<std::uint32_t> born{0};       // generation of the second actor
  ModelSync::atomic<std::uint32_t> accounted{0};  // letters that were handled or dropped

  explicit Program(model::Run& run) {
    slot.name(run, "inbox", "home", "link", "own lines");
    run.name("generation", slot.generation);
    run.name("late letter", late);
    run.name("first letter", first);
    run.name("born", born);
    run.name("accounted", accounted);
    run.name("vacant", vacant);
    run.name("core 0", cores[0]);
    run.name("core 1", cores[1]);
    for (Core& core : cores) world.cores.push_back(&core);
    world.handler = [this](Core&, ModelSlot&, const Letter& letter) {
      model::check(letter.generation == slot.generation.load(kRelaxed),
                   "a letter comes to the actor that it is for");
      account();
    };
    world.dropped = [this](const Letter& letter) {
      model::check(letter.generation == 1, "a letter to who lives is not dropped");
      account();
    };
    slot.home.store(0, kRelaxed);
    late.letter.write({.generation = 1});
    first.letter.write({.generation = 2});
  }

  void account() {
    if (accounted.fetch_add(1, kRelaxed) + 1 == 2) Core::end(world);
  }

  // Core::finish, and a slot that the core does not keep.
  void end_the_first() {
    cores[0].finish(slot);
    vacant.give(slot);
  }

  // Spawns the second actor, or gives up.
  void be_born(Core& core, Taker taker, First from) {
    if (taker == Taker::kOtherCore) {
      ModelSlot* taken = vacant.take();
      if (taken == nullptr) {
        born.store(kNever, kRelease);
        if (from == First::kFromTheCore) account();
        return;
      }
      core.take_over(*taken);
    }
    slot.own() = ModelSlot::Owned{};
    born.store(slot.generation.load(kRelaxed), kRelease);
    if (from == First::kFromTheCore) core.commit(slot, first);
  }

  void send_the_first_from_outside() {
    std::uint32_t generation = 0;
    while ((generation = born.load(kAcquire)) == 0) ModelSync::spin_hint();
    if (generation == kNever) return account();
    Core::push(world, slot, first);
  }

  // core::prepare, and commit_from_outside.
  void send_late_from_outside() {
    if (slot.generation.load(kRelaxed) != 1) return account();
    Core::push(world, slot, late);
  }

  void check_right() {
    for (Core& core : cores) core.take_arrivals();
    model::check(slot.inbox.claim_right(), "the right is not lost");
  }

  static constexpr std::uint32_t kNever = 99;
};

template <Flaw flaw>
model::Result used_again(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<Program<flaw>>(run);
    run.thread("core 0", [s, setting] {
      if (setting.taker == Taker::kSameCore) {
        s->cores[0].finish(s->slot);
        s->be_born(s->cores[0], setting.taker, setting.first);
      } else {
        s->end_the_first();
      }
      if (setting.late == Late::kFromTheOldHome) s->cores[0].commit(s->slot, s->late);
      s->cores[0].run();
    });
    if (setting.taker == Taker::kOtherCore) {
      run.thread("core 1", [s, setting] {
        s->be_born(s->cores[1], setting.taker, setting.first);
        s->cores[1].run();
      });
    }
    if (setting.late == Late::kFromOutside) {
      run.thread("late", [s] { s->send_late_from_outside(); });
    }
    if (setting.first == First::kFromOutside) {
      run.thread("first", [s] { s->send_the_first_from_outside(); });
    }
    run.finally([s] { s->check_right(); });
  });
}

// Core 0 has given the slot away, and looks whom it has to end.
template <Flaw flaw>
model::Result scanned(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Program<flaw>>(run);
    run.thread("core 0", [s] {
      s->end_the_first();
      if (flaw != Flaw::kScansWithoutLock) s->vacant.lock();
      s->cores[0].look_at(s->slot);
      if (flaw != Flaw::kScansWithoutLock) s->vacant.unlock();
      s->account();
      s->cores[0].run();
    });
    run.thread("core 1", [s] {
      s->be_born(s->cores[1], Taker::kOtherCore, First::kFromTheCore);
      s->cores[1].run();
    });
    run.finally([s] { s->check_right(); });
  });
}

constexpr Setting kUses[] = {
    {},
    {.first = First::kFromOutside},
    {.late = Late::kFromTheOldHome},
    {.late = Late::kFromTheOldHome, .first = First::kFromOutside},
    {.taker = Taker::kSameCore},
    {.taker = Taker::kSameCore, .first = First::kFromOutside},
};

TEST(SlotModel, what_is_sent_to_an_actor_that_has_ended_does_not_come_to_the_next_one) {
  for (const Setting& use : kUses) {
    expect_ok(used_again<Flaw::kNone>(sync::full(), use));
  }
}

TEST(SlotModel, a_letter_that_comes_to_the_next_actor_is_found) {
  constexpr std::string_view kWhat = "a letter comes to the actor that it is for";
  expect_found(used_again<Flaw::kIgnoresGeneration>(kSequential, {}), kWhat);
  expect_found(used_again<Flaw::kIgnoresGeneration>(kSequential, {.taker = Taker::kSameCore}),
               kWhat);
}

TEST(SlotModel, a_slot_that_its_old_home_touches_is_found) {
  constexpr std::string_view kRace = "data race: plain memory own lines";
  expect_found(used_again<Flaw::kTouchesAfterSettling>(kSequential, {}), kRace);
  expect_found(used_again<Flaw::kTakesWithoutRight>(kSequential, {}), "data race");
  expect_found(used_again<Flaw::kTakesMailOfTheDead>(
                   kSequential, {.late = Late::kFromTheOldHome, .first = First::kFromOutside}),
               kRace);
}

TEST(SlotModel, a_right_that_is_lost_is_found) {
  expect_found(used_again<Flaw::kDropsWithoutSettling>(kSequential, {}), "the right is not lost");
}

TEST(SlotModel, a_core_that_ends_its_actors_ends_no_others) {
  expect_ok(scanned<Flaw::kNone>(sync::full()));
}

TEST(SlotModel, a_core_that_ends_an_actor_of_another_is_found) {
  expect_found(scanned<Flaw::kScansWithoutLock>(kSequential), "data race: plain memory own lines");
}

// --- slots that go to another domain ---

enum class Asks { kWhoLives, kWhoseItIs, kNothing };  // inside the gate; the last two break rule D5

// Domain 0 stops: its slot goes to the slab, where it keeps its home, and its core may go to
// domain 1. That takes the slot, or does not get it. Domain 0 starts again. All the while somebody
// sends to the slot's first actor.
struct Domains {
  sync::Gate<ModelSync> gates[2];
  ModelSync::atomic<std::uint32_t> generation{1};
  ModelSync::atomic<std::uint16_t> home{0};
  ModelSync::atomic<std::uint16_t> domain_of_core[2];
  sync::ModelMutex slab;
  ModelSync::plain<bool> in_slab{false};
  ModelSync::plain<std::uint16_t> owner{0};  // the domain that counts what is sent to the slot

  explicit Domains(model::Run& run) {
    run.name("gates", gates);
    run.name("generation", generation);
    run.name("home", home);
    run.name("domains of cores", domain_of_core);
    run.name("slab", slab);
    run.name("owner", owner);
    domain_of_core[1].store(1, kRelaxed);
    gates[0].open();
  }

  // core::domain_of.
  [[nodiscard]] std::uint16_t domain() const {
    const std::uint16_t core = home.load(kAcquire);
    return core == kNowhere ? kNowhere : domain_of_core[core].load(kAcquire);
  }

  // enter_domain_of, prepare_outside, and push_from_outside.
  void send(Asks asks) {
    const std::uint16_t inside = domain();
    if (inside == kNowhere || !gates[inside].enter()) return;
    if (goes_on(asks, inside)) {
      model::check(owner.read() == inside, "inside a domain's gate, the slot is that domain's");
    }
    gates[inside].leave();
  }
  bool goes_on(Asks asks, std::uint16_t inside) const {
    if (asks == Asks::kNothing) return true;
    if (domain() != inside) return false;
    return asks == Asks::kWhoseItIs || generation.load(kRelaxed) == 1;
  }

  // Domain::stop, Domain::give, and Domain::start with other cores.
  void stop_and_start() {
    generation.store(2, kRelease);
    gates[0].close();
    slab.lock();
    owner.write(kNowhere);
    in_slab.write(true);
    slab.unlock();
    domain_of_core[0].store(1, kRelease);
    gates[0].open();
  }

  // Domain::take with core 0, when that is there, and Domain::start; then Domain::take_slots.
  void take() {
    const bool with_core_0 = domain_of_core[0].load(kAcquire) == 1;
    gates[1].open();
    slab.lock();
    const bool there = in_slab.read();
    if (there) home.store(kNowhere, kRelease);
    slab.unlock();
    if (!there) return;
    owner.write(1);
    home.store(with_core_0 ? 0 : 1, kRelease);
  }
};

model::Result sent_to_another_domain(const model::Options& options, Asks asks) {
  return model::explore(options, [asks](model::Run& run) {
    auto s = std::make_shared<Domains>(run);
    run.thread("domain 0", [s] { s->stop_and_start(); });
    run.thread("domain 1", [s] { s->take(); });
    run.thread("sender", [s, asks] { s->send(asks); });
  });
}

TEST(SlotModel, who_is_inside_a_gate_finds_slots_of_that_domain) {
  expect_ok(sent_to_another_domain(sync::full(), Asks::kWhoLives));
}

TEST(SlotModel, a_slot_of_another_domain_is_found) {
  expect_found(sent_to_another_domain(kSequential, Asks::kWhoseItIs), "the slot is that domain's");
  expect_found(sent_to_another_domain(kSequential, Asks::kNothing), "the slot is that domain's");
}

// --- actors that are woken ---

enum class Outcome : std::uint8_t { kTimedOut, kAnswered };
enum class Letters { kNone, kOne };

template <Flaw flaw>
struct Waiting {
  using Core = ModelCore<flaw>;

  typename Core::World world;
  Core cores[2] = {{world, 0}, {world, 1}};
  ModelSlot slot;
  ModelSignal letter;
  ModelSync::plain<Outcome> frame{Outcome::kTimedOut};
  std::uint64_t first_epoch = 0;
  ModelSync::atomic<std::uint64_t> second_epoch{0};
  unsigned letters;

  Waiting(model::Run& run, unsigned letter_count) : letters(letter_count) {
    slot.name(run, "inbox", "home", "link", "own lines");
    run.name("wait", slot.wait);
    run.name("letter", letter);
    run.name("frame", frame);
    run.name("second epoch", second_epoch);
    run.name("core 0", cores[0]);
    run.name("core 1", cores[1]);
    for (Core& core : cores) world.cores.push_back(&core);
    // After its first wait it waits once more, now for an answer alone; then it returns.
    world.resumed = [this](Core& core, ModelSlot&) {
      const Outcome outcome = frame.read();
      if (++slot.own().waits == 1) {
        frame.write(Outcome::kTimedOut);
        const std::uint64_t epoch = Core::park(slot);
        second_epoch.store(epoch, kRelease);  // in a message
        return;
      }
      model::check(outcome == Outcome::kAnswered, "the second wait ends by its answer");
      core.return_from_handler(slot);
      end_when_done();
    };
    world.handler = [this](Core&, ModelSlot&, const Letter&) {
      ++slot.own().handled;
      end_when_done();
    };
    world.dropped = [](const Letter&) { model::check(false, "no letter is dropped"); };
    letter.letter.write({.generation = 1});
    slot.home.store(0, kRelaxed);
    slot.own().move = Move::kShared;
    slot.own().to = 1;
    first_epoch = Core::park(slot);
  }

  void end_when_done() {
    if (slot.see().waits == 2 && slot.see().handled == letters) Core::end(world);
  }

  void check_right() {
    for (Core& core : cores) core.take_arrivals();
    model::check(slot.inbox.claim_right(), "the right is not lost");
  }
};

template <Flaw flaw>
model::Result resumed(const model::Options& options, unsigned letters) {
  return model::explore(options, [letters](model::Run& run) {
    auto s = std::make_shared<Waiting<flaw>>(run, letters);
    run.thread("core 0", [s] {
      if (s->letters > 0) s->cores[0].commit(s->slot, s->letter);
      s->cores[0].time_out(s->slot, s->first_epoch);
      s->cores[0].run();
    });
    run.thread("core 1", [s] {
      if (s->slot.wait.claim(s->first_epoch)) {
        s->frame.write(Outcome::kAnswered);
        s->cores[1].wake(s->slot);
      }
      s->cores[1].run();
    });
    run.thread("outside", [s] {
      std::uint64_t epoch = 0;
      while ((epoch = s->second_epoch.load(kAcquire)) == 0) ModelSync::spin_hint();
      model::check(s->slot.wait.claim(epoch), "nobody else claims the second wait");
      s->frame.write(Outcome::kAnswered);
      ModelCore<flaw>::wake_from_outside(s->world, s->slot);
    });
    run.finally([s] { s->check_right(); });
  });
}

TEST(SlotModel, an_actor_is_resumed_once_for_each_wait) {
  expect_ok(resumed<Flaw::kNone>(sync::full(), 0));
  expect_ok(resumed<Flaw::kNone>(sync::full(), 1));
}

TEST(SlotModel, a_second_resume_is_found) {
  expect_found(resumed<Flaw::kResumesWithoutClaim>(kSequential, 0), "is resumed, once");
  expect_found(resumed<Flaw::kResumesFromElsewhere>(kSequential, 1),
               "data race: plain memory own lines");
}

}  // namespace
}  // namespace bulkhead::core
