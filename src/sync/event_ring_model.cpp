// C16: the ring of events of event_ring.hpp under every interleaving, with weak memory.
//
//   taken_out     a producer pushes more than there is room for, and a consumer takes out: V1, V2
//   looked_back   a producer overwrites, and somebody looks back: what it sees is whole, and of the
//       producer's order (V3)
//   handed_over   V4: another producer goes on
//
// Rings with weaker orders and other flaws follow, and are found.
#include "sync/event_ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

constexpr std::size_t kCapacity = 2;
constexpr std::uint64_t kMark = 100;  // events carry larger numbers than counts do

template <class Ring>
typename Ring::Event event(std::uint64_t number) {
  return {kMark + number, 2 * kMark + number};
}

template <class Ring>
struct World {
  explicit World(WhenFull when_full) : ring(kCapacity, when_full) {}

  Ring ring;
  std::vector<std::uint64_t> seen{};  // notes
  std::uint64_t pushed = 0;

  void push(std::uint64_t number) {
    if (ring.push(event<Ring>(number))) ++pushed;
  }
  void see(const typename Ring::Event& it) {
    model::check(it[0] >= kMark && it[1] == it[0] + kMark, "it is whole");
    model::check(seen.empty() || it[0] > seen.back(), "they are in order");
    seen.push_back(it[0]);
  }
  void take() {
    ring.take(kCapacity, [this](const typename Ring::Event& it) { see(it); });
  }
};

template <class Ring>
model::Result taken_out(const model::Options& options, std::uint64_t events = 4) {
  return model::explore(options, [events](model::Run& run) {
    auto s = std::make_shared<World<Ring>>(WhenFull::kDrop);
    run.thread("producer", [s, events] {
      for (std::uint64_t i = 0; i < events; ++i) s->push(i);
    });
    run.thread("consumer", [s] {
      s->take();
      s->take();
    });
    run.finally([s, events] {
      s->take();
      model::check(s->seen.size() == s->pushed, "each comes once");
      model::check(s->ring.dropped() == events - s->pushed, "the others are counted");
      model::check(s->pushed >= kCapacity, "none is dropped while there is room");
    });
  });
}

template <class Ring>
model::Result looked_back(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto s = std::make_shared<World<Ring>>(WhenFull::kOverwrite);
    run.thread("producer", [s] {
      for (std::uint64_t i = 0; i < 4; ++i) s->push(i);
    });
    run.thread("looks back",
               [s] { s->ring.look_back([s](const typename Ring::Event& it) { s->see(it); }); });
    run.finally([s] {
      s->seen.clear();
      s->ring.look_back([s](const typename Ring::Event& it) { s->see(it); });
      model::check(s->seen.size() == kCapacity - 1 && s->seen.back() == kMark + 3,
                   "the last ones are there");
      model::check(s->ring.dropped() == 0, "none is dropped");
    });
  });
}

template <class Ring>
model::Result handed_over(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    struct Two : World<Ring> {
      Two() : World<Ring>(WhenFull::kDrop) {}
      ModelSync::atomic<std::uint32_t> turn{0};
    };
    auto s = std::make_shared<Two>();
    run.thread("producer", [s] {
      s->push(0);
      s->turn.store(1, kRelease);
    });
    run.thread("next producer", [s] {
      if (s->turn.load(kAcquire) == 1) s->push(1);
    });
    run.thread("consumer", [s] { s->take(); });
    run.finally([s] {
      s->take();
      model::check(s->seen.size() == s->pushed, "each comes once");
    });
  });
}

using Right = EventRing<ModelSync, 2>;

