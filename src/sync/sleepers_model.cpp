// C9: the sleepers of sleepers.hpp, as cores that share a queue, under every interleaving, with
// weak memory.
//
//   work_for_two   Z1 to Z3, and Q4 of run_queue.hpp: two bring a node each to two cores, which
//       sleep when they find nothing. Each node is taken once; and no core sleeps while a node is
//       there that the other does not take because it is stuck: who has taken the first node waits
//       in its handler for the second one's. In place of one node, a core may be given work of its
//       own, for which it wakes up by itself; then only that waits for the node.
//
// Broken copies follow.
#include "sync/sleepers.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"
#include "sync/run_queue.hpp"

namespace bulkhead::sync {
namespace {

enum class Flaw {
  kNone,
  kLooksFirst,  // and then announces, and sleeps
  kWeakFence,   // of bringer and sleeper
  kWakesNobody,
  kPicksTheSame,   // two bringers wake one core
  kKeepsForItself  // who was picked, but has something else to do, passes nothing on
};

struct Node {
  WatchedLink<Node> next;
};

template <Flaw flaw>
struct Weak : ModelSync {
  static void fence(std::memory_order order) {
    ModelSync::fence(flaw == Flaw::kWeakFence ? kAcqRel : order);
  }
};

using List = MutexQueue<ModelSync, Node, &Node::next, 0>;

class Ring : public RingQueue<ModelSync, Node, &Node::next, 0> {
 public:
  Ring() : RingQueue(1, 2) {}
};

constexpr unsigned kCores = 2;
constexpr unsigned kNodes = 2;

enum class Brought { kTwoNodes, kNodeAndOwn };

template <class Queue, Flaw flaw>
struct State {
  Brought brought;
  Queue queue;
  Sleepers<Weak<flaw>, kCores> sleepers;
  ModelEvent events[kCores];
  Node nodes[kNodes];
  bool picked[kCores] = {};            // each core's own
  ModelSync::atomic<unsigned> own{0};  // work of core 0
  ModelSync::atomic<std::uint32_t> taken{0};

  State(model::Run& run, Brought what) : brought(what) {
    run.name("queue", queue);
    run.name("sleepers", sleepers);
    run.name("events", events);
    run.name("nodes", nodes);
    run.name("taken", taken);
  }

  void bring(unsigned which) {
    queue.push(&nodes[which], which);
    if constexpr (flaw == Flaw::kWakesNobody) return;
    if constexpr (flaw == Flaw::kPicksTheSame) {
      ModelSync::fence(kSeqCst);
      events[0].wake();
      return;
    }
    wake_one();
  }
  void give_own_work() {
    own.store(1, kRelease);
    events[0].wake();
  }
  void wake_one() {
    const std::size_t who = sleepers.pick();
    if (who != sleepers.kNobody) events[who].wake();
  }

  void sleep(unsigned core) {
    if constexpr (flaw == Flaw::kLooksFirst) {
      if (!queue.empty()) return;
      sleepers.announce(core);
    } else {
      sleepers.announce(core);
      if (!queue.empty() || taken.load(kRelaxed) == kNodes) {
        picked[core] = sleepers.wake_up(core);
        return;
      }
    }
    events[core].wait();
    picked[core] = sleepers.wake_up(core);
  }

  void handle(bool waits) {
    const std::uint32_t before = taken.fetch_add(1, kSeqCst);
    model::check(before < kNodes, "each node is taken once");
    if (before + 1 == kNodes) {
      ModelSync::futex_wake(taken, 1);
      for (ModelEvent& event : events) event.wake();  // the end
      return;
    }
    if (!waits) return;
    while (taken.load(kSeqCst) < kNodes) ModelSync::futex_wait(taken, before + 1);
  }

  enum class Taken { kNothing, kNode, kOwn };
  Taken take(unsigned core) {
    if (core == 0 && own.load(kAcquire) == 1) {
      own.store(0, kRelaxed);
      return Taken::kOwn;
    }
    return queue.pop(core) != nullptr ? Taken::kNode : Taken::kNothing;
  }

  void run_core(unsigned core) {
    while (taken.load(kRelaxed) < kNodes) {
      const Taken what = take(core);
      if (what != Taken::kNothing) {
        if (picked[core] && flaw != Flaw::kKeepsForItself && !queue.empty()) wake_one();
        picked[core] = false;
        handle(what == Taken::kOwn || brought == Brought::kTwoNodes);
      } else if (!queue.empty()) {
        ModelSync::spin_hint();  // it is being pushed
      } else {
        sleep(core);
      }
    }
  }
};

template <class Queue, Flaw flaw>
model::Result work_for_two(const model::Options& options, Brought brought = Brought::kTwoNodes) {
  return model::explore(options, [brought](model::Run& run) {
    auto s = std::make_shared<State<Queue, flaw>>(run, brought);
    run.thread("core 0", [s] { s->run_core(0); });
    run.thread("core 1", [s] { s->run_core(1); });
    run.thread("bringer 0", [s, brought] {
      if (brought == Brought::kTwoNodes) {
        s->bring(0);
      } else {
        s->give_own_work();
      }
    });
    run.thread("bringer 1", [s] { s->bring(1); });
    run.finally([s] { model::check(s->taken.load() == kNodes, "each node is taken once"); });
  });
}

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }

void expect_found(const model::Result& r) { EXPECT_TRUE(r.found("lost wake-up")) << r.report(); }

TEST(SleepersModel, nothing_waits_while_somebody_sleeps) {
  expect_ok(work_for_two<List, Flaw::kNone>(few_stale(2)));
  expect_ok(work_for_two<Ring, Flaw::kNone>(few_stale(2)));
  expect_ok(work_for_two<List, Flaw::kNone>(few_stale(2), Brought::kNodeAndOwn));
}

TEST(SleepersModel, a_lost_wake_up_is_found) {
  expect_found(work_for_two<List, Flaw::kLooksFirst>(few_stale(2)));
  expect_found(work_for_two<List, Flaw::kWeakFence>(few_stale(2)));
  expect_found(work_for_two<List, Flaw::kWakesNobody>(few_stale(2)));
  expect_found(work_for_two<Ring, Flaw::kLooksFirst>(few_stale(2)));
  expect_found(work_for_two<Ring, Flaw::kWeakFence>(few_stale(2)));
}

TEST(SleepersModel, work_that_waits_for_a_stuck_core_is_found) {
  expect_found(work_for_two<List, Flaw::kPicksTheSame>(few_stale(2)));
  expect_found(work_for_two<List, Flaw::kKeepsForItself>(few_stale(2), Brought::kNodeAndOwn));
}

}  // namespace
}  // namespace bulkhead::sync
