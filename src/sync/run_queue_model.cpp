// C9: the queues of run_queue.hpp under every interleaving, with weak memory.
//
//   pushed_and_popped   Q1 to Q3: two push, and one or two pop: each node comes out once, with what
//       its pusher has written; and then the queue is empty. The ring is so small that it
//       overflows. What is under a lock, and what fits into a ring with one pusher, comes in order.
//
// Broken copies follow: the same code with memory orders weaker, and code with one thing wrong. Q4
// is a theorem of sleepers_model.cpp.
#include "sync/run_queue.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sync/modelled.hpp"

namespace bulkhead::sync {
namespace {

struct Node {
  WatchedLink<Node> next;
  ModelSync::plain<unsigned> content;
  ModelSync::atomic<unsigned> popped{0};
};

constexpr std::size_t kCapacity = 2;

template <class Sync>
class SmallRing : public RingQueue<Sync, Node, &Node::next, 0> {
 public:
  explicit SmallRing(std::size_t places)
      : RingQueue<Sync, Node, &Node::next, 0>(places, kCapacity) {}
};

class SmallStripes : public StripedQueue<ModelSync, Node, &Node::next, 0> {
 public:
  explicit SmallStripes(std::size_t places)
      : StripedQueue<ModelSync, Node, &Node::next, 0>(places, kCapacity, 2) {}
};

using List = MutexQueue<ModelSync, Node, &Node::next, 0>;
using Ring = SmallRing<ModelSync>;

// --- the production code, with memory orders weaker ---

enum class Step { kLoad, kStore };

template <Step step>
struct Relaxes {
  static constexpr std::memory_order order(const Written& as) {
    return as.op == (step == Step::kLoad ? Written::kLoad : Written::kStore) ? kRelaxed : as.order;
  }
};
template <Step step>
using Relaxed = Weakened<Relaxes<step>>;

// --- a ring with one thing wrong ---

enum class Flaw {
  kDrawsByStore,   // two pushes draw the same number
  kPopsByStore,    // two pops do
  kFreesFirst,     // the cell is free before it is read
  kFillsFirst,     // and full before it is written
  kDropsTheRest,   // what finds it full is lost
  kForgetsTheList  // or never taken
};

template <Flaw flaw>
class Broken {
 public:
  explicit Broken(std::size_t /*places*/) {
    for (std::size_t i = 0; i < kCapacity; ++i) cells_[i].number.store(i, kRelaxed);
  }

  void push(Node* node, std::size_t place) {
    if (!beside_.empty() || !push_into_ring(node)) {
      if (flaw != Flaw::kDropsTheRest) beside_.push(node, place);
    }
  }
  Node* pop(std::size_t place) {
    Node* node = pop_from_ring();
    return node != nullptr || flaw == Flaw::kForgetsTheList ? node : beside_.pop(place);
  }
  bool empty() { return pushes_.load(kRelaxed) == pops_.load(kRelaxed) && beside_.empty(); }

 private:
  struct Cell {
    ModelSync::atomic<std::size_t> number{0};
    ModelSync::plain<Node*> node;
  };

  static bool draw(ModelSync::atomic<std::size_t>& from, std::size_t& drawn, bool by_store) {
    if (!by_store) return from.compare_exchange_weak(drawn, drawn + 1, kRelaxed, kRelaxed);
    from.store(drawn + 1, kRelaxed);
    return true;
  }
  bool push_into_ring(Node* node) {
    std::size_t drawn = pushes_.load(kRelaxed);
    for (;;) {
      Cell& cell = cells_[drawn % kCapacity];
      const std::size_t number = cell.number.load(kAcquire);
      if (number == drawn) {
        if (!draw(pushes_, drawn, flaw == Flaw::kDrawsByStore)) continue;
        if (flaw == Flaw::kFillsFirst) cell.number.store(drawn + 1, kRelease);
        cell.node.write(node);
        if (flaw != Flaw::kFillsFirst) cell.number.store(drawn + 1, kRelease);
        return true;
      }
      if (number < drawn) return false;
      ModelSync::spin_hint();
      drawn = pushes_.load(kRelaxed);
    }
  }
  Node* pop_from_ring() {
    std::size_t drawn = pops_.load(kRelaxed);
    for (;;) {
      Cell& cell = cells_[drawn % kCapacity];
      const std::size_t number = cell.number.load(kAcquire);
      if (number == drawn + 1) {
        if (!draw(pops_, drawn, flaw == Flaw::kPopsByStore)) continue;
        if (flaw == Flaw::kFreesFirst) cell.number.store(drawn + kCapacity, kRelease);
        Node* node = cell.node.read();
        if (flaw != Flaw::kFreesFirst) cell.number.store(drawn + kCapacity, kRelease);
        return node;
      }
      if (number < drawn + 1) return nullptr;
      ModelSync::spin_hint();
      drawn = pops_.load(kRelaxed);
    }
  }