TEST(EventRingModel, each_event_is_taken_once_in_order_and_whole_or_counted) {
  const model::Result r = taken_out<Right>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(EventRingModel, who_looks_back_sees_whole_events_only) {
  const model::Result r = looked_back<Right>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

TEST(EventRingModel, another_producer_may_go_on) {
  const model::Result r = handed_over<Right>(full());
  EXPECT_TRUE(r.ok()) << r.report();
}

// --- weaker orders -------------------------------------------------------------------------------

struct CountsRelaxed {
  static constexpr std::memory_order order(const Written& it) {
    return it.op == Written::kStore && it.value < kMark ? kRelaxed : it.order;
  }
};
struct CellsStoredRelaxed {
  static constexpr std::memory_order order(const Written& it) {
    return it.op == Written::kStore && it.value >= kMark ? kRelaxed : it.order;
  }
};
struct LoadsRelaxed {
  static constexpr std::memory_order order(const Written& it) {
    return it.op == Written::kLoad ? kRelaxed : it.order;
  }
};

template <class Rule>
using Weak = EventRing<Weakened<Rule>, 2>;

TEST(EventRingModel, a_count_that_releases_nothing_is_found) {
  EXPECT_FALSE(taken_out<Weak<CountsRelaxed>>(full()).failure.empty());
}

TEST(EventRingModel, cells_that_release_nothing_are_found_by_who_looks_back) {
  EXPECT_FALSE(looked_back<Weak<CellsStoredRelaxed>>(full()).failure.empty());
}

TEST(EventRingModel, loads_that_acquire_nothing_are_found) {
  EXPECT_FALSE(taken_out<Weak<LoadsRelaxed>>(full()).failure.empty());
  EXPECT_FALSE(looked_back<Weak<LoadsRelaxed>>(full()).failure.empty());
}

// --- flaws ---------------------------------------------------------------------------------------

enum class Flaw {
  kCountsFirst,
  kOneTooMany,
  kTakenFirst,
  kLooksOnce,
  kDropsUncounted,
  kDropsEarly
};

// The same protocol, written shortly.
template <Flaw flaw>
class Broken {
 public:
  using Event = std::array<std::uint64_t, 2>;

  Broken(std::size_t capacity, WhenFull when_full)
      : capacity_(capacity), overwrites_(when_full == WhenFull::kOverwrite) {}

  bool push(const Event& event) {
    const std::uint64_t number = pushed_.load(kRelaxed);
    const std::uint64_t room =
        capacity_ + (flaw == Flaw::kOneTooMany ? 1 : 0) - (flaw == Flaw::kDropsEarly ? 1 : 0);
    if (!overwrites_ && number - taken_.load(kAcquire) >= room) {
      if (flaw != Flaw::kDropsUncounted) dropped_.store(dropped() + 1, kRelaxed);
      return false;
    }
    if (flaw == Flaw::kCountsFirst) pushed_.store(number + 1, kRelease);
    for (std::size_t i = 0; i < 2; ++i) cells_[number % capacity_][i].store(event[i], kRelease);
    if (flaw != Flaw::kCountsFirst) pushed_.store(number + 1, kRelease);
    return true;
  }
  template <class Take>
  void take(std::size_t /*most*/, Take take) {
    const std::uint64_t begin = taken_.load(kRelaxed);
    const std::uint64_t end = pushed_.load(kAcquire);
    if (flaw == Flaw::kTakenFirst) taken_.store(end, kRelease);
    for (std::uint64_t number = begin; number != end; ++number) take(read(number));
    taken_.store(end, kRelease);
  }
  template <class See>
  void look_back(See see) const {
    const std::uint64_t end = pushed_.load(kAcquire);
    for (std::uint64_t number = end >= capacity_ ? end - capacity_ + 1 : 0; number != end;
         ++number) {
      const Event event = read(number);
      if (flaw == Flaw::kLooksOnce || pushed_.load(kRelaxed) - number < capacity_) see(event);
    }
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(kRelaxed); }

 private:
  [[nodiscard]] Event read(std::uint64_t number) const {
    const auto& cell = cells_[number % capacity_];
    const std::uint64_t first = cell[0].load(kAcquire);
    return {first, cell[1].load(kAcquire)};
  }

  std::uint64_t capacity_;
  bool overwrites_;
  ModelSync::atomic<std::uint64_t> cells_[kCapacity][2];
  ModelSync::atomic<std::uint64_t> pushed_{0};
  ModelSync::atomic<std::uint64_t> taken_{0};
  ModelSync::atomic<std::uint64_t> dropped_{0};
};

TEST(EventRingModel, who_counts_before_it_writes_is_found) {
  EXPECT_FALSE(taken_out<Broken<Flaw::kCountsFirst>>(full()).failure.empty());
  EXPECT_FALSE(looked_back<Broken<Flaw::kCountsFirst>>(full()).failure.empty());
}

TEST(EventRingModel, one_event_too_many_is_found) {
  EXPECT_FALSE(taken_out<Broken<Flaw::kOneTooMany>>(full()).failure.empty());
}

TEST(EventRingModel, who_gives_room_before_it_reads_is_found) {
  EXPECT_FALSE(taken_out<Broken<Flaw::kTakenFirst>>(full()).failure.empty());
}

TEST(EventRingModel, who_does_not_look_again_is_found) {
  EXPECT_FALSE(looked_back<Broken<Flaw::kLooksOnce>>(full()).failure.empty());
}

TEST(EventRingModel, drops_that_are_not_counted_or_too_early_are_found) {
  EXPECT_FALSE(taken_out<Broken<Flaw::kDropsUncounted>>(full()).failure.empty());
  EXPECT_FALSE(taken_out<Broken<Flaw::kDropsEarly>>(full()).failure.empty());
}

}  // namespace
}  // namespace bulkhead::sync
