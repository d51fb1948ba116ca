// The inbox of inbox.hpp under every interleaving, with weak memory.
//
//   senders_and_an_owner   I1 to I4: nothing is lost or doubled; notes of one sender come in the
//       order sent; there is one notification for each right, and one right at a time; the arrival
//       link is used by one thread at a time; the content of a note is seen. The owner also takes
//       between a push and its notification, as a send to an actor of the same core does.
//   a_second_claimer       I1, I2 for claim_right: of the owner, the senders and somebody who wants
//       to move the actor, one holds the right
//   whoever_holds_the_right   I5: two cores take the actor by turns from a queue that they share.
//       Who has taken it owns it until it gives the right up, which it does only when nothing has
//       come
//
// Broken copies follow: the same code with one memory order weaker, and code with one thing wrong.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "sync/inbox.hpp"
#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

struct Note {
  WatchedLink<Note> next;
  ModelSync::plain<unsigned> content;
};

using Right = Inbox<ModelSync, Note>;

// --- the production code, with one memory order weaker ---

enum class Step { kPush, kTake, kSettle, kClaim, kSettleIfEmpty };

template <Step step, std::memory_order instead>
struct Weakens {
  static constexpr bool applies(const Written& as) {
    switch (as.op) {
      case Written::kWeakSwap:
        return step == Step::kPush;
      case Written::kSwap:
        return step == (as.value == 0 ? Step::kSettleIfEmpty : Step::kClaim);
      case Written::kExchange:
        return step == (as.value == 0 ? Step::kSettle : Step::kTake);
      default:
        return false;
    }
  }
  static constexpr std::memory_order order(const Written& as) {
    return applies(as) ? instead : as.order;
  }
};

template <Step step, std::memory_order order>
using WeakInbox = Inbox<Weakened<Weakens<step, order>>, Note>;

// --- an inbox with one thing wrong ---

enum class Flaw {
  kPushesByStore,    // a push between look and store is overwritten
  kTellsWhenEmpty,   // whoever finds it empty notifies, told or not
  kTellsAlways,      // whoever pushes notifies
  kTakeSettles,      // an early take gives up the right that a sender holds
  kSettlesByStore,   // what comes between look and store is lost
  kNewestFirst,      // not turned around
  kClaimsByStore,    // a push between look and claim loses its right
  kLooksThenSettles  // a push between look and settling is left without a right
};

template <Flaw flaw>
class Broken {
 public:
  Pushed push_remote(Note* node) {
    std::uintptr_t old = head_.load(flaw == Flaw::kPushesByStore ? kAcquire : kRelaxed);
    if constexpr (flaw == Flaw::kPushesByStore) {
      node->next = old > kTold ? reinterpret_cast<Note*>(old) : nullptr;
      head_.store(reinterpret_cast<std::uintptr_t>(node), kRelease);
    } else {
      do {
        node->next = old > kTold ? reinterpret_cast<Note*>(old) : nullptr;
      } while (!head_.compare_exchange_weak(old, reinterpret_cast<std::uintptr_t>(node), kAcqRel,
                                            kRelaxed));
    }
    const bool right = flaw == Flaw::kTellsAlways ||
                       (flaw == Flaw::kTellsWhenEmpty ? old <= kTold : old == kQuiet);
    return right ? Pushed::kMustNotify : Pushed::kQueued;
  }

  bool has_mail() { return head_.load(kRelaxed) > kTold; }

  Note* take() {
    const std::uintptr_t left = flaw == Flaw::kTakeSettles ? kQuiet : kTold;
    return oldest_first(head_.exchange(left, kAcqRel));
  }

  Note* settle() {
    if constexpr (flaw == Flaw::kSettlesByStore) {
      const std::uintptr_t old = head_.load(kAcquire);
      head_.store(kQuiet, kRelease);
      return oldest_first(old);
    }
    return oldest_first(head_.exchange(kQuiet, kAcqRel));
  }

  bool settle_if_empty() {
    std::uintptr_t told = kTold;
    if constexpr (flaw == Flaw::kLooksThenSettles) {
      if (head_.load(kAcquire) != kTold) return false;
      head_.store(kQuiet, kRelease);
      return true;
    }
    return head_.compare_exchange_strong(told, kQuiet, kRelease, kRelaxed);
  }

