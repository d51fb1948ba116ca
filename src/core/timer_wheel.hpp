// A core's timers, or those of all actors that roam: a hierarchical wheel. Starting and cancelling
// take constant time, and no look at the clock. Owner only, or under its lock.
//
// A tick is 2^16 ns. A timer due at time d sits at tick (d >> 16) + 1, so that it never fires
// early, and late by at most 66 us and the length of a turn of the core. Level l has 256 buckets of
// 256^l ticks; a timer sits at the level of the highest group of 8 bits in which its tick differs
// from the wheel's, and moves down when the wheel reaches its bucket. A bucket above level 0 is
// emptied in steps, one a turn, so that a million timers in it do not stop the core; nothing fires
// meanwhile. Timers of one tick fire in the order of their deadlines; of one deadline, in the order
// started.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/timer.hpp"

namespace bulkhead::core {

class TimerWheel {
 public:
  /// `now` is the time at which the wheel starts.
  explicit TimerWheel(machine::Nanoseconds now = 0) noexcept;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  /// Sets the time of a wheel that holds no timer.
  void restart(machine::Nanoseconds now) noexcept;

  /// Starts a timer that is due `delay` from now. It is not linked.
  void start(Timer& timer, machine::Nanoseconds delay) noexcept {
    timer.due = delay;
    timer.fresh = true;
    link(fresh_, timer);
    ++count_;
  }

  /// Starts a timer that is due at a time, such as one that came from another core. Not linked.
  void start_at(Timer& timer, machine::Nanoseconds due) noexcept;

  /// Ends a timer before it fires. It is linked here.
  void cancel(Timer& timer) noexcept {
    unlink(timer);
    --count_;
    if (timer.fresh) return;
    const List& bucket = buckets_[timer.level][timer.index];
    if (head_of(bucket)->next == head_of(bucket)) clear_occupied(timer.level, timer.index);
  }

  /// Takes out all timers that are due at `now`, in order of deadline, and calls fire(timer) for
  /// each.
  template <class Fire>
  void advance(machine::Nanoseconds now, Fire fire) {
    if (count_ == 0) {
      restart(now);
      return;
    }
    if (head_of(fresh_)->next != head_of(fresh_)) file_fresh(now);
    while (Timer* first = take_due(now)) {
      while (first != nullptr) {
        Timer* next = first->previous;  // chain of the taken, see take_due
        first->previous = nullptr;
        fire(*first);
        first = next;
      }
    }
  }

  /// When advance should be called next: 0 for at once, kNever when there is no timer. Not while
  /// fresh ones wait.
  [[nodiscard]] machine::Nanoseconds next_due() const noexcept;
  [[nodiscard]] bool has_fresh() const noexcept { return head_of(fresh_)->next != head_of(fresh_); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  static constexpr unsigned kTickBits = 16;
  static constexpr unsigned kLevels = 6;
  static constexpr unsigned kGroupBits = 8;
  static constexpr unsigned kBuckets = 1u << kGroupBits;
  static constexpr int kMovedAtATime = 4096;

  // The head of a circular list: room for the first two members of a Timer, as which alone it is
  // read and written, so that the compiler takes them for what they are.
  struct List {
    Timer* links[2];
  };

  static Timer* head_of(List& list) noexcept { return reinterpret_cast<Timer*>(&list); }
  static const Timer* head_of(const List& list) noexcept {
    return reinterpret_cast<const Timer*>(&list);
  }
  static void clear(List& list) noexcept {
    head_of(list)->next = head_of(list)->previous = head_of(list);
  }
  static void link(List& list, Timer& timer) noexcept {
    Timer* head = head_of(list);
    timer.next = head;
    timer.previous = head->previous;
    head->previous->next = &timer;
    head->previous = &timer;
  }
  static void unlink(Timer& timer) noexcept {
    timer.previous->next = timer.next;
    timer.next->previous = timer.previous;
    timer.next = nullptr;
    timer.previous = nullptr;
  }
  static std::uint64_t tick_of(machine::Nanoseconds due) noexcept {
    return (static_cast<std::uint64_t>(due) >> kTickBits) + 1;
  }

  void file(Timer& timer) noexcept;
  void file_fresh(machine::Nanoseconds now) noexcept;
  Timer* take_due(machine::Nanoseconds now) noexcept;
  std::uint64_t next_tick(unsigned& level) const noexcept;
  void open_bucket(unsigned level, std::uint64_t tick) noexcept;
  void move_some() noexcept;
  void set_occupied(unsigned level, unsigned index) noexcept {
    occupied_[level][index / 64] |= std::uint64_t{1} << (index % 64);
  }
  void clear_occupied(unsigned level, unsigned index) noexcept {
    occupied_[level][index / 64] &= ~(std::uint64_t{1} << (index % 64));
  }
  Timer* take_bucket(std::uint64_t tick) noexcept;

  std::uint64_t tick_;
  std::size_t count_ = 0;
  List fresh_;
  List moving_;  // of a bucket that the wheel has reached: they are filed anew, some at a time
  std::uint64_t occupied_[kLevels][kBuckets / 64] = {};
  List buckets_[kLevels][kBuckets];
};

}  // namespace bulkhead::core
