// The arrivals of arrivals.hpp under every interleaving, with weak memory.
//
//   pushers_and_a_sleeper   A1, A2: a core that sleeps when nothing has arrived, until it is woken
//       or until its next timer, gets all that is pushed, once, what one thread pushes in that
//       order, and with its content; no wake-up is lost
//
// A3 is the inbox's: inbox_model.cpp and core/handover_model.cpp.
//
// Broken copies follow: the same code with one memory order weaker, and code with one thing wrong.
#include <gtest/gtest.h>

#include <memory>

#include "sync/arrivals.hpp"
#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

struct Node {
  Node* next_arrival = nullptr;
  // Touched along with the link, which the template wants to be a plain pointer.
  ModelSync::plain<unsigned> watched_link{0};
  ModelSync::plain<unsigned> content{0};

  void use_link() { ++watched_link.edit(); }
};

using Right = Arrivals<ModelSync, Node, &Node::next_arrival>;

// --- the production code, with one memory order weaker ---

enum class Step { kPush, kTake };

template <Step step>
struct Relaxes {
  static constexpr std::memory_order order(const Written& as) {
    const auto what = step == Step::kPush ? Written::kWeakSwap : Written::kExchange;
    return as.op == what ? kRelaxed : as.order;
  }
};

template <Step step>
using WeakArrivals = Arrivals<Weakened<Relaxes<step>>, Node, &Node::next_arrival>;

// --- arrivals with one thing wrong ---

enum class Flaw {
  kSleepsAfterALook,  // looks, then announces: what comes in between is overwritten
  kSleepsUnheard,     // never announces
  kNeverWakes,        // a push takes the announcement for an empty list
  kWakesWhenEmpty,    // only who finds an empty list wakes
  kWakesUpByStore,    // what was pushed while it slept is overwritten
  kTakesByStore,      // what comes between look and store is lost
  kNewestFirst        // not turned around
};

template <Flaw flaw>
class Broken {
 public:
  Arrived push_remote(Node* newest, Node* oldest) {
    std::uintptr_t old = head_.load(kRelaxed);
    do {
      oldest->next_arrival = old > kAsleep ? reinterpret_cast<Node*>(old) : nullptr;
    } while (!head_.compare_exchange_weak(old, reinterpret_cast<std::uintptr_t>(newest), kRelease,
                                          kRelaxed));
    if (flaw == Flaw::kNeverWakes) return Arrived::kSeen;
    const std::uintptr_t wakes = flaw == Flaw::kWakesWhenEmpty ? kEmpty : kAsleep;
    return old == wakes ? Arrived::kMustWake : Arrived::kSeen;
  }

