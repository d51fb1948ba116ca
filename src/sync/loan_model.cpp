// B11: the loan of loan.hpp under every interleaving, with weak memory: its owner lends it whenever
// it is at home, and ends it at some time; who gets it writes to it, and gives it back. What was
// written is seen by the next; it is let go once, and nobody touches it afterwards.
//
// Broken copies follow.
#include "sync/loan.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw { kLooksThenEnds, kComesHomeUnseen, kForgetsTheEnd };

template <Flaw flaw>
class Broken {
 public:
  [[nodiscard]] bool lend() {
    if (state_.load(flaw == Flaw::kComesHomeUnseen ? kRelaxed : kAcquire) != 0) return false;
    state_.store(1, kRelaxed);
    return true;
  }
  [[nodiscard]] bool end() {
    if constexpr (flaw == Flaw::kLooksThenEnds) {
      const bool at_home = (state_.load(kAcquire) & 1) == 0;
      state_.store(at_home ? 2 : 3, kRelease);
      return at_home;
    }
    return (state_.fetch_or(2, kAcqRel) & 1) == 0;
  }
  [[nodiscard]] bool come_home() {
    if constexpr (flaw == Flaw::kForgetsTheEnd) {
      state_.store(0, kRelease);
      return false;
    }
    return (state_.fetch_and(0xfe, kAcqRel) & 2) != 0;
  }

 private:
  ModelSync::atomic<std::uint8_t> state_{0};
};

template <class AnyLoan>
struct Lent {
  AnyLoan loan;
  ModelSync::plain<int> written{0};
};

template <class AnyLoan>
model::Result lent_and_ended(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct State {
      Lent<AnyLoan>* lent = model::make<Lent<AnyLoan>>();
      ModelSync::atomic<std::uint32_t> sent{0};
      ModelSync::atomic<std::uint32_t> gone{0};

      void let_go() {
        lent->written.write(-1);
        model::check(gone.fetch_add(1, kRelaxed) == 0, "it goes once");
        model::free(lent);
      }
      void get() {
        if (sent.exchange(0, kAcquire) == 0) return;
        lent->written.write(lent->written.read() + 1);
        if (lent->loan.come_home()) let_go();
      }
    };
    auto s = std::make_shared<State>();
    run.thread("owner", [s] {
      for (int i = 0; i < 2; ++i) {
        if (!s->lent->loan.lend()) continue;
        s->lent->written.write(s->lent->written.read() + 1);
        s->sent.store(1, kRelease);
      }
      if (s->lent->loan.end()) s->let_go();
    });
    run.thread("receiver", [s] {
      s->get();
      s->get();
    });
    run.finally([s] {
      s->get();
      model::check(s->gone.load(kRelaxed) == 1, "it goes");
    });
  });
}

// What is lent to who claims a wait (core/watches.hpp, V1 and V2): the owner, when it is done, may
// have to claim that itself.
enum class Ending { kRight, kDoesNotClaim, kTakesWhatIsAway };

template <Ending ending>
model::Result lent_by_a_wait(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct State {
      Lent<Loan<ModelSync>>* lent = model::make<Lent<Loan<ModelSync>>>();
      WaitWord<ModelSync> wait;  // is never unmapped
      ModelSync::atomic<std::uint64_t> known{0};
      ModelSync::atomic<std::uint32_t> gone{0};

      void let_go() {
        lent->written.write(-1);
        model::check(gone.fetch_add(1, kRelaxed) == 0, "it goes once");
        model::free(lent);
      }
      // True when nobody else has it.
      [[nodiscard]] bool end(std::uint64_t epoch) {
        if (lent->loan.end() || ending == Ending::kTakesWhatIsAway) return true;
        if (ending == Ending::kDoesNotClaim) return false;
        return wait.claim(epoch) && lent->loan.come_home();
      }
    };
    auto s = std::make_shared<State>();
    run.thread("owner", [s] {
      std::uint64_t epoch = 0;
      for (int i = 0; i < 2; ++i) {
        if (!s->lent->loan.lend()) break;  // it is told of already
        s->lent->written.write(s->lent->written.read() + 1);
        epoch = s->wait.begin();
        s->known.store(epoch, kRelease);
      }
      if (s->end(epoch)) s->let_go();
    });
    run.thread("reporter", [s] {
      for (int i = 0; i < 2; ++i) {
        if (!s->wait.claim(s->known.load(kAcquire))) continue;
        s->lent->written.write(s->lent->written.read() + 1);
        if (s->lent->loan.come_home()) return s->let_go();
      }
    });
    run.finally([s] { model::check(s->gone.load(kRelaxed) == 1, "it goes"); });
  });
}

TEST(LoanModel, is_let_go_once_when_it_is_lent_by_a_wait) {
  const model::Result r = lent_by_a_wait<Ending::kRight>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(LoanModel, an_owner_that_leaves_an_open_wait_behind_is_found) {
  EXPECT_TRUE(lent_by_a_wait<Ending::kDoesNotClaim>(full()).found("it goes"));
}

TEST(LoanModel, an_owner_that_takes_what_another_has_claimed_is_found) {
  EXPECT_FALSE(lent_by_a_wait<Ending::kTakesWhatIsAway>(full()).failure.empty());
}

TEST(LoanModel, is_let_go_once_whenever_it_ends) {
  const model::Result r = lent_and_ended<Loan<ModelSync>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(LoanModel, an_owner_that_looks_before_it_ends_is_found) {
  EXPECT_FALSE(lent_and_ended<Broken<Flaw::kLooksThenEnds>>(full()).failure.empty());
}

TEST(LoanModel, who_comes_home_unseen_is_found) {
  EXPECT_FALSE(lent_and_ended<Broken<Flaw::kComesHomeUnseen>>(full()).failure.empty());
}

TEST(LoanModel, who_forgets_the_end_is_found) {
  EXPECT_FALSE(lent_and_ended<Broken<Flaw::kForgetsTheEnd>>(full()).failure.empty());
}

}  // namespace
}  // namespace bulkhead::sync