  Cell cells_[kCapacity];
  ModelSync::atomic<std::size_t> pushes_{0};
  ModelSync::atomic<std::size_t> pops_{0};
  List beside_;
};

// --- a queue under a lock, and stripes, with one thing wrong ---

enum class ListFlaw {
  kNone,
  kNewestFirst,     // a node goes in front of the others
  kWithoutTheLock,  // two push at once, or two pop
  kKeepsTheLast,    // the last one is never taken out
  kBehindWhoIsGone  // a node is chained behind one that was taken out
};

template <ListFlaw flaw>
class BrokenList {
 public:
  explicit BrokenList(std::size_t /*places*/) {}

  void push(Node* node, std::size_t /*place*/) {
    node->next = nullptr;
    lock();
    Node* oldest = oldest_.load(kRelaxed);
    Node* newest = newest_.read();
    if (flaw == ListFlaw::kNewestFirst) {
      node->next = oldest;
      oldest_.store(node, kRelaxed);
    } else if (flaw == ListFlaw::kBehindWhoIsGone ? newest != nullptr : oldest != nullptr) {
      newest->next = node;
    } else {
      oldest_.store(node, kRelaxed);
    }
    newest_.write(node);
    unlock();
  }
  Node* pop(std::size_t /*place*/) {
    if (empty()) return nullptr;
    lock();
    Node* node = oldest_.load(kRelaxed);
    if (node != nullptr && flaw != ListFlaw::kKeepsTheLast) oldest_.store(node->next, kRelaxed);
    if (node != nullptr && flaw == ListFlaw::kKeepsTheLast && node->next != nullptr) {
      oldest_.store(node->next, kRelaxed);
    }
    unlock();
    return node;
  }
  [[nodiscard]] bool empty() const { return oldest_.load(kRelaxed) == nullptr; }

 private:
  void lock() {
    if (flaw != ListFlaw::kWithoutTheLock) lock_.lock();
  }
  void unlock() {
    if (flaw != ListFlaw::kWithoutTheLock) lock_.unlock();
  }

  Lock<ModelSync, 0> lock_;
  ModelSync::atomic<Node*> oldest_{nullptr};
  ModelSync::plain<Node*> newest_{nullptr};
};

/// Each pops from its own stripe alone.
class SelfishStripes {
 public:
  explicit SelfishStripes(std::size_t /*places*/) {}
  void push(Node* node, std::size_t place) { stripes_[place].push(node, place); }
  Node* pop(std::size_t place) { return stripes_[place].pop(place); }
  [[nodiscard]] bool empty() const { return stripes_[0].empty() && stripes_[1].empty(); }

 private:
  Ring stripes_[2] = {Ring(1), Ring(1)};
};

// --- the theorem ---

struct Setting {
  unsigned pushes[2] = {2, 1};
  unsigned poppers = 1;
  bool ordered = false;

  [[nodiscard]] unsigned all() const { return pushes[0] + pushes[1]; }
};

constexpr unsigned kMostPushes = 3;

template <class Queue>
struct State {
  Queue queue{2};
  Node nodes[2][kMostPushes];
  ModelSync::atomic<unsigned> popped{0};

  explicit State(model::Run& run) {
    run.name("queue", queue);
    run.name("nodes", nodes);
    run.name("popped", popped);
  }

  void push(unsigned who, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      nodes[who][i].content.write(i + 1);
      queue.push(&nodes[who][i], who);
    }
  }

  void pop(unsigned who, const Setting& setting) {
    unsigned last[2] = {};
    while (popped.load(kRelaxed) < setting.all()) {
      Node* node = queue.pop(who);
      if (node == nullptr) {
        ModelSync::spin_hint();
        continue;
      }
      model::check(node->popped.fetch_add(1, kRelaxed) == 0, "a node is popped once");
      const auto from = static_cast<unsigned>(node - &nodes[0][0]) / kMostPushes;
      const unsigned content = node->content.read();
      model::check(content != 0, "what its pusher wrote is seen");
      if (setting.ordered) {
        model::check(content > last[from], "the nodes of a pusher come in order");
        last[from] = content;
      }
      popped.fetch_add(1, kRelaxed);
    }
  }
};

template <class Queue>
model::Result pushed_and_popped(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<State<Queue>>(run);
    constexpr const char* kPoppers[] = {"popper 0", "popper 1"};
    constexpr const char* kPushers[] = {"pusher 0", "pusher 1"};
    for (unsigned i = 0; i < setting.poppers; ++i) {
      run.thread(kPoppers[i], [s, i, setting] { s->pop(i, setting); });
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (setting.pushes[i] == 0) continue;
      run.thread(kPushers[i], [s, i, setting] { s->push(i, setting.pushes[i]); });
    }
    run.finally([s, setting] {
      model::check(s->popped.load() == setting.all(), "each node is popped once");
      model::check(s->queue.empty(), "and then the queue is empty");
      model::check(s->queue.pop(0) == nullptr, "and nothing comes out");
    });
  });
}

