// The memory of the explorer against the rules of C++20 themselves. For random programs, this file
// enumerates every candidate execution (which store each load reads, in which order the stores of
// each location come, in which order the sequentially consistent operations come), keeps those that
// the axioms allow, and compares their outcomes with those that the explorer reaches.
//
// The axioms are those of [intro.races] and [atomics.order], and one more, which is the limit of
// the explorer: program order, "reads from" and the order of the sequentially consistent operations
// have no cycle together. So no load reads from a store that comes later.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

namespace bulkhead::model {
namespace {

using Kind = Instruction::Kind;

constexpr unsigned kMaxEvents = 16;
constexpr unsigned kNone = kMaxEvents;

// A relation over events: row i is the mask of those that i is related to.
class Relation {
 public:
  void add(unsigned from, unsigned to) { rows_[from] |= 1u << to; }
  [[nodiscard]] bool has(unsigned from, unsigned to) const { return (rows_[from] >> to & 1) != 0; }
  void close() {
    for (unsigned via = 0; via < kMaxEvents; ++via) {
      for (unsigned& row : rows_) {
        if ((row >> via & 1) != 0) row |= rows_[via];
      }
    }
  }
  [[nodiscard]] bool cyclic() const {
    Relation closed = *this;
    closed.close();
    for (unsigned i = 0; i < kMaxEvents; ++i) {
      if (closed.has(i, i)) return true;
    }
    return false;
  }

 private:
  unsigned rows_[kMaxEvents] = {};
};

struct Event {
  unsigned thread;
  unsigned index;  // in its thread
  Instruction code;
  bool initial = false;
};

class Axioms {
 public:
  explicit Axioms(const Program& program);
  [[nodiscard]] std::set<std::string> outcomes();

 private:
  void choose_reads(unsigned event);
  void choose_orders(unsigned location);
  void judge();
  [[nodiscard]] bool is_coherent();
  [[nodiscard]] bool has_consistent_order() const;
  [[nodiscard]] bool must_precede(unsigned a, unsigned b) const;
  void note_outcome();

  [[nodiscard]] bool is_access(unsigned e) const { return events_[e].code.kind != Kind::kFence; }
  [[nodiscard]] bool may_read(unsigned e) const {
    const Kind kind = events_[e].code.kind;
    return !events_[e].initial &&
           (kind == Kind::kLoad || kind == Kind::kExchange || kind == Kind::kCompare);
  }
  // Given what it reads.
  [[nodiscard]] bool writes(unsigned e) const {
    const Event& event = events_[e];
    if (event.code.kind != Kind::kCompare) {
      return event.initial || event.code.kind == Kind::kStore || event.code.kind == Kind::kExchange;
    }
    return reads_[e] != kNone && events_[reads_[e]].code.value == event.code.expected;
  }
  [[nodiscard]] std::memory_order order(unsigned e) const {
    const Event& event = events_[e];
    return event.code.kind == Kind::kCompare && !writes(e) ? event.code.failure : event.code.order;
  }
  [[nodiscard]] bool consistent(unsigned e) const {
    return !events_[e].initial && order(e) == std::memory_order_seq_cst;
  }
  [[nodiscard]] bool same_place(unsigned a, unsigned b) const {
    return is_access(a) && is_access(b) && events_[a].code.location == events_[b].code.location;
  }
  void synchronize(Relation& happens) const;

