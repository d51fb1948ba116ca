// What other threads put before a core: a stack of actors that have news for it, or that move to
// it, and the core's sleep. One atomic word holds both, so that no wake-up can be lost between
// "nothing has arrived" and "asleep".
//
// | state  | meaning                         | transition               | moved by   |
// |--------|---------------------------------|--------------------------|------------|
// | Empty  | awake, nothing has arrived      | -> List   (push)         | any thread |
// |        |                                 | -> Asleep (fall_asleep)  | owner      |
// | List   | awake, actors wait              | -> List   (push)         | any thread |
// |        |                                 | -> Empty  (take_all)     | owner      |
// | Asleep | the owner sleeps or is about to | -> List   (push)         | any thread |
// |        |                                 | -> Empty  (wake_up)      | owner      |
//
// Rules
//  A1  Who moves the word out of Asleep must wake the core; nobody else needs to.
//  A2  A core sleeps only after fall_asleep succeeded.
//  A3  A node is in at most one list at a time: its link belongs to the holder of its right of
//      notification (see inbox.hpp, I2).
// Checked by arrivals_model.cpp: no lost wake-up, nothing lost or doubled.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

enum class Arrived : std::uint8_t { kSeen, kMustWake };

/// `Link` names the member of Node that chains it.
template <class Sync, class Node, Node* Node::*Link>
class Arrivals {
 public:
  /// Any thread: puts a chain, from its newest node to its oldest (one node: both the same).
  [[nodiscard]] Arrived push_remote(Node* newest, Node* oldest) noexcept {
    std::uintptr_t old = head_.load(std::memory_order_relaxed);
    do {
      oldest->*Link = old > kAsleep ? reinterpret_cast<Node*>(old) : nullptr;
    } while (!head_.compare_exchange_weak(old, reinterpret_cast<std::uintptr_t>(newest),
                                          std::memory_order_release,  // [pair arrivals.take]
                                          std::memory_order_relaxed));
    return old == kAsleep ? Arrived::kMustWake : Arrived::kSeen;
  }

  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) <= kAsleep;
  }

  /// Owner: everything that has arrived, oldest first.
  [[nodiscard]] Node* take_all() noexcept {
    if (empty()) return nullptr;
    std::uintptr_t head =
        head_.exchange(kEmpty, std::memory_order_acquire);  // [pair arrivals.take]
    Node* newest = reinterpret_cast<Node*>(head);
    Node* oldest = nullptr;
    while (newest != nullptr) {
      Node* older = newest->*Link;
      newest->*Link = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  /// Owner: announces sleep. False when something has arrived.
  [[nodiscard]] bool fall_asleep() noexcept {
    std::uintptr_t empty = kEmpty;
    return head_.compare_exchange_strong(empty, kAsleep, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  /// Owner: awake again, whoever woke it.
  void wake_up() noexcept {
    std::uintptr_t asleep = kAsleep;
    static_cast<void>(head_.compare_exchange_strong(asleep, kEmpty, std::memory_order_relaxed,
                                                    std::memory_order_relaxed));
  }

  /// Any thread: does the core sleep? A hint.
  [[nodiscard]] bool asleep() const noexcept {
    return head_.load(std::memory_order_relaxed) == kAsleep;
  }

 private:
  static constexpr std::uintptr_t kEmpty = 0;
  static constexpr std::uintptr_t kAsleep = 1;

  typename Sync::template atomic<std::uintptr_t> head_{kEmpty};
};

}  // namespace bulkhead::sync
