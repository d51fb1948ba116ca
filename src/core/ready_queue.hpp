// The actors of one core that are ready to run. Owner only.
//
// Two queues. *Hot* holds those that an actor of this core has just made ready (a new child, the
// receiver of a message) and is served newest first: their data are in the cache, and a tree of
// actors is walked depth first, so that it never exists all at once. *Fair* holds those that used
// their batch up, and those made ready from outside, and is served oldest first. Hot goes first. So
// that nobody starves, the core asks once per turn (64 activations) for the next one fairly: then
// the oldest of the hot moves to the end of the fair queue, and the first of the fair one runs. An
// actor with n before it in either queue therefore runs within about n turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/critical.hpp"

namespace bulkhead::core {

struct Slot;

/// A ring that grows; both ends are open. It starts without room.
class SlotRing {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - first_; }

  [[nodiscard]] bool full() const noexcept { return end_ - first_ == capacity_; }
  /// Not full.
  void put_back(Slot* slot) noexcept { ring_[end_++ & (capacity_ - 1)] = slot; }
  /// False when it must grow and cannot.
  bool push_back(Slot* slot) noexcept {
    if (full() && !grow()) [[unlikely]]
      return false;
    put_back(slot);
    return true;
  }
  bool push_front(Slot* slot) noexcept {
    if (full() && !grow()) [[unlikely]]
      return false;
    ring_[--first_ & (capacity_ - 1)] = slot;
    return true;
  }
  /// Not empty.
  [[nodiscard]] Slot* front() const noexcept { return ring_[first_ & (capacity_ - 1)]; }
  [[nodiscard]] Slot* back() const noexcept { return ring_[(end_ - 1) & (capacity_ - 1)]; }
  [[nodiscard]] Slot* pop_front() noexcept { return ring_[first_++ & (capacity_ - 1)]; }
  [[nodiscard]] Slot* pop_back() noexcept { return ring_[--end_ & (capacity_ - 1)]; }

  /// Throws std::bad_alloc.
  void reserve(std::size_t size) {
    while (capacity_ < size) {
      if (!grow()) throw std::bad_alloc();
    }
  }

  /// Gives memory back after a burst. Only when empty.
  void shrink() noexcept {
    if (capacity_ <= kSmallest) return;
    ring_.reset();
    capacity_ = 0;
    first_ = end_ = 0;
  }

 private:
  static constexpr std::uint64_t kSmallest = 1024;

  [[gnu::noinline, gnu::cold]] bool grow() noexcept {
    const base::Critical critical("the ready queue must not block");
    const std::uint64_t capacity = capacity_ == 0 ? kSmallest : capacity_ * 2;
    std::unique_ptr<Slot*[]> ring(new (std::nothrow) Slot*[capacity]);
    if (ring == nullptr) return false;
    const std::uint64_t size = end_ - first_;
    for (std::uint64_t i = 0; i < size; ++i) ring[i] = ring_[(first_ + i) & (capacity_ - 1)];
    ring_ = std::move(ring);
    capacity_ = capacity;
    first_ = 0;
    end_ = size;
    return true;
  }

  // Positions only grow, but for push_front, and wrap around; the ring's index is their low bits.
  std::unique_ptr<Slot*[]> ring_;
  std::uint64_t capacity_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
};

/// Nothing fails: those for whom there is no memory are chained, by Slot::next_free, and have their
/// turn when the core asks for the next one fairly, or has no others.
class ReadyQueue {
 public:
  void push_hot(Slot* slot) noexcept {
    if (newest_ != nullptr) push_behind(hot_, newest_);
    newest_ = slot;
  }
  void push_fair(Slot* slot) noexcept { push_behind(fair_, slot); }

  [[nodiscard]] bool empty() const noexcept {
    return newest_ == nullptr && hot_.empty() && fair_.empty() && chained_ == 0;
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return (newest_ != nullptr ? 1 : 0) + hot_.size() + fair_.size() + chained_;
  }

  /// The next to run; null when there is none.
  [[nodiscard]] Slot* next() noexcept {
    if (newest_ != nullptr) [[likely]]
      return std::exchange(newest_, nullptr);
    if (!hot_.empty()) return hot_.pop_back();
    return fair_.empty() ? unchain() : fair_.pop_front();
  }

  /// next(), if that one fits; else null, and it stays. A chained one does not fit.
  template <class Fits>
  [[nodiscard]] Slot* next_if(Fits fits) noexcept {
    if (newest_ != nullptr) return fits(*newest_) ? std::exchange(newest_, nullptr) : nullptr;
    if (!hot_.empty()) return fits(*hot_.back()) ? hot_.pop_back() : nullptr;
    return !fair_.empty() && fits(*fair_.front()) ? fair_.pop_front() : nullptr;
  }

  /// The same as next(), for the turn that patience demands.
  [[nodiscard]] Slot* next_fairly() noexcept {
    if (chained_ != 0) [[unlikely]]
      return unchain();
    if (fair_.empty()) {
      if (!hot_.empty()) return hot_.pop_front();
      return std::exchange(newest_, nullptr);
    }
    Slot* slot = fair_.pop_front();  // which leaves room for one
    if (!hot_.empty()) {
      push_fair(hot_.pop_front());
    } else if (newest_ != nullptr) {
      push_fair(std::exchange(newest_, nullptr));
    }
    return slot;
  }

  /// For who runs them in rounds: lines up all of them, in the order in which they were made ready;
  /// how many there are. Those that come later are not among them.
  [[nodiscard]] std::size_t line_up() noexcept {
    while (!hot_.empty()) push_fair(hot_.pop_front());
    if (newest_ != nullptr) push_fair(std::exchange(newest_, nullptr));
    return fair_.size() + chained_;
  }
  /// The next in the line; null when there is none.
  [[nodiscard]] Slot* next_in_line() noexcept {
    return fair_.empty() ? unchain() : fair_.pop_front();
  }

  /// Takes memory for so many. Throws std::bad_alloc.
  void reserve(std::size_t slots) {
    hot_.reserve(slots);
    fair_.reserve(slots);
  }

  /// One to give away: the one that would wait longest here; null when there is none.
  [[nodiscard]] Slot* take_to_give() noexcept {
    if (!fair_.empty()) return fair_.pop_back();
    return hot_.empty() ? nullptr : hot_.pop_front();
  }

  /// Puts one back that was not given: it is next but for the hot.
  void put_back(Slot* slot) noexcept {
    if (!fair_.push_front(slot)) [[unlikely]]
      chain(slot);
  }

  void shrink() noexcept {
    if (hot_.empty()) hot_.shrink();
    if (fair_.empty()) fair_.shrink();
  }

 private:
  void push_behind(SlotRing& ring, Slot* slot) noexcept {
    if (ring.full()) [[unlikely]] {
      grow_or_chain(ring, slot);
    } else {
      ring.put_back(slot);
    }
  }
  void grow_or_chain(SlotRing& ring, Slot* slot) noexcept;
  void chain(Slot* slot) noexcept;
  [[nodiscard]] Slot* unchain() noexcept;  // null when there is none

  Slot* newest_ = nullptr;  // the top of the hot
  SlotRing hot_;
  SlotRing fair_;
  Slot* first_chained_ = nullptr;
  Slot* last_chained_ = nullptr;
  std::size_t chained_ = 0;
};

}  // namespace bulkhead::core