  Node* take_all() {
    if (head_.load(kRelaxed) <= kAsleep) return nullptr;
    std::uintptr_t head = 0;
    if constexpr (flaw == Flaw::kTakesByStore) {
      head = head_.load(kAcquire);
      head_.store(kEmpty, kRelaxed);
    } else {
      head = head_.exchange(kEmpty, kAcquire);
    }
    Node* newest = reinterpret_cast<Node*>(head);
    if constexpr (flaw == Flaw::kNewestFirst) return newest;
    Node* oldest = nullptr;
    while (newest != nullptr) {
      Node* older = newest->next_arrival;
      newest->next_arrival = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  bool fall_asleep() {
    if constexpr (flaw == Flaw::kSleepsUnheard) return head_.load(kRelaxed) == kEmpty;
    if constexpr (flaw == Flaw::kSleepsAfterALook) {
      if (head_.load(kRelaxed) != kEmpty) return false;
      head_.store(kAsleep, kRelaxed);
      return true;
    }
    std::uintptr_t empty = kEmpty;
    return head_.compare_exchange_strong(empty, kAsleep, kAcqRel, kRelaxed);
  }

  void wake_up() {
    if constexpr (flaw == Flaw::kWakesUpByStore) {
      if (head_.load(kRelaxed) == kAsleep) head_.store(kEmpty, kRelaxed);
    } else {
      std::uintptr_t asleep = kAsleep;
      static_cast<void>(head_.compare_exchange_strong(asleep, kEmpty, kRelaxed, kRelaxed));
    }
  }

 private:
  static constexpr std::uintptr_t kEmpty = 0;
  static constexpr std::uintptr_t kAsleep = 1;

  ModelSync::atomic<std::uintptr_t> head_{kEmpty};
};

// --- the theorems ---

enum class FirstSleep { kUntilWoken, kForSomeTime };  // all others: until woken

template <class AnyArrivals>
struct Core {
  AnyArrivals arrivals;
  ModelEvent event;
  bool has_slept = false;

  void push(Node& newest, Node& oldest) {
    oldest.use_link();
    if (arrivals.push_remote(&newest, &oldest) == Arrived::kMustWake) event.wake();
  }

  // As Core::sleep.
  void sleep(FirstSleep first) {
    if (!arrivals.fall_asleep()) return;
    if (first == FirstSleep::kForSomeTime && !has_slept) {
      event.wait_for_some_time();
    } else {
      event.wait();
    }
    has_slept = true;
    arrivals.wake_up();
  }
};

enum class Pushers { kOneByOne, kAndAChain };

// One thread pushes two nodes, one after the other, and another a chain of two.
template <class AnyArrivals>
model::Result pushers_and_a_sleeper(const model::Options& options, FirstSleep first,
                                    Pushers pushers = Pushers::kAndAChain) {
  return model::explore(options, [first, pushers](model::Run& run) {
    struct State {
      Core<AnyArrivals> core;
      Node nodes[4];
    };
    auto s = std::make_shared<State>();
    run.name("arrivals", s->core.arrivals);
    run.name("event", s->core.event);
    run.name("nodes", s->nodes);
    run.thread("core", [s, first, pushers] {
      unsigned taken = 0;
      unsigned last[2] = {0, 0};
      while (taken < (pushers == Pushers::kOneByOne ? 2 : 4)) {
        Node* node = s->core.arrivals.take_all();
        if (node == nullptr) s->core.sleep(first);
        while (node != nullptr) {
          Node* next = node->next_arrival;
          node->use_link();
          unsigned& before = last[(node - s->nodes) / 2];
          const unsigned content = node->content.read();
          model::check(content > before, "what one thread pushes comes once and in order");
          before = content;
          ++taken;
          node = next;
        }
      }
    });
    run.thread("one by one", [s] {
      for (unsigned i = 0; i < 2; ++i) {
        s->nodes[i].content.write(i + 1);
        s->core.push(s->nodes[i], s->nodes[i]);
      }
    });
    if (pushers == Pushers::kOneByOne) return;
    run.thread("a chain", [s] {
      s->nodes[2].content.write(1);
      s->nodes[3].content.write(2);
      s->nodes[3].use_link();
      s->nodes[3].next_arrival = &s->nodes[2];
      s->core.push(s->nodes[3], s->nodes[2]);
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

// What is wrong without weak memory is looked for without.
TEST(ArrivalsModel, a_core_that_sleeps_gets_all_that_is_pushed_once_and_in_order) {
  for (const FirstSleep first : {FirstSleep::kUntilWoken, FirstSleep::kForSomeTime}) {
    expect_ok(pushers_and_a_sleeper<Right>(full(), first, Pushers::kOneByOne));
  }
  expect_ok(pushers_and_a_sleeper<Right>(deep() ? full() : within(2), FirstSleep::kUntilWoken));
  expect_ok(pushers_and_a_sleeper<Right>(few_stale(2), FirstSleep::kForSomeTime));
}

TEST(ArrivalsModel, a_lost_wake_up_is_found) {
  const auto lost = [](const model::Result& r) { expect_found(r, "lost wake-up"); };
  lost(
      pushers_and_a_sleeper<Broken<Flaw::kSleepsAfterALook>>(kSequential, FirstSleep::kUntilWoken));
  lost(pushers_and_a_sleeper<Broken<Flaw::kSleepsUnheard>>(kSequential, FirstSleep::kUntilWoken));
  lost(pushers_and_a_sleeper<Broken<Flaw::kNeverWakes>>(kSequential, FirstSleep::kUntilWoken));
  lost(pushers_and_a_sleeper<Broken<Flaw::kWakesWhenEmpty>>(kSequential, FirstSleep::kUntilWoken));
}

TEST(ArrivalsModel, an_arrival_that_is_lost_or_disordered_is_found) {
  expect_found(
      pushers_and_a_sleeper<Broken<Flaw::kWakesUpByStore>>(kSequential, FirstSleep::kForSomeTime),
      "lost wake-up");
  expect_found(
      pushers_and_a_sleeper<Broken<Flaw::kTakesByStore>>(kSequential, FirstSleep::kUntilWoken),
      "lost wake-up");
  expect_found(
      pushers_and_a_sleeper<Broken<Flaw::kNewestFirst>>(kSequential, FirstSleep::kUntilWoken),
      "in order");
}

TEST(ArrivalsModel, content_that_is_not_seen_is_found) {
  expect_found(
      pushers_and_a_sleeper<WeakArrivals<Step::kPush>>(kSequential, FirstSleep::kForSomeTime),
      "data race: plain memory nodes");
  expect_found(
      pushers_and_a_sleeper<WeakArrivals<Step::kTake>>(kSequential, FirstSleep::kForSomeTime),
      "data race: plain memory nodes");
}

}  // namespace
}  // namespace bulkhead::sync
