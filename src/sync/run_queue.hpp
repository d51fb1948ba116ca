// Queues that several cores share: who has an actor to run puts it in, and any core takes it out.
// Three of one contract:
//
// | queue        | made of                                    | order                          |
// |--------------|--------------------------------------------|--------------------------------|
// | MutexQueue   | a list under a lock                        | as pushed                      |
// | RingQueue    | a bounded ring without a lock, and a list  | as pushed, but for pushes that |
// |              | under a lock for what does not fit         | meet the ring's being full     |
// | StripedQueue | a RingQueue for each core                  | as pushed within a stripe      |
//
// A node is chained by its link, which belongs to the queue while the node is in it; `place` is the
// number of the calling core, from 0, or anything for threads that are none.
//
// Rules
//  Q1  push never fails, and takes no memory. A node is in one queue, once: its pusher sees to it.
//  Q2  Each node that was pushed is popped once, and its popper sees what its pusher has written.
//  Q3  pop returns null only if there was a moment at which nothing could be taken: the queue was
//      empty, or what lay first in a ring was still being pushed.
//  Q4  empty() counts what is being pushed as there. So who announces its sleep by a seq_cst fence,
//      and then finds the queue empty, has missed nothing that was pushed by somebody who looks for
//      sleepers behind another such fence: see sleepers.hpp.
//  Q5  Nobody starves: a node that others could take before it is taken after a number of pops that
//      is bounded by the number of nodes that were there before it, times kPatience and the number
//      of stripes in a StripedQueue.
// Checked by run_queue_model.cpp and run_queue_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sync/atomic.hpp"
#include "sync/lock.hpp"

namespace bulkhead::sync {

/// `Link` names the member of Node that chains it. `kSpins`: see Lock.
template <class Sync, class Node, auto Link, int kSpins = 100>
class MutexQueue {
 public:
  explicit MutexQueue(std::size_t /*places*/ = 1) noexcept {}

  void push(Node* node, std::size_t /*place*/) noexcept {
    node->*Link = nullptr;
    lock_.lock();
    if (!empty()) {
      newest_.read()->*Link = node;
    } else {
      oldest_.store(node, std::memory_order_relaxed);
    }
    newest_.write(node);
    lock_.unlock();
  }

  [[nodiscard]] Node* pop(std::size_t /*place*/) noexcept {
    if (empty()) return nullptr;
    lock_.lock();
    Node* node = oldest_.load(std::memory_order_relaxed);
    if (node != nullptr) oldest_.store(node->*Link, std::memory_order_relaxed);
    lock_.unlock();
    return node;
  }

  [[nodiscard]] bool empty() const noexcept {
    return oldest_.load(std::memory_order_relaxed) == nullptr;
  }

 private:
  Lock<Sync, kSpins> lock_;
  typename Sync::template atomic<Node*> oldest_{nullptr};  // written under the lock
  typename Sync::template plain<Node*> newest_{nullptr};   // under the lock; if there is an oldest
};

/// The ring's cells carry numbers that tell whose turn it is: cell i of a ring of n is free for the
/// push that has drawn i, and full for the pop that has drawn i when its number is i + 1; then it
/// is free for the push that draws i + n. So a drawn number is all that a push or a pop contends
/// for. What finds the ring full, or others waiting beside it, waits in a list, which is taken from
/// when the ring has run dry; until then no more goes into the ring.
template <class Sync, class Node, auto Link, int kSpins = 100>
class RingQueue {
 public:
  static constexpr std::size_t kUsual = 4096;

  /// `capacity`: a power of two, 2 or more. Throws std::bad_alloc.
  explicit RingQueue(std::size_t /*places*/ = 1, std::size_t capacity = kUsual)
      : mask_(capacity - 1), cells_(new Cell[capacity]) {
    for (std::size_t i = 0; i < capacity; ++i) {
      cells_[i].number.store(i, std::memory_order_relaxed);
    }
  }

  void push(Node* node, std::size_t place) noexcept {
    if (!beside_.empty() || !push_into_ring(node)) [[unlikely]]
      beside_.push(node, place);
  }

