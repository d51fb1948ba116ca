// C12: the tie of tie.hpp under every interleaving, with weak memory.
//
//   cut_by_both   two sides cut it whenever they like; who cuts first leaves its news, which the
//       other side gets, before or after it has cut, or which are dropped when both have ended: the
//       news come once, nobody touches the tie when it has gone, and it goes
//   carried       T3: the other side is none; what carries the tie to it is dropped at any time,
//       and so are the news, perhaps before: the tie goes once, and nobody touches it afterwards
//
// Broken copies follow.
#include "sync/tie.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw { kLooksThenCuts, kBothTell, kForgetsTheCarrier, kNeitherIsLast };

template <Flaw flaw>
class Broken {
 public:
  [[nodiscard]] bool cut(unsigned side) {
    const auto mine = static_cast<std::uint8_t>(1u << side);
    if constexpr (flaw == Flaw::kLooksThenCuts) {
      const bool first = cut_.load(kAcquire) == 0;
      cut_.fetch_or(mine, kAcqRel);
      return first;
    }
    const bool first = cut_.fetch_or(mine, kAcqRel) == 0;
    return first || flaw == Flaw::kBothTell;
  }
  void renew(bool /*carried*/) {}
  [[nodiscard]] bool carrier_goes() { return last(1); }
  [[nodiscard]] bool news_go() { return flaw == Flaw::kForgetsTheCarrier || last(2); }

 private:
  // Both may find themselves the first, and neither the last.
  bool last(std::uint8_t mine) {
    if constexpr (flaw != Flaw::kNeitherIsLast) return (gone_.fetch_or(mine, kAcqRel) | mine) == 3;
    const std::uint8_t seen = gone_.load(kAcquire);
    gone_.store(static_cast<std::uint8_t>(seen | mine), kRelease);
    return (seen | mine) == 3;
  }

  ModelSync::atomic<std::uint8_t> cut_{0};
  ModelSync::atomic<std::uint8_t> gone_{0};
};

// What two sides share: each has its own end, which it leaves before it cuts.
template <class AnyTie>
struct Bond {
  AnyTie tie;
  ModelSync::plain<int> told{0};
  ModelSync::plain<bool> left[2];
};

template <class AnyTie>
struct World {
  Bond<AnyTie>* bond = model::make<Bond<AnyTie>>();
  ModelSync::atomic<std::uint32_t> news[2] = {0, 0};  // for each side
  ModelSync::atomic<std::uint32_t> gone{0};

  void cut(unsigned side) {
    bond->left[side].write(true);
    if (!bond->tie.cut(side)) return;
    bond->told.write(static_cast<int>(side) + 1);
    model::check(news[1 - side].exchange(1, kRelease) == 0, "the news come once");
  }
  // By the side, or by who drops them when that has ended.
  bool get(unsigned side) {
    if (news[side].exchange(0, kAcquire) == 0) return false;
    model::check(bond->told.read() == 2 - static_cast<int>(side), "they are of the other side");
    if (!bond->left[side].read()) bond->left[side].write(true);
    model::check(gone.fetch_add(1, kRelaxed) == 0, "it goes once");
    model::free(bond);
    return true;
  }
};

template <class AnyTie>
model::Result cut_by_both(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<World<AnyTie>>();
    for (unsigned side = 0; side < 2; ++side) {
      run.thread(side == 0 ? "one" : "other", [s, side] {
        if (s->get(side)) return;
        s->cut(side);
        static_cast<void>(s->get(side));
      });
    }
    run.finally([s] {
      for (unsigned side = 0; side < 2; ++side) static_cast<void>(s->get(side));
      model::check(s->gone.load(kRelaxed) == 1, "it goes");
    });
  });
}

// The maker's news for the other side are dropped by the maker; those of the carrier reach it.
template <class AnyTie>
model::Result carried(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct State {
      Bond<AnyTie>* bond = model::make<Bond<AnyTie>>();
      ModelSync::atomic<std::uint32_t> news{0};  // for the maker
      ModelSync::atomic<std::uint32_t> gone{0};

      void let_go() {
        model::check(gone.fetch_add(1, kRelaxed) == 0, "it goes once");
        model::free(bond);
      }
      void get_news() {
        if (news.exchange(0, kAcquire) != 0 && bond->tie.news_go()) let_go();
      }
    };
    auto s = std::make_shared<State>();
    s->bond->tie.renew(true);
    run.thread("maker", [s] {
      if (s->bond->tie.cut(0)) {
        if (s->bond->tie.news_go()) s->let_go();
      } else {
        s->get_news();
      }
    });
    run.thread("carrier", [s] {
      if (s->bond->tie.cut(1)) s->news.store(1, kRelease);
      if (s->bond->tie.carrier_goes()) s->let_go();
    });
    run.finally([s] {
      s->get_news();
      model::check(s->gone.load(kRelaxed) == 1, "it goes");
    });
  });
}

TEST(TieModel, that_is_carried_goes_once) {
  const model::Result r = carried<Tie<ModelSync>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(TieModel, news_that_forget_the_carrier_are_found) {
  EXPECT_FALSE(carried<Broken<Flaw::kForgetsTheCarrier>>(full()).failure.empty());
  EXPECT_FALSE(carried<Broken<Flaw::kNeitherIsLast>>(full()).failure.empty());
}

TEST(TieModel, goes_once_whoever_cuts_it) {
  const model::Result r = cut_by_both<Tie<ModelSync>>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(TieModel, who_looks_before_it_cuts_is_found) {
  const model::Result r = cut_by_both<Broken<Flaw::kLooksThenCuts>>(full());
  EXPECT_FALSE(r.failure.empty()) << r.report();
}

TEST(TieModel, two_who_tell_are_found) {
  const model::Result r = cut_by_both<Broken<Flaw::kBothTell>>(full());
  EXPECT_FALSE(r.failure.empty()) << r.report();
}

}  // namespace
}  // namespace bulkhead::sync
