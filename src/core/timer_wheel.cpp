#include "core/timer_wheel.hpp"

#include <bit>

#include "base/check.hpp"

namespace bulkhead::core {

namespace {

// Merges two chains (linked by `previous`) that are in order of deadline; equals keep `a` first.
Timer* merge(Timer* a, Timer* b) noexcept {
  Timer* first = nullptr;
  Timer** end = &first;
  while (a != nullptr && b != nullptr) {
    Timer*& smaller = b->due < a->due ? b : a;
    *end = smaller;
    end = &smaller->previous;
    smaller = smaller->previous;
  }
  *end = a != nullptr ? a : b;
  return first;
}

// Cuts the longest run in order of deadline off the front of a chain.
Timer* cut_run(Timer*& chain) noexcept {
  Timer* first = chain;
  Timer* last = first;
  while (last->previous != nullptr && last->previous->due >= last->due) last = last->previous;
  chain = last->previous;
  last->previous = nullptr;
  return first;
}

// A natural merge sort: timers are mostly started in order of deadline, and then it takes one pass.
Timer* sorted(Timer* chain) noexcept {
  constexpr int kDepth = 48;
  Timer* runs[kDepth] = {};
  int used = 0;
  std::uint64_t counts[kDepth] = {};
  while (chain != nullptr) {
    runs[used] = cut_run(chain);
    counts[used++] = 1;
    while (used > 1 && (counts[used - 2] <= counts[used - 1] || used == kDepth)) {
      runs[used - 2] = merge(runs[used - 2], runs[used - 1]);
      counts[used - 2] += counts[used - 1];
      --used;
    }
  }
  while (used > 1) {
    runs[used - 2] = merge(runs[used - 2], runs[used - 1]);
    --used;
  }
  return runs[0];
}

}  // namespace

TimerWheel::TimerWheel(machine::Nanoseconds now) noexcept
    : tick_(static_cast<std::uint64_t>(now) >> kTickBits) {
  clear(fresh_);
  clear(moving_);
  for (auto& level : buckets_) {
    for (List& bucket : level) clear(bucket);
  }
}

void TimerWheel::restart(machine::Nanoseconds now) noexcept {
  tick_ = static_cast<std::uint64_t>(now) >> kTickBits;
}

void TimerWheel::start_at(Timer& timer, machine::Nanoseconds due) noexcept {
  timer.due = due;
  timer.fresh = false;
  ++count_;
  file(timer);
}

void TimerWheel::file(Timer& timer) noexcept {
  std::uint64_t tick = tick_of(timer.due);
  if (tick <= tick_) tick = tick_ + 1;
  const auto level = static_cast<unsigned>(63 - std::countl_zero(tick ^ tick_)) / kGroupBits;
  BULKHEAD_ASSERT(level < kLevels, "a deadline beyond the range of the clock");
  const auto index = static_cast<unsigned>(tick >> (level * kGroupBits)) & (kBuckets - 1);
  timer.level = static_cast<std::uint8_t>(level);
  timer.index = static_cast<std::uint8_t>(index);
  link(buckets_[level][index], timer);
  set_occupied(level, index);
}

void TimerWheel::file_fresh(machine::Nanoseconds now) noexcept {
  Timer* timer = head_of(fresh_)->next;
  clear(fresh_);
  while (timer != head_of(fresh_)) {
    Timer* next = timer->next;
    timer->due = machine::later(now, timer->due);
    timer->fresh = false;
    file(*timer);
    timer = next;
  }
}

// The next tick at which a bucket is reached, and the bucket's level. Within a level, all timers
// lie ahead of the wheel's own position, and before the next bucket of the level above.
std::uint64_t TimerWheel::next_tick(unsigned& level) const noexcept {
  for (level = 0; level < kLevels; ++level) {
    for (unsigned word = 0; word < kBuckets / 64; ++word) {
      if (occupied_[level][word] == 0) continue;
      const auto shift = level * kGroupBits;
      const auto index =
          word * 64 + static_cast<unsigned>(std::countr_zero(occupied_[level][word]));
      const std::uint64_t above = tick_ >> shift & ~std::uint64_t{kBuckets - 1};
      return (above | index) << shift;
    }
  }
  return UINT64_MAX;
}

machine::Nanoseconds TimerWheel::next_due() const noexcept {
  if (head_of(moving_)->next != head_of(moving_)) return 0;
  unsigned level = 0;
  const std::uint64_t tick = next_tick(level);
  if (tick == UINT64_MAX || tick > static_cast<std::uint64_t>(machine::kNever) >> kTickBits) {
    return machine::kNever;
  }
  return static_cast<machine::Nanoseconds>(tick << kTickBits);
}

// Moves the wheel on to the next bucket that is due at `now`. Returns the timers of the first that
// fire, chained by `previous`, in order; null when nothing more is due in this turn.
Timer* TimerWheel::take_due(machine::Nanoseconds now) noexcept {
  const auto now_tick = static_cast<std::uint64_t>(now) >> kTickBits;
  for (;;) {
    if (head_of(moving_)->next != head_of(moving_)) {
      move_some();
      if (head_of(moving_)->next != head_of(moving_)) return nullptr;
    }
    unsigned level = 0;
    const std::uint64_t tick = next_tick(level);
    if (tick > now_tick) {
      if (now_tick > tick_) tick_ = now_tick;
      return nullptr;
    }
    tick_ = tick;
    if (level == 0) return take_bucket(tick);
    open_bucket(level, tick);
  }
}

// The wheel stands on the first tick of a bucket above level 0: its timers are to move down.
void TimerWheel::open_bucket(unsigned level, std::uint64_t tick) noexcept {
  const auto index = static_cast<unsigned>(tick >> (level * kGroupBits)) & (kBuckets - 1);
  List& bucket = buckets_[level][index];
  clear_occupied(level, index);
  head_of(moving_)->next = head_of(bucket)->next;
  head_of(moving_)->previous = head_of(bucket)->previous;
  head_of(moving_)->next->previous = head_of(moving_)->previous->next = head_of(moving_);
  clear(bucket);
}

void TimerWheel::move_some() noexcept {
  for (int i = 0; i < kMovedAtATime && head_of(moving_)->next != head_of(moving_); ++i) {
    Timer& timer = *head_of(moving_)->next;
    unlink(timer);
    if (tick_of(timer.due) == tick_) {
      // Due at the very tick on which the wheel stands; file() would put it one later.
      timer.level = 0;
      timer.index = static_cast<std::uint8_t>(tick_ & (kBuckets - 1));
      link(buckets_[0][timer.index], timer);
      set_occupied(0, timer.index);
    } else {
      file(timer);
    }
  }
}

Timer* TimerWheel::take_bucket(std::uint64_t tick) noexcept {
  const auto index = static_cast<unsigned>(tick) & (kBuckets - 1);
  List& bucket = buckets_[0][index];
  clear_occupied(0, index);
  Timer* first = head_of(bucket)->next;
  for (Timer* timer = first; timer != head_of(bucket);) {
    Timer* next = timer->next;
    timer->next = nullptr;
    timer->previous = next != head_of(bucket) ? next : nullptr;
    --count_;
    timer = next;
  }
  clear(bucket);
  return sorted(first);
}

}  // namespace bulkhead::core
