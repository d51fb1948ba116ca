// The inbox of an actor: the only part of an actor that other threads write.
//
// A linked stack with one atomic word. Any thread pushes with one compare-and-swap; the owner takes
// all with one exchange and gets them oldest first.
//
// The word also carries the *right of notification*, which is what keeps an actor from being handed
// to its core twice, and what lets the actor's one arrival link be used by one thread at a time.
//
// | state | meaning                                 | transition        | moved by          |
// |-------|-----------------------------------------|-------------------|-------------------|
// | Quiet | empty, and nobody has told the owner    | -> Mail  (push)   | any thread        |
// |       |                                         | -> Told  (claim)  | owner; see I5     |
// | Told  | empty, somebody holds the right         | -> Mail  (push)   | any thread        |
// |       |                                         | -> Quiet (settle, | owner, with right |
// |       |                                         |  settle_if_empty) |                   |
// | Mail  | holds signals, somebody holds the right | -> Mail  (push)   | any thread        |
// |       |                                         | -> Told  (take)   | owner             |
// |       |                                         | -> Quiet (settle) | owner, with right |
//
// Rules
//  I1  Who moves the word out of Quiet holds the right of notification, alone, until it is settled.
//  I2  The right lets its holder use the actor's arrival link: to put the actor among the arrivals
//      of its core (push), or of the core that it moves to (claim_right).
//  I3  The owner settles only while the link is free: after it has taken the actor from the
//      arrivals, or from another queue that it was chained in, or has claimed the right itself.
//  I5  Where the owner of an actor is whoever holds its right (slot.hpp, S6), it keeps the right
//      for as long as it owns the actor, and gives both up at once, by settle_if_empty. An actor
//      that waits has no owner then, and any core may claim its right; but whether it does wait
//      there, it knows only afterwards.
//  I4  take and settle hand over signals in the order in which they were pushed; so do two takes in
//      a row. Signals of one sender are pushed in the order sent; that is the whole order argument.
// Checked by inbox_model.cpp: order, nothing lost or doubled, one notification per right.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

enum class Pushed : std::uint8_t { kQueued, kMustNotify };

/// `Node` has a member `Node* next` that belongs to the inbox while the node is in it.
template <class Sync, class Node>
class Inbox {
 public:
  /// Any thread. On kMustNotify the caller now holds the right of notification and must put the
  /// actor among its core's arrivals.
  [[nodiscard]] Pushed push_remote(Node* node) noexcept {
    std::uintptr_t old = head_.load(std::memory_order_relaxed);
    do {
      node->next = old > kTold ? reinterpret_cast<Node*>(old) : nullptr;
      // Release: the signal's content [pair inbox.take]. Acquire: who leaves Quiet uses the arrival
      // link after the owner has let go of it [pair inbox.settle].
    } while (!head_.compare_exchange_weak(old, reinterpret_cast<std::uintptr_t>(node),
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return old == kQuiet ? Pushed::kMustNotify : Pushed::kQueued;
  }

  /// Owner: does the inbox hold signals? One plain load; the check that keeps the order of a sender
  /// whose earlier signals came through the inbox and whose next one is appended directly.
  [[nodiscard]] bool has_mail() const noexcept {
    return head_.load(std::memory_order_relaxed) > kTold;
  }

  /// Owner: takes all signals, oldest first, and leaves the right where it is. Only when
  /// has_mail().
  [[nodiscard]] Node* take() noexcept {
    return oldest_first(head_.exchange(kTold, std::memory_order_acq_rel));  // [pair inbox.push]
  }

  /// Owner, holding the right (the actor has just been taken from the arrivals): takes all signals
  /// and gives the right up.
  [[nodiscard]] Node* settle() noexcept {
    // Release: we are done with the arrival link [pair inbox.settle].
    return oldest_first(head_.exchange(kQuiet, std::memory_order_acq_rel));
  }

  /// Owner, holding the right: gives it up, if nothing has come meanwhile. False when it holds
  /// signals; then nothing has changed.
  [[nodiscard]] bool settle_if_empty() noexcept {
    std::uintptr_t told = kTold;
    // Release: the next to hold the right may be the next owner [pair inbox.settle].
    return head_.compare_exchange_strong(told, kQuiet, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// Claims the right: the owner, in order to move the actor; or any thread, where it becomes the
  /// owner by that (I5). False when somebody else holds it.
  [[nodiscard]] bool claim_right() noexcept {
    std::uintptr_t quiet = kQuiet;
    return head_.compare_exchange_strong(quiet, kTold, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t kQuiet = 0;  // so that memory fresh from the kernel is an inbox
  static constexpr std::uintptr_t kTold = 1;

  static Node* oldest_first(std::uintptr_t head) noexcept {
    Node* newest = head > kTold ? reinterpret_cast<Node*>(head) : nullptr;
    Node* oldest = nullptr;
    while (newest != nullptr) {
      Node* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  typename Sync::template atomic<std::uintptr_t> head_{kQuiet};
};

}  // namespace bulkhead::sync