  bool claim_right() {
    std::uintptr_t quiet = kQuiet;
    if constexpr (flaw == Flaw::kClaimsByStore) {
      if (head_.load(kAcquire) != kQuiet) return false;
      head_.store(kTold, kRelease);
      return true;
    }
    return head_.compare_exchange_strong(quiet, kTold, kAcqRel, kRelaxed);
  }

 private:
  static constexpr std::uintptr_t kQuiet = 0;
  static constexpr std::uintptr_t kTold = 1;

  static Note* oldest_first(std::uintptr_t head) {
    Note* newest = head > kTold ? reinterpret_cast<Note*>(head) : nullptr;
    if constexpr (flaw == Flaw::kNewestFirst) return newest;
    Note* oldest = nullptr;
    while (newest != nullptr) {
      Note* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  ModelSync::atomic<std::uintptr_t> head_{kQuiet};
};

// --- an actor, its senders, and the arrivals of its core ---

constexpr unsigned kMostSenders = 2;
constexpr unsigned kMostNotes = 2;

template <class AnyInbox>
struct Actor {
  AnyInbox inbox;
  ModelSync::plain<unsigned> link{0};   // the arrival link
  ModelSync::atomic<unsigned> news{0};  // how often the actor is among the arrivals
  ModelSync::atomic<unsigned> handled{0};
  Note notes[kMostSenders][kMostNotes];

  void name(model::Run& run) {
    run.name("inbox", inbox);
    run.name("link", link);
    run.name("news", news);
    run.name("handled", handled);
    run.name("notes", notes);
  }

  void notify() {
    ++link.edit();
    news.fetch_add(1, kRelease);
  }

  void send(unsigned sender, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      notes[sender][i].content.write(i + 1);
      if (inbox.push_remote(&notes[sender][i]) == Pushed::kMustNotify) notify();
    }
  }
};

// What one receiver has seen.
template <class AnyInbox>
class Reader {
 public:
  explicit Reader(Actor<AnyInbox>& actor) : actor_(actor) {}

  unsigned read(Note* note) {
    unsigned count = 0;
    for (; note != nullptr; note = note->next) {
      const auto sender = static_cast<unsigned>(note - &actor_.notes[0][0]) / kMostNotes;
      const unsigned content = note->content.read();
      model::check(content > last_[sender], "the notes of a sender come in the order sent");
      last_[sender] = content;
      ++count;
    }
    return count;
  }

 private:
  Actor<AnyInbox>& actor_;
  std::array<unsigned, kMostSenders> last_{};
};

enum class Taking { kWhenTold, kEarly };
enum class Letting { kLinkFirst, kRightFirst };  // the second breaks rule I3

struct Setting {
  std::array<unsigned, kMostSenders> notes{2, 1};  // of each sender
  Taking taking = Taking::kEarly;
  Letting letting = Letting::kLinkFirst;

  [[nodiscard]] unsigned all() const { return notes[0] + notes[1]; }
};

// The owner has been told: the link is used, and the right given up.
template <class AnyInbox>
Note* settle(Actor<AnyInbox>& actor, Letting letting) {
  Note* notes = nullptr;
  if (letting == Letting::kRightFirst) notes = actor.inbox.settle();
  model::check(actor.news.exchange(0, kAcquire) == 1, "an actor is among the arrivals once");
  ++actor.link.edit();
  return letting == Letting::kLinkFirst ? actor.inbox.settle() : notes;
}

template <class AnyInbox>
model::Result senders_and_an_owner(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<Actor<AnyInbox>>();
    s->name(run);
    run.thread("owner", [s, setting] {
      Reader<AnyInbox> reader(*s);
      unsigned handled = 0;
      while (handled < setting.all()) {
        if (setting.taking == Taking::kEarly && s->inbox.has_mail()) {
          handled += reader.read(s->inbox.take());
        } else if (s->news.load(kRelaxed) != 0) {
          handled += reader.read(settle(*s, setting.letting));
        } else {
          ModelSync::spin_hint();
        }
      }
      model::check(handled == setting.all(), "each note comes once");
    });
    for (unsigned i = 0; i < kMostSenders; ++i) {
      if (setting.notes[i] == 0) continue;
      run.thread(i == 0 ? "sender 0" : "sender 1",
                 [s, setting, i] { s->send(i, setting.notes[i]); });
    }
    run.finally([s] {
      const unsigned told = s->news.load();
      model::check(told <= 1, "there is one right at a time");
      model::check(s->inbox.claim_right() == (told == 0), "who is told of holds the right");
    });
  });
}

