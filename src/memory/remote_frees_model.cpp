// B2: the frees from elsewhere of remote_frees.hpp under every interleaving, with weak memory.
//
//   come_back   F2: visitors free a block each while the owner takes what there is: each block
//       comes back once, with what its visitor has written before
//   discarded   F1, F3: the heap is discarded meanwhile, and its owner writes all over the memory
//       at once; a block of the next life is freed by another visitor: it alone comes back, nobody
//       writes into the memory after the discard, and what is freed too late is told as stale
//
// The header of a block is an atomic here, as a stale free may look at it while its next user
// writes there. Broken copies follow: the same code with memory orders weaker, and with one thing
// wrong.
#include "memory/remote_frees.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::memory {
namespace {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;
using sync::ModelSync;
using sync::Weakened;
using sync::Written;

struct Block {
  ModelSync::atomic<unsigned> header{0};
  ModelSync::plain<Block*> link;
  ModelSync::plain<unsigned> payload;
};

constexpr unsigned used(unsigned epoch) { return 4 * epoch + 1; }
constexpr unsigned freed(unsigned epoch) { return 4 * epoch + 2; }
constexpr unsigned kFilled = 999;  // what a user has written there

RemoteFree mark(Block*& block, unsigned epoch, Block* next) {
  const unsigned seen = block->header.load(kRelaxed);
  if (seen == freed(epoch)) return RemoteFree::kTwice;
  if (seen != used(epoch)) return RemoteFree::kStale;
  block->link.write(next);
  block->header.store(freed(epoch), kRelaxed);
  return RemoteFree::kPushed;
}

template <class Sync>
struct AnyRight : RemoteFrees<Sync, Block, 0> {
  RemoteFree push(Block* block) { return this->push_remote(block, mark); }
};
using Right = AnyRight<ModelSync>;

// --- the production code, with memory orders weaker ---

enum class Step { kHold, kLetGo };

template <Step step>
struct Relaxes {
  static constexpr std::memory_order order(const Written& as) {
    return as.op == (step == Step::kHold ? Written::kSwap : Written::kExchange) ? kRelaxed
                                                                                : as.order;
  }
};
template <Step step>
using Relaxed = Weakened<Relaxes<step>>;

// --- with one thing wrong ---

enum class Flaw {
  kMarksWithoutTheLock,  // looks at a block of this life, and then takes the lock to chain it
  kLooksBefore,          // is content with what it saw before it had the lock
  kDiscardsAnyway,       // although a visitor is at it
  kKeepsTheList,         // past a discard
  kForgetsToSay,         // that there are some
  kTakesWithoutTheLock,  //
  kWakesNobody           //
};

template <Flaw flaw>
struct Broken : Right {
  RemoteFree push(Block* block) {
    if constexpr (flaw == Flaw::kMarksWithoutTheLock) {
      const unsigned seen = word_.load(kAcquire);
      const RemoteFree outcome = mark(block, seen >> kEpochShift, nullptr);
      if (outcome != RemoteFree::kPushed) return outcome;
      const unsigned held = hold();
      block->link.write((held & kSome) != 0 ? newest_.read() : nullptr);
      newest_.write(block);
      let_go(held | kSome);
      return outcome;
    } else if constexpr (flaw == Flaw::kLooksBefore) {
      if (block->header.load(kRelaxed) != used(epoch())) return RemoteFree::kStale;
      return push_remote(block, [](Block*& found, unsigned epoch, Block* next) {
        found->link.write(next);
        found->header.store(freed(epoch), kRelaxed);
        return RemoteFree::kPushed;
      });
    } else if constexpr (flaw == Flaw::kForgetsToSay || flaw == Flaw::kWakesNobody) {
      const unsigned held = hold();
      Block* next = (held & kSome) != 0 ? newest_.read() : nullptr;
      const RemoteFree outcome = mark(block, held >> kEpochShift, next);
      if (outcome == RemoteFree::kPushed) newest_.write(block);
      const bool says = flaw != Flaw::kForgetsToSay && outcome == RemoteFree::kPushed;
      const unsigned word = says ? held | kSome : held;
      if (flaw == Flaw::kWakesNobody) {
        static_cast<void>(word_.exchange(word, kRelease));
      } else {
        let_go(word);
      }
      return outcome;
    } else {
      return Right::push(block);
    }
  }

  Block* take_all() {
    if constexpr (flaw == Flaw::kTakesWithoutTheLock) {
      if (!any()) return nullptr;
      static_cast<void>(word_.fetch_and(~kSome, kAcquire));
      return newest_.read();
    }
    return Right::take_all();
  }

  unsigned discard() {
    if constexpr (flaw == Flaw::kDiscardsAnyway) {
      const unsigned next = epoch() + 1;
      static_cast<void>(word_.exchange(next << kEpochShift, kAcquire));
      return next;
    } else if constexpr (flaw == Flaw::kKeepsTheList) {
      const unsigned held = hold();
      const unsigned next = (held >> kEpochShift) + 1;
      let_go(next << kEpochShift | (held & kSome));
      return next;
    }
    return Right::discard();
  }
};

// --- the theorems ---

template <class Frees>
struct Program {
  Frees frees;
  Block blocks[3];
  ModelSync::atomic<Block*> given{nullptr};  // of the next life
  ModelSync::plain<unsigned> back[3];

