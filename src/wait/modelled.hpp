// What the models of this folder share: actors that wait, as wait_in_line and Guest::park do.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "sync/modelled.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"
#include "wait/line.hpp"

namespace bulkhead::wait {

using model::ModelSync;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

struct ModelActor {
  sync::WaitWord<ModelSync> word;
  sync::Parker<ModelSync> parker;
  ModelSync::atomic<bool> ending{false};
  ModelSync::atomic<unsigned> woken{0};
  ModelSync::atomic<unsigned> heard{0};

  void wake() {
    static_cast<void>(woken.fetch_add(1, kRelaxed));
    parker.unpark();
  }
  void park() {
    parker.park();
    static_cast<void>(heard.fetch_add(1, kRelaxed));
  }
  /// False when time is up.
  bool park_for_some_time() {
    if (parker.park_for(1) != sync::Parked::kToken) return false;
    static_cast<void>(heard.fetch_add(1, kRelaxed));
    return true;
  }
  /// In the end: a wake-up that nobody waited for would end some later wait.
  void check_wakes() const {
    model::check(woken.load(kRelaxed) == heard.load(kRelaxed), "nobody is woken for nothing");
  }

  /// As Core::end_all_actors does to a parked actor.
  void stop() {
    ending.store(true, kRelease);
    if (word.claim_any()) wake();
  }
};

/// What is wrong with those who grant, and those who wait.
enum class Flaw : std::uint8_t {
  kNone,
  kGrantsWithoutClaim,  // a grant and a timeout both have their way
  kDoesNotWake,
  kStaysInLine,    // leaves its frame with the node in the line
  kKeepsTheGrant,  // unwound, does not pass on what it was granted
};

template <Flaw flaw = Flaw::kNone>
struct ModelActors {
  struct Waiter {
    ModelActor* actor = nullptr;
    std::uint64_t epoch = 0;
  };
  static bool claim(const Waiter& waiter) {
    const bool claimed = waiter.actor->word.claim(waiter.epoch);
    return claimed || flaw == Flaw::kGrantsWithoutClaim;
  }
  static void wake(const Waiter& waiter) {
    if (flaw != Flaw::kDoesNotWake) waiter.actor->wake();
  }
};

enum class Limit : std::uint8_t { kForever, kSome };
enum class Waited : std::uint8_t { kLetGo, kTimedOut, kUnwound };

/// wait_in_line, and the park of a guest within it. The node lies in watched memory, as in a frame
/// that ends.
template <Flaw flaw, class State, class Node, class Enter, class PassOn>
Waited wait_in_line(State& state, ModelActor& me, Node* node, Limit limit, Enter enter,
                    PassOn pass_on) {
  const std::uint64_t epoch = me.word.begin();
  node->waiter.write({&me, epoch});
  if (!enter(*node)) {
    // A stop may have claimed it: then its token is on the way.
    if (!me.word.claim(epoch)) me.park();
    model::free(node);
    return Waited::kLetGo;
  }
  // Core::park looks whether the actor is to end.
  const bool ending = me.ending.load(kAcquire);
  if (!ending && limit == Limit::kForever) {
    me.park();
  } else if (ending || !me.park_for_some_time()) {
    if (!me.word.claim(epoch)) me.park();
  }
  const bool let_go = flaw == Flaw::kStaysInLine ? node->granted.read() : state.leave(*node);
  model::free(node);
  if (me.ending.load(kAcquire)) {
    if (let_go && flaw != Flaw::kKeepsTheGrant) pass_on();
    return Waited::kUnwound;
  }
  return let_go ? Waited::kLetGo : Waited::kTimedOut;
}

inline void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

inline void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr model::Options kSequential{.preemption_bound = 3};
constexpr std::string_view kRace = "data race: plain memory";
constexpr std::string_view kStuck = "lost wake-up";

}  // namespace bulkhead::wait