  std::vector<Event> events_;
  std::vector<unsigned> reads_;                                    // the event that each reads from
  std::array<std::vector<unsigned>, Program::kLocations> stores_;  // in modification order
  Relation sequenced_;
  Relation happens_;    // before
  Relation coherence_;  // coherence-ordered before
  std::set<std::string> outcomes_;
  unsigned threads_;
};

Axioms::Axioms(const Program& program) : threads_(static_cast<unsigned>(program.threads.size())) {
  for (unsigned location = 0; location < Program::kLocations; ++location) {
    events_.push_back({kNone,
                       0,
                       {.kind = Kind::kStore,
                        .location = location,
                        .order = std::memory_order_relaxed,
                        .failure = std::memory_order_relaxed,
                        .value = 0,
                        .expected = 0},
                       true});
  }
  for (unsigned t = 0; t < threads_; ++t) {
    for (unsigned i = 0; i < program.threads[t].size(); ++i) {
      events_.push_back({t, i, program.threads[t][i]});
    }
  }
  reads_.assign(events_.size(), kNone);
  for (unsigned a = 0; a < events_.size(); ++a) {
    for (unsigned b = 0; b < events_.size(); ++b) {
      const bool before = events_[a].initial ? !events_[b].initial
                                             : events_[a].thread == events_[b].thread &&
                                                   events_[a].index < events_[b].index;
      if (before) sequenced_.add(a, b);
    }
  }
}

std::set<std::string> Axioms::outcomes() {
  choose_reads(0);
  return outcomes_;
}

void Axioms::choose_reads(unsigned event) {
  if (event == events_.size()) {
    for (unsigned e = 0; e < events_.size(); ++e) {
      if (reads_[e] != kNone && !writes(reads_[e])) return;  // from a swap that failed
    }
    for (auto& stores : stores_) stores.clear();
    for (unsigned e = 0; e < events_.size(); ++e) {
      if (writes(e)) stores_[events_[e].code.location].push_back(e);
    }
    return choose_orders(0);
  }
  if (!may_read(event)) return choose_reads(event + 1);
  for (unsigned from = 0; from < events_.size(); ++from) {
    const Kind kind = events_[from].code.kind;
    if (from == event || !same_place(from, event) || kind == Kind::kLoad) continue;
    reads_[event] = from;
    choose_reads(event + 1);
  }
  reads_[event] = kNone;
}

void Axioms::choose_orders(unsigned location) {
  if (location == Program::kLocations) return judge();
  std::vector<unsigned>& stores = stores_[location];
  std::sort(stores.begin(), stores.end());  // the initial one is the lowest, and stays first
  do {
    choose_orders(location + 1);
  } while (std::next_permutation(stores.begin() + 1, stores.end()));
}

void Axioms::synchronize(Relation& happens) const {
  const auto acquires_by = [this](unsigned e, unsigned reader) {
    return e == reader ? acquires(order(e))
                       : events_[e].code.kind == Kind::kFence && acquires(order(e)) &&
                             sequenced_.has(reader, e);
  };
  const auto releases_by = [this](unsigned e, unsigned writer) {
    return e == writer ? releases(order(e))
                       : events_[e].code.kind == Kind::kFence && releases(order(e)) &&
                             sequenced_.has(e, writer);
  };
  for (unsigned reader = 0; reader < events_.size(); ++reader) {
    // Back along the release sequence: read-modify-writes hand on what they read.
    for (unsigned head = reads_[reader]; head != kNone;
         head = writes(head) ? reads_[head] : kNone) {
      for (unsigned a = 0; a < events_.size(); ++a) {
        for (unsigned b = 0; b < events_.size(); ++b) {
          if (releases_by(a, head) && acquires_by(b, reader)) happens.add(a, b);
        }
      }
    }
  }
}

bool Axioms::is_coherent() {
  coherence_ = {};
  for (const std::vector<unsigned>& stores : stores_) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      for (std::size_t j = i + 1; j < stores.size(); ++j) coherence_.add(stores[i], stores[j]);
      for (unsigned reader = 0; reader < events_.size(); ++reader) {
        if (reads_[reader] != stores[i]) continue;
        coherence_.add(stores[i], reader);
        for (std::size_t j = i + 1; j < stores.size(); ++j) {
          if (stores[j] != reader) coherence_.add(reader, stores[j]);
        }
        // A read-modify-write comes right behind what it reads.
        if (writes(reader) && (i + 1 == stores.size() || stores[i + 1] != reader)) return false;
      }
    }
  }
  coherence_.close();
  happens_ = sequenced_;
  synchronize(happens_);
  happens_.close();
  for (unsigned a = 0; a < events_.size(); ++a) {
    if (happens_.has(a, a) || coherence_.has(a, a)) return false;
    for (unsigned b = 0; b < events_.size(); ++b) {
      if (happens_.has(a, b) && coherence_.has(b, a)) return false;
    }
  }
  return true;
}

// [atomics.order]/4: must a come before b in the order of the sequentially consistent operations?
bool Axioms::must_precede(unsigned a, unsigned b) const {
  const auto before = [&](unsigned from, unsigned to) {  // of accesses to one place
    return coherence_.has(from, to);
  };
  if (before(a, b)) return true;
  const bool a_is_fence = !is_access(a);
  const bool b_is_fence = !is_access(b);
  for (unsigned x = 0; x < events_.size(); ++x) {
    if (b_is_fence && before(a, x) && happens_.has(x, b)) return true;
    if (a_is_fence && happens_.has(a, x) && before(x, b)) return true;
    if (!a_is_fence || !b_is_fence || !happens_.has(a, x)) continue;
    for (unsigned y = 0; y < events_.size(); ++y) {
      if (before(x, y) && happens_.has(y, b)) return true;
    }
  }
  return false;
}

// Some order of the consistent operations must exist in which those that must precede do, and that
// could have been executed.
bool Axioms::has_consistent_order() const {
  Relation constraints = sequenced_;
  for (unsigned e = 0; e < events_.size(); ++e) {
    if (reads_[e] != kNone) constraints.add(reads_[e], e);
  }
  for (unsigned a = 0; a < events_.size(); ++a) {
    for (unsigned b = 0; b < events_.size(); ++b) {
      if (consistent(a) && consistent(b) && must_precede(a, b)) constraints.add(a, b);
    }
  }
  return !constraints.cyclic();  // then it can be made total
}

void Axioms::judge() {
  if (is_coherent() && has_consistent_order()) note_outcome();
}

void Axioms::note_outcome() {
  std::string outcome;
  for (unsigned t = 0; t < threads_; ++t) {
    for (unsigned e = 0; e < events_.size(); ++e) {
      if (events_[e].thread != t || reads_[e] == kNone) continue;
      outcome += std::to_string(events_[reads_[e]].code.value) + ' ';
    }
    outcome += "| ";
  }
  for (const auto& stores : stores_) {
    outcome += std::to_string(events_[stores.back()].code.value) + ' ';
  }
  outcomes_.insert(outcome);
}

void expect_what_the_axioms_allow(const Shape& shape, unsigned programs) {
  for (unsigned seed = 0; seed < programs_to_try(programs); ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, shape);
    Result result;
    const auto outcomes =
        outcomes_of(program, {.preemption_bound = kUnbounded, .weak = true}, result);
    ASSERT_TRUE(result.ok()) << "seed " << seed << '\n' << program.text() << result.report();
    ASSERT_EQ(outcomes, Axioms(program).outcomes()) << "seed " << seed << '\n' << program.text();
  }
}

TEST(Axioms, allow_exactly_what_the_explorer_reaches_with_two_threads) {
  expect_what_the_axioms_allow({.threads = 2, .instructions = 6}, 1000);
}

TEST(Axioms, allow_exactly_what_the_explorer_reaches_with_three_threads) {
  expect_what_the_axioms_allow({.threads = 3, .instructions = 7}, 500);
}

TEST(Axioms, allow_exactly_what_the_explorer_reaches_with_four_threads) {
  expect_what_the_axioms_allow({.threads = 4, .instructions = 8}, 100);
}

}  // namespace
}  // namespace bulkhead::model