constexpr Setting kFits{.pushes = {2, 0}, .ordered = true};
constexpr Setting kOverflow{.pushes = {3, 0}};
constexpr Setting kTwoPush{.pushes = {2, 1}};
constexpr Setting kTwoPop{.pushes = {2, 0}, .poppers = 2};
constexpr Setting kAllTwo{.pushes = {1, 1}, .poppers = 2};

template <class Queue>
void expect_ok(const model::Options& options, Setting setting, bool ordered = false) {
  setting.ordered |= ordered;
  const model::Result r = pushed_and_popped<Queue>(options, setting);
  EXPECT_TRUE(r.ok()) << r.report();
}

void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

TEST(RunQueueModel, nodes_of_the_queue_under_a_lock_come_once_and_whole) {
  for (const Setting& setting : {kOverflow, kTwoPush}) {
    expect_ok<List>(few_stale(2), setting, true);
  }
  expect_ok<List>(few_stale(2), kTwoPop);
  expect_ok<List>(few_stale(1), kAllTwo);
}
TEST(RunQueueModel, nodes_of_a_ring_that_overflows_come_once_and_whole) {
  expect_ok<Ring>(within(2), kFits);
  expect_ok<Ring>(few_stale(2), kOverflow);
  for (const Setting& setting : {kTwoPush, kTwoPop, kAllTwo})
    expect_ok<Ring>(few_stale(1), setting);
}
TEST(RunQueueModel, nodes_of_stripes_come_once_and_whole) {
  for (const Setting& setting : {kTwoPop, kAllTwo}) expect_ok<SmallStripes>(few_stale(1), setting);
}

TEST(RunQueueModel, an_order_that_is_too_weak_is_found) {
  expect_found(pushed_and_popped<SmallRing<Relaxed<Step::kLoad>>>(within(1), kTwoPush),
               "data race");
  expect_found(pushed_and_popped<SmallRing<Relaxed<Step::kStore>>>(within(1), kTwoPush),
               "data race");
}

TEST(RunQueueModel, nodes_that_are_lost_doubled_or_torn_are_found) {
  expect_found(pushed_and_popped<Broken<Flaw::kDrawsByStore>>(kSequential, kAllTwo), "data race");
  expect_found(pushed_and_popped<Broken<Flaw::kPopsByStore>>(kSequential, kTwoPop), "popped once");
  expect_found(pushed_and_popped<Broken<Flaw::kFreesFirst>>(kSequential, kOverflow), "data race");
  expect_found(pushed_and_popped<Broken<Flaw::kFillsFirst>>(kSequential, kTwoPush), "data race");
  expect_found(pushed_and_popped<Broken<Flaw::kDropsTheRest>>(kSequential, kOverflow), "livelock");
  expect_found(pushed_and_popped<Broken<Flaw::kForgetsTheList>>(kSequential, kOverflow),
               "livelock");
}

TEST(RunQueueModel, a_list_that_loses_doubles_or_disorders_is_found) {
  expect_found(pushed_and_popped<BrokenList<ListFlaw::kNewestFirst>>(kSequential, kFits),
               "come in order");
  expect_found(pushed_and_popped<BrokenList<ListFlaw::kWithoutTheLock>>(kSequential, kTwoPush),
               "data race");
  expect_found(pushed_and_popped<BrokenList<ListFlaw::kKeepsTheLast>>(kSequential, kTwoPush),
               "popped once");
  expect_found(pushed_and_popped<BrokenList<ListFlaw::kBehindWhoIsGone>>(kSequential, kTwoPush),
               "livelock");
}

TEST(RunQueueModel, a_stripe_that_nobody_else_takes_from_is_found) {
  expect_found(pushed_and_popped<SelfishStripes>(kSequential, kTwoPush), "livelock");
}

}  // namespace
}  // namespace bulkhead::sync