// A second thread claims the right, and then owns the actor until it settles, as the slab does with
// the slots that it lends.
template <class AnyInbox>
model::Result a_second_claimer(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<Actor<AnyInbox>>();
    s->name(run);
    constexpr unsigned kAll = 2;
    run.thread("owner", [s] {
      Reader<AnyInbox> reader(*s);
      while (s->handled.load(kRelaxed) < kAll) {
        if (s->news.load(kRelaxed) != 0) {
          s->handled.fetch_add(reader.read(settle(*s, Letting::kLinkFirst)), kRelaxed);
        } else {
          ModelSync::spin_hint();
        }
      }
    });
    run.thread("claimer", [s] {
      Reader<AnyInbox> reader(*s);
      if (!s->inbox.claim_right()) return;
      ++s->link.edit();
      s->handled.fetch_add(reader.read(s->inbox.settle()), kRelaxed);
    });
    run.thread("sender", [s] { s->send(0, kAll); });
    run.finally([s] {
      model::check(s->handled.load() == kAll, "each note comes once");
      const unsigned told = s->news.load();
      model::check(s->inbox.claim_right() == (told == 0), "who is told of holds the right");
    });
  });
}

enum class Giving {
  kUp,
  kUpFirst,  // and then touches the actor
  kNotUp     // keeps the right of an actor that it has let go of
};

// One of the cores that take the actor from where all can find it.
template <class AnyInbox>
void own_by_turns(Actor<AnyInbox>& actor, ModelSync::plain<Reader<AnyInbox>>& reader, unsigned all,
                  Giving giving) {
  while (actor.handled.load(kRelaxed) < all) {
    unsigned told = 1;
    if (!actor.news.compare_exchange_strong(told, 0, kAcquire, kRelaxed)) {
      model::check(told == 0, "an actor is in the queue once");
      ModelSync::spin_hint();
      continue;
    }
    ++actor.link.edit();
    do {
      if (actor.inbox.has_mail()) {
        Note* notes = actor.inbox.take();
        actor.handled.fetch_add(reader.edit().read(notes), kRelaxed);
      }
    } while (giving != Giving::kNotUp && !actor.inbox.settle_if_empty());
    if (giving == Giving::kUpFirst) ++actor.link.edit();
  }
}