  explicit Program(model::Run& run) {
    for (Block& block : blocks) block.header.store(used(0), kRelaxed);
    run.name("frees", frees);
    run.name("blocks", blocks);
  }

  void collect(unsigned epoch) {
    for (Block* block = frees.take_all(); block != nullptr;) {
      Block* next = block->link.read();
      model::check(block->header.load(kRelaxed) == freed(epoch), "what comes back is of this life");
      model::check(block->payload.read() == 7, "what was done with it before is seen");
      ++back[block - blocks].edit();
      block->header.store(kFilled, kRelaxed);
      block->link.write(nullptr);
      block = next;
    }
  }
};

template <class Frees>
model::Result come_back(const model::Options& options, unsigned visitors) {
  return model::explore(options, [visitors](model::Run& run) {
    auto s = std::make_shared<Program<Frees>>(run);
    for (unsigned i = 0; i < visitors; ++i) {
      run.thread("visitor", [s, i] {
        s->blocks[i].payload.write(7);
        model::check(s->frees.push(&s->blocks[i]) == RemoteFree::kPushed, "it is freed in time");
      });
    }
    run.thread("owner", [s] {
      s->collect(0);
      s->collect(0);
    });
    run.finally([s, visitors] {
      s->collect(0);
      for (unsigned i = 0; i < visitors; ++i) {
        model::check(s->back[i].read() == 1, "each block comes back once");
      }
    });
  });
}

template <class Frees>
model::Result discarded(const model::Options& options, unsigned visitors) {
  return model::explore(options, [visitors](model::Run& run) {
    auto s = std::make_shared<Program<Frees>>(run);
    for (unsigned i = 0; i < visitors; ++i) {
      run.thread("visitor", [s, i] {
        const RemoteFree outcome = s->frees.push(&s->blocks[i]);
        model::check(outcome != RemoteFree::kTwice, "it is freed once");
      });
    }
    run.thread("visitor of the next life", [s] {
      Block* block = s->given.load(kAcquire);
      if (block == nullptr) return;
      block->payload.write(7);
      model::check(s->frees.push(block) == RemoteFree::kPushed, "it is freed in time");
    });
    run.thread("owner", [s] {
      model::check(s->frees.discard() == 1, "the next life begins");
      for (Block& block : s->blocks) {
        block.header.store(kFilled, kRelaxed);
        block.link.write(&block);
        block.payload.write(0);
      }
      s->blocks[2].header.store(used(1), kRelaxed);
      s->given.store(&s->blocks[2], kRelease);
      s->collect(1);
    });
    run.finally([s] {
      s->collect(1);
      model::check(s->back[0].read() + s->back[1].read() == 0, "no block of the last life is back");
      for (const Block& block : s->blocks) {
        model::check(block.header.load(kRelaxed) == kFilled ||
                         (&block == &s->blocks[2] && s->back[2].read() == 0),
                     "nobody has written into the memory");
      }
    });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr std::string_view kRace = "data race: plain memory";

TEST(RemoteFreesModel, each_block_comes_back_once) {
  expect_ok(come_back<Right>(sync::full(), 1));
  expect_ok(come_back<Right>(sync::full(), 2));
}

TEST(RemoteFreesModel, nothing_is_written_after_a_discard) {
  expect_ok(discarded<Right>(sync::full(), 1));
  expect_ok(discarded<Right>(sync::within(2), 2));
}

TEST(RemoteFreesModel, an_order_that_is_too_weak_is_found) {
  expect_found(come_back<AnyRight<Relaxed<Step::kHold>>>(sync::within(2), 1), kRace);
  expect_found(come_back<AnyRight<Relaxed<Step::kLetGo>>>(sync::within(2), 1), kRace);
  expect_found(discarded<AnyRight<Relaxed<Step::kHold>>>(sync::within(2), 1), kRace);
  expect_found(discarded<AnyRight<Relaxed<Step::kLetGo>>>(sync::within(2), 1), kRace);
}

TEST(RemoteFreesModel, writes_after_a_discard_are_found) {
  expect_found(discarded<Broken<Flaw::kMarksWithoutTheLock>>(sync::within(2), 1), kRace);
  expect_found(discarded<Broken<Flaw::kLooksBefore>>(sync::within(2), 1), kRace);
  expect_found(discarded<Broken<Flaw::kDiscardsAnyway>>(sync::within(2), 1), kRace);
  expect_found(discarded<Broken<Flaw::kKeepsTheList>>(sync::kSequential, 1),
               "what comes back is of this life");
}

TEST(RemoteFreesModel, blocks_that_are_lost_are_found) {
  expect_found(come_back<Broken<Flaw::kForgetsToSay>>(sync::kSequential, 1), "comes back once");
  expect_found(come_back<Broken<Flaw::kTakesWithoutTheLock>>(sync::within(2), 2), kRace);
}

TEST(RemoteFreesModel, who_is_not_woken_is_found) {
  expect_found(come_back<Broken<Flaw::kWakesNobody>>(sync::kSequential, 2), "lost wake-up");
}

}  // namespace
}  // namespace bulkhead::memory
