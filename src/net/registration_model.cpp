// The registration of registration.hpp under every interleaving, together with the readiness that
// it serves and a modelled kernel.
//
//   nobody_waits_unregistered   N1, N2: a reader and a writer that have to wait at the same time,
//   on
//       different cores, are woken by what comes later, or told that it cannot be; wherever the
//       descriptor was registered before, and whichever poller refuses it
//
// Broken copies follow.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "explorer.hpp"
#include "net/readiness.hpp"
#include "net/registration.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::net {
namespace {

using model::ModelSync;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kSeqCst = std::memory_order_seq_cst;

// Stands for the slots of two actors, and for core::wake and core::park.
struct ModelActors {
  sync::WaitWord<ModelSync> words[2];
  sync::Parker<ModelSync> parkers[2];

  [[nodiscard]] bool claim(Waiter waiter) {
    return words[waiter.slot].claim_lowest(waiter.epoch, kEpochBits);
  }
  void wake(Waiter waiter) { parkers[waiter.slot].unpark(); }
  // Nobody watches here.
  [[nodiscard]] bool claim(Watcher /*watcher*/) { return false; }
  void wake(Watcher /*watcher*/) {}
};

using Ready = Readiness<ModelSync, ModelActors>;

constexpr PollerId kFirst{1, 0};
constexpr PollerId kSecond{2, 1};
constexpr PollerId kNone{};

using Right = Registration<ModelSync>;

// Says that all is well when it is not.
struct ClaimsNothing : Right {
  template <class LeaveAt>
  Claim claim(PollerId /*wanted*/, LeaveAt /*leave_at*/) {
    return {Claimed::kThere, {}};
  }
};

enum class Refuses : std::uint8_t { kNobody, kTheFirst, kTheSecond };
enum class OnFailure : std::uint8_t { kReports, kSaysNothing };

template <class AnyRegistration>
struct State {
  Ready readiness;
  AnyRegistration registration;
  ModelActors actors;
  ModelSync::atomic<std::uint32_t> at{0};     // the kernel's: serial of the poller, 0: none
  ModelSync::atomic<std::uint64_t> level{0};  // the kernel's: what it is ready for
  std::uint64_t generation = 0;
  Refuses refuses = Refuses::kNobody;
  OnFailure on_failure = OnFailure::kReports;

  State() { generation = readiness.open(actors).generation; }

  [[nodiscard]] bool refused_by(PollerId poller) const {
    return (refuses == Refuses::kTheFirst && poller == kFirst) ||
           (refuses == Refuses::kTheSecond && poller == kSecond);
  }

  // As epoll_ctl does: first it is in, then its level is looked at.
  [[nodiscard]] bool add(PollerId poller) {
    if (refused_by(poller)) return false;
    at.store(poller.serial, kSeqCst);
    if (const std::uint64_t now = level.load(kSeqCst); now != 0) readiness.report(now, actors);
    return true;
  }
  void becomes(std::uint64_t ready) {
    level.fetch_or(ready, kSeqCst);
    if (at.load(kSeqCst) != 0) readiness.report(ready, actors);
  }

  // As Entry::watch.
  [[nodiscard]] bool watch(Direction direction, PollerId wanted) {
    const Direction other = direction == Direction::kRead ? Direction::kWrite : Direction::kRead;
    const Claim claim =
        registration.claim(wanted, [&](PollerId) { return readiness.awaited(other); });
    if (claim.claimed == Claimed::kThere) return true;
    if (claim.from.serial != 0) at.store(0, kSeqCst);
    const bool added = add(wanted);
    registration.settle(added ? wanted : kNone);
    if (!added && on_failure == OnFailure::kReports) {
      readiness.report(Ready::kIn | Ready::kOut, actors);
    }
    return added;
  }

  // As Operation::park: waits once.
  void park(Direction direction) {
    const auto slot = static_cast<std::uint32_t>(direction);
    const Waiter waiter{slot, actors.words[slot].begin()};
    const Look look = readiness.announce(direction, generation, waiter);
    if (look.ready == 0 || !actors.words[slot].claim(waiter.epoch)) actors.parkers[slot].park();
    readiness.withdraw(direction, waiter);
    if (look.ready == 0) static_cast<void>(readiness.look(direction, generation));
  }

  // Waits until the level says so, or the poller refuses.
  void wait(Direction direction, PollerId poller, std::uint64_t wanted) {
    static_cast<void>(readiness.enter(direction, generation));
    while ((level.load(kAcquire) & wanted) == 0) {
      if (!watch(direction, poller)) {
        model::check(refused_by(poller), "only its own poller's refusal is an error");
        break;
      }
      park(direction);
    }
    static_cast<void>(readiness.leave(direction, generation, 0));
  }
};

struct Setting {
  PollerId before = kNone;
  Refuses refuses = Refuses::kNobody;
  OnFailure on_failure = OnFailure::kReports;
};

template <class AnyRegistration>
model::Result nobody_waits_unregistered(const model::Options& options, Setting setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<State<AnyRegistration>>();
    s->refuses = setting.refuses;
    s->on_failure = setting.on_failure;
    if (setting.before != kNone) {
      static_cast<void>(s->registration.claim(setting.before, [](PollerId) { return false; }));
      s->registration.settle(setting.before);
      s->at.store(setting.before.serial, kRelaxed);
    }
    run.name("readiness", s->readiness);
    run.name("registration", s->registration);
    run.name("actors", s->actors);
    run.name("kernel", s->level);
    run.thread("reader", [s] { s->wait(Direction::kRead, kFirst, Ready::kIn); });
    run.thread("writer", [s] { s->wait(Direction::kWrite, kSecond, Ready::kOut); });
    run.thread("peer", [s] {
      s->becomes(Ready::kIn);
      s->becomes(Ready::kOut);
    });
  });
}

constexpr Setting kSettings[] = {
    {}, {kFirst}, {kSecond}, {kNone, Refuses::kTheFirst}, {kSecond, Refuses::kTheFirst}};

TEST(RegistrationModel, whoever_waits_is_registered_somewhere_or_told_that_it_cannot_be) {
  for (const Setting& setting : kSettings) {
    for (const bool weak : {false, true}) {
      const auto result =
          nobody_waits_unregistered<Right>({.preemption_bound = 2, .weak = weak}, setting);
      EXPECT_TRUE(result.ok()) << result.report();
    }
  }
}

TEST(RegistrationModel, who_is_refused_and_keeps_it_to_himself_is_found) {
  const auto result =
      nobody_waits_unregistered<Right>({}, {kNone, Refuses::kTheFirst, OnFailure::kSaysNothing});
  EXPECT_TRUE(result.found("lost wake-up")) << result.report();
}

TEST(RegistrationModel, a_registration_that_is_not_made_is_found) {
  EXPECT_TRUE(nobody_waits_unregistered<ClaimsNothing>({}, {}).found("lost wake-up"));
}

}  // namespace
}  // namespace bulkhead::net