template <class AnyInbox>
model::Result whoever_holds_the_right(const model::Options& options, const Setting& setting,
                                      Giving giving = Giving::kUp) {
  return model::explore(options, [setting, giving](model::Run& run) {
    struct State {
      Actor<AnyInbox> actor;
      ModelSync::plain<Reader<AnyInbox>> reader{Reader<AnyInbox>(actor)};
    };
    auto s = std::make_shared<State>();
    s->actor.name(run);
    run.name("reader", s->reader);
    for (unsigned i = 0; i < 2; ++i) {
      run.thread(i == 0 ? "core 0" : "core 1", [s, setting, giving] {
        own_by_turns(s->actor, s->reader, setting.all(), giving);
      });
    }
    for (unsigned i = 0; i < kMostSenders; ++i) {
      if (setting.notes[i] == 0) continue;
      run.thread(i == 0 ? "sender 0" : "sender 1",
                 [s, setting, i] { s->actor.send(i, setting.notes[i]); });
    }
    run.finally([s, setting] {
      model::check(s->actor.handled.load() == setting.all(), "each note comes once");
      const unsigned told = s->actor.news.load();
      model::check(s->actor.inbox.claim_right() == (told == 0), "who is told of holds the right");
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

// What is wrong without weak memory is looked for without.
constexpr std::string_view kLinkRace = "data race: plain memory link";
constexpr std::string_view kNotesRace = "data race: plain memory notes";

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr Setting kEarly{};
constexpr Setting kWhenTold{.taking = Taking::kWhenTold};

TEST(InboxModel, notes_come_once_and_in_order_with_one_notification_for_each_right) {
  expect_ok(senders_and_an_owner<Right>(full(), {.notes = {2, 0}}));
  expect_ok(senders_and_an_owner<Right>(full(), {.notes = {1, 1}}));
  expect_ok(senders_and_an_owner<Right>(full(), kWhenTold));
  expect_ok(senders_and_an_owner<Right>(full(), kEarly));
  if (deep()) expect_ok(senders_and_an_owner<Right>(within(2), {.notes = {2, 2}}));
}

TEST(InboxModel, notes_that_are_lost_doubled_or_disordered_are_found) {
  expect_found(senders_and_an_owner<Broken<Flaw::kPushesByStore>>(kSequential, kWhenTold),
               "livelock: no thread can go on: owner spins");
  expect_found(senders_and_an_owner<Broken<Flaw::kSettlesByStore>>(kSequential, kWhenTold),
               "livelock: no thread can go on: owner spins");
  expect_found(senders_and_an_owner<Broken<Flaw::kNewestFirst>>(kSequential, kWhenTold),
               "order sent");
}

TEST(InboxModel, a_second_notification_is_found) {
  expect_found(senders_and_an_owner<Broken<Flaw::kTellsWhenEmpty>>(kSequential, kEarly), kLinkRace);
  expect_found(senders_and_an_owner<Broken<Flaw::kTakeSettles>>(kSequential, kEarly),
               "who is told of holds the right");
}

TEST(InboxModel, a_link_that_two_use_is_found) {
  expect_found(senders_and_an_owner<Right>(
                   kSequential, {.taking = Taking::kWhenTold, .letting = Letting::kRightFirst}),
               kLinkRace);
  expect_found(senders_and_an_owner<WeakInbox<Step::kPush, kRelease>>(kSequential, kWhenTold),
               kLinkRace);
  expect_found(senders_and_an_owner<WeakInbox<Step::kSettle, kAcquire>>(kSequential, kWhenTold),
               kLinkRace);
}

TEST(InboxModel, content_that_is_not_seen_is_found) {
  expect_found(senders_and_an_owner<WeakInbox<Step::kPush, kAcquire>>(kSequential, kWhenTold),
               kNotesRace);
  expect_found(senders_and_an_owner<WeakInbox<Step::kSettle, kRelease>>(kSequential, kWhenTold),
               kNotesRace);
  expect_found(senders_and_an_owner<WeakInbox<Step::kTake, kRelease>>(kSequential, kEarly),
               kNotesRace);
}

TEST(InboxModel, the_right_is_claimed_by_one) { expect_ok(a_second_claimer<Right>(full())); }

TEST(InboxModel, a_right_that_two_have_is_found) {
  expect_found(a_second_claimer<Broken<Flaw::kClaimsByStore>>(kSequential), kLinkRace);
  expect_found(a_second_claimer<WeakInbox<Step::kClaim, kRelaxed>>(kSequential), kLinkRace);
}

constexpr Setting kOneSender{.notes = {2, 0}};
constexpr Setting kTwoSenders{.notes = {1, 1}};

TEST(InboxModel, an_actor_is_owned_by_who_holds_its_right) {
  expect_ok(whoever_holds_the_right<Right>(within(2), kOneSender));
  expect_ok(whoever_holds_the_right<Right>(few_stale(1), kTwoSenders));
}

TEST(InboxModel, an_actor_that_two_own_or_nobody_is_found) {
  expect_found(whoever_holds_the_right<Broken<Flaw::kTellsAlways>>(kSequential, kOneSender),
               "in the queue once");
  expect_found(whoever_holds_the_right<Right>(kSequential, {.notes = {1, 0}}, Giving::kNotUp),
               "who is told of holds the right");
  expect_found(whoever_holds_the_right<Broken<Flaw::kLooksThenSettles>>(kSequential, kOneSender),
               "livelock");
  expect_found(whoever_holds_the_right<Right>(kSequential, kOneSender, Giving::kUpFirst),
               kLinkRace);
  expect_found(
      whoever_holds_the_right<WeakInbox<Step::kSettleIfEmpty, kRelaxed>>(kSequential, kOneSender),
      "data race: plain memory");
}

}  // namespace
}  // namespace bulkhead::sync
