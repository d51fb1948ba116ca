// A line: those who wait for the same thing, first come, first served. Locks, semaphores,
// conditions and wait groups are each a line and what they guard.
//
// A node lies in the frame of who waits, and is in the line from when that one has opened its wait
// until it is granted, or leaves.
//
// Rules
//  N1  The line and its nodes are touched under the lock of what they wait for; except `granted`,
//      which a waiter may read after its park.
//  N2  Who grants claims the wait of the first node (wait_word.hpp). If that succeeds, the waiter
//      does not run before it is woken: the node is taken out, `granted` is written, and the waiter
//      is woken after the lock has been let go (Woken). If not, time was up, or the waiter is to
//      end: the node is stale, it is taken out, and the next one is tried. So a grant and a timeout
//      have one outcome, which the claim decides, and no grant goes to one who does not take it.
//  N3  A waiter leaves the line under the lock, however its wait has ended, before its frame ends.
//  N4  A waiter that is unwound although it has been granted something passes it on.
// Checked by mutex_state_model.cpp, semaphore_state_model.cpp and group_state_model.cpp.
#pragma once

#include <cstdint>

namespace bulkhead::wait {

/// `Actors` has the type `Waiter`, `bool claim(const Waiter&)` and `void wake(const Waiter&)`.
template <class Sync, class Actors>
struct Node {
  typename Sync::template plain<typename Actors::Waiter> waiter;
  std::uint64_t what = 0;  // how much it waits for, or as whom
  Node* next = nullptr;
  Node* prev = nullptr;
  bool linked = false;
  typename Sync::template plain<bool> granted{false};
};

template <class Sync, class Actors>
class Line {
 public:
  using Node = wait::Node<Sync, Actors>;

  [[nodiscard]] bool empty() const noexcept { return first_.read() == nullptr; }
  [[nodiscard]] Node* first() const noexcept { return first_.read(); }

  void append(Node& node) noexcept {
    node.next = nullptr;
    node.prev = last_;
    (last_ != nullptr ? last_->next : first_.edit()) = &node;
    last_ = &node;
    node.linked = true;
  }

  void remove(Node& node) noexcept {
    if (!node.linked) return;
    (node.prev != nullptr ? node.prev->next : first_.edit()) = node.next;
    (node.next != nullptr ? node.next->prev : last_) = node.prev;
    node.linked = false;
  }

 private:
  typename Sync::template plain<Node*> first_{nullptr};
  Node* last_ = nullptr;
};

/// Those who have been granted something and are yet to be woken.
template <class Sync, class Actors>
class Woken {
 public:
  using Node = wait::Node<Sync, Actors>;

  /// Under the lock: takes the first node out of the line, and grants it, unless it is stale.
  [[nodiscard]] bool grant_first(Line<Sync, Actors>& line) noexcept {
    Node& node = *line.first();
    line.remove(node);
    if (!Actors::claim(node.waiter.read())) return false;
    node.granted.write(true);
    node.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &node;
    last_ = &node;
    return true;
  }

  [[nodiscard]] Node* first() const noexcept { return first_; }

  /// Without the lock, once. A node is gone when its waiter has been woken.
  void wake() noexcept {
    for (Node* node = first_; node != nullptr;) {
      Node* next = node->next;
      const typename Actors::Waiter waiter = node->waiter.read();
      node = next;
      Actors::wake(waiter);
    }
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

}  // namespace bulkhead::wait
