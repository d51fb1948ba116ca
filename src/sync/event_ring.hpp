// A ring of events: one thread at a time writes them, and never waits; another takes them out. When
// there is no room, the newest event is dropped and counted, or the oldest one is overwritten.
// Beside both, anybody may look back at what was written last.
//
// An event has a number, from 0, and lies in the cell (number modulo capacity).
//
// | word    | meaning                             | written by |
// |---------|-------------------------------------|------------|
// | pushed  | how many events have been written   | producer   |
// | taken   | how many of them have been taken    | consumer   |
// | dropped | how many found no room              | producer   |
// | cells   | the events themselves               | producer   |
//
// Rules
//  V1  The consumer gets each event that was pushed, once, in order and whole: what it can see of
//      `pushed` was written before. What was neither pushed nor overwritten is counted as dropped.
//  V2  A cell is written again only when its event has been taken, unless the ring overwrites: then
//      there is no consumer.
//  V3  Before event n is written, `pushed` is n. Who has seen a word of it, and looks at `pushed`
//      afterwards, finds that, and so knows that event n - capacity was being overwritten. So each
//      word of a cell is a release, and is looked at by an acquire: no fence is needed, which on
//      x86 makes all of this plain loads and stores.
//  V4  Producers may change, and so may consumers, if something orders one after the other.
// Checked by event_ring_model.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

enum class WhenFull : bool { kDrop, kOverwrite };

template <class Sync, std::size_t kWords>
class EventRing {
 public:
  using Event = std::array<std::uint64_t, kWords>;

  /// `capacity`: a power of two. Throws std::bad_alloc. Memory that no event has come to is not
  /// touched.
  EventRing(std::size_t capacity, WhenFull when_full)
      : mask_(capacity - 1),
        cells_(std::make_unique_for_overwrite<Cell[]>(capacity)),
        full_at_(when_full == WhenFull::kDrop ? capacity : UINT64_MAX) {}

  /// Producer: false when the event was dropped.
  bool push(const Event& event) noexcept {
    const std::uint64_t number = next_.read();
    if (number == full_at_.read() && !look_for_room()) [[unlikely]]
      return false;
    Cell& cell = cells_[number & mask_];
    for (std::size_t i = 0; i < kWords; ++i) {
      cell[i].store(event[i], std::memory_order_release);  // [pair event_ring.cell]
    }
    next_.write(number + 1);
    pushed_.store(number + 1, std::memory_order_release);  // [pair event_ring.pushed]
    return true;
  }

  /// Consumer: calls take(event) for up to `most` events. How many there were.
  template <class Take>
  std::size_t take(std::size_t most, Take take) {
    const std::uint64_t begin = oldest_.read();
    std::uint64_t end = pushed_.load(std::memory_order_acquire);  // [pair event_ring.pushed]
    if (end - begin > most) end = begin + most;
    for (std::uint64_t number = begin; number != end; ++number) take(read(number));
    oldest_.write(end);
    taken_.store(end, std::memory_order_release);  // [pair event_ring.taken]
    return static_cast<std::size_t>(end - begin);
  }

  /// Any thread: calls see(event) for the last events, capacity - 1 at most, the oldest first.
  /// Those that are overwritten meanwhile are left out.
  template <class See>
  void look_back(See see) const {
    const std::uint64_t end = pushed_.load(std::memory_order_acquire);  // [pair event_ring.pushed]
    for (std::uint64_t number = end > mask_ ? end - mask_ : 0; number != end; ++number) {
      const Event event = read(number);
      if (pushed_.load(std::memory_order_relaxed) - number <= mask_) see(event);  // V3
    }
  }

  /// Any thread.
  [[nodiscard]] std::uint64_t pushed() const noexcept {
    return pushed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  using Cell = std::array<typename Sync::template atomic<std::uint64_t>, kWords>;

  [[gnu::noinline]] bool look_for_room() noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);  // [pair event_ring.taken]
    full_at_.write(taken + mask_ + 1);
    if (full_at_.read() != next_.read()) return true;
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  }

  [[nodiscard]] Event read(std::uint64_t number) const noexcept {
    const Cell& cell = cells_[number & mask_];
    Event event;
    for (std::size_t i = 0; i < kWords; ++i) {
      event[i] = cell[i].load(std::memory_order_acquire);  // [pair event_ring.cell]
    }
    return event;
  }

  const std::uint64_t mask_;
  const std::unique_ptr<Cell[]> cells_;

  // The producer's.
  alignas(64) typename Sync::template plain<std::uint64_t> next_{0};
  typename Sync::template plain<std::uint64_t> full_at_;
  typename Sync::template atomic<std::uint64_t> pushed_{0};
  typename Sync::template atomic<std::uint64_t> dropped_{0};

  // The consumer's.
  alignas(64) typename Sync::template plain<std::uint64_t> oldest_{0};
  typename Sync::template atomic<std::uint64_t> taken_{0};
};

}  // namespace bulkhead::sync
