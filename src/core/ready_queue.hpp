// The actors of one core that are ready to run. Owner only.
//
// Two queues. *Hot* holds those that an actor of this core has just made ready (a new child, the
// receiver of a message) and is served newest first: their data are in the cache, and a tree of
// actors is walked depth first, so that it never exists all at once. *Fair* holds those that used
// their batch up, and those made ready from outside, and is served oldest first.
// Hot goes first. So that nobody starves: every kPatience turns, the oldest of the hot moves to the
// end of the fair queue, and the first of the fair one has its turn. An actor with n before it in
// either queue therefore runs within about kPatience * n turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bulkhead::core {

struct Slot;

/// A ring that grows; both ends are open.
class SlotRing {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Throws std::bad_alloc when it must grow and cannot.
  void push_back(Slot* slot) {
    if (size_ == capacity_) [[unlikely]] grow();
    ring_[(first_ + size_++) & (capacity_ - 1)] = slot;
  }

  void push_front(Slot* slot) {
    if (size_ == capacity_) [[unlikely]] grow();
    first_ = (first_ - 1) & (capacity_ - 1);
    ring_[first_] = slot;
    ++size_;
  }

  [[nodiscard]] Slot* pop_front() noexcept {
    Slot* slot = ring_[first_];
    first_ = (first_ + 1) & (capacity_ - 1);
    --size_;
    return slot;
  }

  [[nodiscard]] Slot* pop_back() noexcept { return ring_[(first_ + --size_) & (capacity_ - 1)]; }

  void reserve(std::size_t slots) {
    while (capacity_ < slots) grow();
  }

  /// Gives memory back after a burst. Only when empty.
  void shrink() noexcept {
    if (capacity_ <= kSmallest) return;
    ring_.reset();
    capacity_ = first_ = 0;
  }

 private:
  static constexpr std::size_t kSmallest = 1024;

  void grow() {
    const std::size_t capacity = capacity_ == 0 ? kSmallest : capacity_ * 2;
    auto ring = std::make_unique_for_overwrite<Slot*[]>(capacity);
    for (std::size_t i = 0; i < size_; ++i) ring[i] = ring_[(first_ + i) & (capacity_ - 1)];
    ring_ = std::move(ring);
    capacity_ = capacity;
    first_ = 0;
  }

  std::unique_ptr<Slot*[]> ring_;
  std::size_t capacity_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

class ReadyQueue {
 public:
  void push_hot(Slot* slot) { hot_.push_back(slot); }
  void push_fair(Slot* slot) { fair_.push_back(slot); }

  [[nodiscard]] bool empty() const noexcept { return hot_.empty() && fair_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return hot_.size() + fair_.size(); }

  /// The next to run; null when there is none.
  [[nodiscard]] Slot* next() noexcept {
    if (++turn_ == kPatience) [[unlikely]] {
      turn_ = 0;
      if (!fair_.empty()) {
        Slot* slot = fair_.pop_front();
        // There is room: one has just left.
        if (!hot_.empty()) fair_.push_back(hot_.pop_front());
        return slot;
      }
      if (!hot_.empty()) return hot_.pop_front();
    }
    if (!hot_.empty()) return hot_.pop_back();
    return fair_.empty() ? nullptr : fair_.pop_front();
  }

  /// One to give away: the one that would wait longest here; null when there is none.
  [[nodiscard]] Slot* take_to_give() noexcept {
    if (!fair_.empty()) return fair_.pop_back();
    return hot_.empty() ? nullptr : hot_.pop_front();
  }

  /// Puts one back that was not given: it is next but for the hot. There is room.
  void put_back(Slot* slot) noexcept { fair_.push_front(slot); }

  void shrink() noexcept {
    if (hot_.empty()) hot_.shrink();
    if (fair_.empty()) fair_.shrink();
  }

 private:
  static constexpr std::uint32_t kPatience = 64;

  SlotRing hot_;
  SlotRing fair_;
  std::uint32_t turn_ = 0;
};

}  // namespace bulkhead::core