  [[nodiscard]] Node* pop(std::size_t place) noexcept {
    Node* node = pop_from_ring();
    return node != nullptr ? node : beside_.pop(place);
  }

  [[nodiscard]] bool empty() const noexcept {
    return pushes_.load(std::memory_order_relaxed) == pops_.load(std::memory_order_relaxed) &&
           beside_.empty();
  }

 private:
  struct Cell {
    typename Sync::template atomic<std::size_t> number;
    typename Sync::template plain<Node*> node;
  };

  static std::ptrdiff_t behind(std::size_t number, std::size_t other) noexcept {
    return static_cast<std::ptrdiff_t>(number - other);
  }

  bool push_into_ring(Node* node) noexcept {
    std::size_t drawn = pushes_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[drawn & mask_];
      const std::size_t number = cell.number.load(std::memory_order_acquire);  // [pair ring.free]
      if (number == drawn) {
        if (pushes_.compare_exchange_weak(drawn, drawn + 1, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
          cell.node.write(node);
          cell.number.store(drawn + 1, std::memory_order_release);  // [pair ring.full]
          return true;
        }
      } else if (behind(number, drawn) < 0) {
        return false;
      } else {
        Sync::spin_hint();
        drawn = pushes_.load(std::memory_order_relaxed);
      }
    }
  }

  Node* pop_from_ring() noexcept {
    std::size_t drawn = pops_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[drawn & mask_];
      const std::size_t number = cell.number.load(std::memory_order_acquire);  // [pair ring.full]
      if (number == drawn + 1) {
        if (pops_.compare_exchange_weak(drawn, drawn + 1, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
          Node* node = cell.node.read();
          cell.number.store(drawn + mask_ + 1, std::memory_order_release);  // [pair ring.free]
          return node;
        }
      } else if (behind(number, drawn + 1) < 0) {
        return nullptr;
      } else {
        Sync::spin_hint();
        drawn = pops_.load(std::memory_order_relaxed);
      }
    }
  }

  const std::size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(64) typename Sync::template atomic<std::size_t> pushes_{0};
  alignas(64) typename Sync::template atomic<std::size_t> pops_{0};
  alignas(64) MutexQueue<Sync, Node, Link, kSpins> beside_;
};

/// A core pushes into its own stripe, and pops from its own first; but at every kPatience-th pop
/// from another one first, in turn, so that what lies there does not wait for a core that is busy.
template <class Sync, class Node, auto Link, int kSpins = 100>
class StripedQueue {
 public:
  static constexpr std::size_t kUsual = 1024;
  static constexpr std::size_t kPatience = 16;

  /// `capacity`: of each stripe, a power of two, 2 or more. Throws std::bad_alloc.
  explicit StripedQueue(std::size_t places, std::size_t capacity = kUsual,
                        std::size_t patience = kPatience)
      : places_(places), patience_(patience), stripes_(new std::unique_ptr<Stripe>[places]) {
    for (std::size_t i = 0; i < places; ++i) stripes_[i] = std::make_unique<Stripe>(capacity);
  }

  void push(Node* node, std::size_t place) noexcept {
    stripes_[place % places_]->ring.push(node, place);
  }

  /// `place` is the calling core's, and no other's.
  [[nodiscard]] Node* pop(std::size_t place) noexcept {
    Stripe& mine = *stripes_[place];
    std::size_t first = place;
    if (++mine.pops % patience_ == 0) first += mine.pops / patience_;
    for (std::size_t i = 0; i < places_; ++i) {
      Node* node = stripes_[(first + i) % places_]->ring.pop(place);
      if (node != nullptr) return node;
    }
    return nullptr;
  }

  [[nodiscard]] bool empty() const noexcept {
    for (std::size_t i = 0; i < places_; ++i) {
      if (!stripes_[i]->ring.empty()) return false;
    }
    return true;
  }

 private:
  struct Stripe {
    explicit Stripe(std::size_t capacity) : ring(1, capacity) {}
    RingQueue<Sync, Node, Link, kSpins> ring;
    std::size_t pops = 0;  // its core's
  };

  const std::size_t places_;
  const std::size_t patience_;
  const std::unique_ptr<std::unique_ptr<Stripe>[]> stripes_;
};

}  // namespace bulkhead::sync
