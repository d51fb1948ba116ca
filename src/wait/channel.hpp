// The state of a channel: the values that are in it, and those who wait for one or with one. Any
// thread may touch it at any time; a lock guards it. It knows nothing of the values' type.
//
// | who waits  | while                                | is served by                              |
// |------------|--------------------------------------|-------------------------------------------|
// | a receiver | no value is there and nobody sends   | a sender, who gives it a value; the close |
// | a sender   | the channel is full (a rendezvous is | a receiver, who takes its value or makes  |
// |            | always full) and nobody receives     | room for it; the close                    |
//
// Rules
//  H1  The lists and the values change under the lock only (sync/lock.hpp, L3). Memory for a value
//      is taken before, its move happens before or after, and those who were served are woken
//      after.
//  H2  A node lies in the frame of its waiter. It is linked under the lock, and its waiter leaves
//      the frame only when it is unlinked: by the waiter itself, under the lock, or by who has
//      served it.
//  H3  To serve a node is to claim its wait, under the lock, and then to write its outcome. If the
//      claim fails, somebody else has ended that wait (another arm of a select, a timer, a stop):
//      the node is stale, is unlinked and passed over. So a value goes only to one who takes it.
//  H4  Only who has claimed the wait writes a node's outcome, so its waiter, when the wait is over,
//      reads it without the lock.
//  H5  The nodes of one wait never serve each other: a select that both sends and receives passes
//      its own over.
//  H6  A value that was given to a receiver that did not live to take it goes back to the front.
//  H7  The hint says what an attempt may find. It is written under the lock and read without: who
//      finds nothing there has looked before whatever comes next, and sees what was done before the
//      channel came to have nothing. It may say yes in vain.
// Checked by channel_model.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sync/atomic.hpp"
#include "sync/lock.hpp"

namespace bulkhead::wait {

enum class Came : std::uint8_t { kDone, kClosed, kNotYet };

inline constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

/// `Actors` has types Waiter and Outcome, `bool claim(Waiter)`, `void wake(Waiter)`, and `bool
/// same(Waiter, Waiter)`. `Node` has next, previous, item, waiter, outcome and linked; `Item` has
/// next.
template <class Sync, class Actors, class Node, class Item, int kSpins = 100>
class ChannelState {
 public:
  using Waiter = typename Actors::Waiter;
  using Outcome = typename Actors::Outcome;

  explicit ChannelState(std::size_t capacity) : capacity_(capacity) { hint_now(); }

  /// What the hint says. Any thread.
  [[nodiscard]] bool may_receive() const noexcept { return hinted(kReceivable); }
  [[nodiscard]] bool may_send() const noexcept { return hinted(kSendable); }

  [[nodiscard]] Came try_receive(Item*& item) noexcept {
    if (!may_receive()) return Came::kNotYet;
    Held held(*this);
    return take(item, held.served);
  }

  /// The item is the channel's on kDone.
  [[nodiscard]] Came try_send(Item& item) noexcept {
    if (!may_send()) return Came::kNotYet;
    Held held(*this);
    return put(item, held.served);
  }

  /// The same, but on kNotYet the node is linked. Its wait is open, and known to nobody else yet.
  [[nodiscard]] Came receive_or_enroll(Node& node, Item*& item) noexcept {
    Held held(*this);
    const Came came = take(item, held.served);
    if (came == Came::kNotYet) link(receivers_, node);
    return came;
  }
  [[nodiscard]] Came send_or_enroll(Node& node) noexcept {
    Held held(*this);
    Item* item = node.item;
    const Came came = put(*item, held.served);
    if (came == Came::kNotYet) link(senders_, node);
    return came;
  }

  /// For select: links the node, unless an attempt may succeed: then false.
  [[nodiscard]] bool enroll_receiver(Node& node) noexcept {
    Held held(*this);
    Item* oldest = oldest_;
    if (oldest != nullptr || closed_.read() || has_other(senders_, node)) return false;
    link(receivers_, node);
    return true;
  }
  [[nodiscard]] bool enroll_sender(Node& node) noexcept {
    Held held(*this);
    if (size_.read() < capacity_ || closed_.read() || has_other(receivers_, node)) return false;
    link(senders_, node);
    return true;
  }

  /// The waiter, when its wait is over. The outcome tells whether it was served.
  void withdraw_receiver(Node& node) noexcept { withdraw(receivers_, node); }
  void withdraw_sender(Node& node) noexcept { withdraw(senders_, node); }

  /// Nothing more can be sent. What is there can still be received.
  void close() noexcept {
    Held held(*this);
    close_held(held);
  }

  /// Nobody receives any more. Returns the values that are left, linked by next.
  [[nodiscard]] Item* abandon() noexcept {
    Held held(*this);
    close_held(held);
    abandoned_.write(true);
    Item* left = oldest_;
    oldest_ = nullptr;
    size_.write(0);
    return left;
  }

  /// H6. False when nobody is left to receive it: then it is the caller's.
  [[nodiscard]] bool put_back(Item& item) noexcept {
    Held held(*this);
    if (abandoned_.read()) return false;
    if (Node* receiver = claim_first(receivers_); receiver != nullptr) {
      give(*receiver, item);
      held.served = receiver;
      return true;
    }
    Item* oldest = oldest_;
    item.next = oldest;
    if (oldest == nullptr) newest_ = &item;
    oldest_ = &item;
    size_.write(size_.read() + 1);
    return true;
  }

 private:
  static constexpr std::uint32_t kReceivable = 1;
  static constexpr std::uint32_t kSendable = 2;

  struct List {
    decltype(Node::next) first{};
    decltype(Node::next) last{};
  };

  /// The lock, and those who are to be woken when it has been let go, linked by next.
  struct Held {
    explicit Held(ChannelState& held_state) noexcept : state(held_state) { state.lock_.lock(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      state.hint_now();
      state.lock_.unlock();
      while (served != nullptr) {
        Node* node = served;
        served = node->next;
        Actors::wake(node->waiter);  // the node is gone
      }
    }
    ChannelState& state;
    Node* served = nullptr;
  };

  [[nodiscard]] bool hinted(std::uint32_t what) const noexcept {
    return (hint_.load(std::memory_order_acquire) & what) != 0;  // [pair channel.hint]
  }

  // Under the lock.
  void hint_now() noexcept {
    const Item* oldest = oldest_;
    const Node* sender = senders_.first;
    const Node* receiver = receivers_.first;
    std::uint32_t hint = 0;
    if (oldest != nullptr || sender != nullptr || closed_.read()) hint |= kReceivable;
    if (size_.read() < capacity_ || receiver != nullptr || closed_.read()) hint |= kSendable;
    if (hint_.load(std::memory_order_relaxed) != hint) {
      hint_.store(hint, std::memory_order_release);  // [pair channel.hint]
    }
  }

  [[nodiscard]] Came take(Item*& item, Node*& served) noexcept {
    Item* oldest = oldest_;
    if (oldest != nullptr) {
      item = oldest;
      Item* next = oldest->next;
      oldest_ = next;
      size_.write(size_.read() - 1);
      const Node* waiting = senders_.first;
      if (waiting != nullptr && size_.read() < capacity_) served = fill_up();
      return Came::kDone;
    }
    if (Node* sender = claim_first(senders_); sender != nullptr) {
      item = sender->item;
      settle(*sender, Outcome::kDone);
      served = sender;
      return Came::kDone;
    }
    return closed_.read() ? Came::kClosed : Came::kNotYet;
  }

  // There is room: the value of the sender that has waited longest goes in.
  [[nodiscard]] Node* fill_up() noexcept {
    Node* sender = claim_first(senders_);
    if (sender == nullptr) return nullptr;
    Item* item = sender->item;
    append(*item);
    settle(*sender, Outcome::kDone);
    return sender;
  }

  [[nodiscard]] Came put(Item& item, Node*& served) noexcept {
    if (closed_.read()) return Came::kClosed;
    if (Node* receiver = claim_first(receivers_); receiver != nullptr) {
      give(*receiver, item);
      served = receiver;
      return Came::kDone;
    }
    if (size_.read() >= capacity_) return Came::kNotYet;
    append(item);
    return Came::kDone;
  }

  void append(Item& item) noexcept {
    item.next = nullptr;
    Item* oldest = oldest_;
    if (oldest == nullptr) {
      oldest_ = &item;
    } else {
      Item* newest = newest_;
      newest->next = &item;
    }
    newest_ = &item;
    size_.write(size_.read() + 1);
  }

  void close_held(Held& held) noexcept {
    closed_.write(true);
    close_list(receivers_, held);
    close_list(senders_, held);
  }

  void close_list(List& list, Held& held) noexcept {
    while (Node* node = claim_first(list)) {
      settle(*node, Outcome::kClosed);
      node->next = held.served;
      held.served = node;
    }
  }

  // The waiter of a node that was claimed does not run before it is woken.
  static void give(Node& receiver, Item& item) noexcept {
    receiver.item = &item;
    settle(receiver, Outcome::kDone);
  }
  static void settle(Node& node, Outcome outcome) noexcept {
    node.outcome = outcome;
    node.next = nullptr;
  }

  // Unlinks nodes from the front until one is claimed.
  [[nodiscard]] Node* claim_first(List& list) noexcept {
    for (;;) {
      Node* node = list.first;
      if (node == nullptr) return nullptr;
      unlink(list, *node);
      if (Actors::claim(node->waiter)) return node;
    }
  }

  [[nodiscard]] static bool has_other(List& list, const Node& mine) noexcept {
    for (Node* node = list.first; node != nullptr; node = node->next) {
      if (!Actors::same(node->waiter, mine.waiter)) return true;
    }
    return false;
  }

  static void link(List& list, Node& node) noexcept {
    Node* last = list.last;
    node.next = nullptr;
    node.previous = last;
    node.linked = true;
    if (last == nullptr) {
      list.first = &node;
    } else {
      last->next = &node;
    }
    list.last = &node;
  }

  static void unlink(List& list, Node& node) noexcept {
    Node* next = node.next;
    Node* previous = node.previous;
    if (previous == nullptr) {
      list.first = next;
    } else {
      previous->next = next;
    }
    if (next == nullptr) {
      list.last = previous;
    } else {
      next->previous = previous;
    }
    node.linked = false;
  }

  void withdraw(List& list, Node& node) noexcept {
    if (node.outcome != Outcome::kPending) return;  // H4: who served it has unlinked it
    Held held(*this);
    if (node.linked) unlink(list, node);
  }

  sync::Lock<Sync, kSpins> lock_;
  typename Sync::template atomic<std::uint32_t> hint_{0};
  const std::size_t capacity_;
  typename Sync::template plain<std::size_t> size_{0};
  decltype(Item::next) oldest_{};
  decltype(Item::next) newest_{};
  List receivers_;
  List senders_;
  typename Sync::template plain<bool> closed_{false};
  typename Sync::template plain<bool> abandoned_{false};  // nobody receives any more
};

}  // namespace bulkhead::wait
