// A seat: what says whose data a thread may touch, and by which another thread can take them away
// while it runs code that is not ours.
//
// The holder is *inside* while it runs code of the runtime, and outside while it runs the user's.
// It says so by plain stores, and looks, each time it comes inside, at what it holds. A taker pulls
// that away, makes sure that the holder's processor knows (a heavy fence), and then looks whether
// the holder is inside. If it is outside, then it will find nothing when it comes in: the data are
// the taker's. If it is inside, it may have looked before: the taker puts it back.
//
// | held | inside | meaning                                | transition            | moved by |
// |------|--------|----------------------------------------|-----------------------|----------|
// | yes  | yes    | the holder works on what it holds      | -> outside  (leave)   | holder   |
// | yes  | no     | the holder runs the user's code        | -> inside   (enter)   | holder   |
// |      |        |                                        | -> no, no   (take)    | taker    |
// | no   | no     | taken; or the taker is about to see    | -> no, yes  (enter)   | holder   |
// |      |        |                                        | -> yes, no  (put back)| taker    |
// | no   | yes    | the holder has come in and found that  | -> yes, yes (put back)| taker    |
//
// Rules
//  E1  Who comes inside and finds nothing waits for the taker's decision before it believes it (all
//      takers hold a lock meanwhile, which it takes), and looks again.
//  E2  What is held is touched by the holder inside, or by a taker between take and put_back; never
//      by both.
//  E3  enter's store comes before its look, and take's pull before its look: of two that happen at
//      once, one sees the other. The holder pays for no fence: light_fence binds the compiler only,
//      heavy_fence has the kernel put a barrier into every running thread of the process.
//  E4  A taker pulls before it looks, so a holder that is inside may find the word empty for a
//      moment. It looks at it when it comes in, and never while it is inside.
//  E5  A holder rises only when nobody takes from it any more, or what it held is taken: between a
//      taker's pull and its put_back, rise would be undone.
//  E6  A signal handler cannot wait for a lock. It comes inside, and looks at the word, and at
//      where a taker notes that it keeps what was held, until one of them tells; or it gives up.
// Checked by seat_model.cpp: nobody works on it at the same time as another, nothing is lost.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

enum class Taken : std::uint8_t { kTaken, kInside, kNothing };

template <class Sync, class T>
class Seat {
 public:
  /// Holder: begins to hold, inside.
  void sit(T* what) noexcept {
    mine_ = what;
    inside_.store(1, std::memory_order_relaxed);
    held_.store(what, std::memory_order_release);
  }
  void rise() noexcept {
    mine_ = nullptr;
    held_.store(nullptr, std::memory_order_relaxed);
  }

  /// Holder: comes inside. Null when it holds nothing, or when that is being taken (E1). `how` is
  /// for inside() to tell, and not 0.
  [[nodiscard]] T* enter(std::uint8_t how = 1) noexcept {
    inside_.store(how, std::memory_order_relaxed);
    Sync::light_fence();                           // [pair seat.take]
    return held_.load(std::memory_order_acquire);  // [pair seat.put_back]
  }
  /// Holder: back to where it was: outside; or still inside, when an outer call is.
  void leave(std::uint8_t was = 0) noexcept {
    inside_.store(was, std::memory_order_release);  // [pair seat.leave]
  }
  [[nodiscard]] std::uint8_t inside() const noexcept {
    return inside_.load(std::memory_order_relaxed);
  }
  /// For who only wants to know whether that is 0. Holder.
  [[nodiscard]] const typename Sync::template atomic<std::uint8_t>& inside_word() const noexcept {
    return inside_;
  }
  /// Holder, once inside: what it holds. Not read from the word that takers pull at (E4).
  [[nodiscard]] T* mine() const noexcept { return mine_; }
  /// Holder, when enter has found nothing and no taker is at it: what it holds after all.
  [[nodiscard]] T* look_again() const noexcept { return held_.load(std::memory_order_acquire); }

  /// Holder, in a signal handler (E6): comes inside, which ends with leave. Null when what it held
  /// is gone, so that `gone()` is true, or when a taker has not decided before `nap()` was false.
  template <class Gone, class Nap>
  [[nodiscard]] T* enter_without_lock(std::uint8_t how, Gone gone, Nap nap) noexcept {
    T* held = enter(how);
    while (held == nullptr && !gone() && nap()) held = look_again();
    return held;
  }

  /// A taker, one at a time. On kTaken what was held is the taker's.
  [[nodiscard]] Taken take() noexcept {
    T* held = held_.load(std::memory_order_relaxed);
    if (held == nullptr) return Taken::kNothing;
    held_.store(nullptr, std::memory_order_relaxed);
    Sync::heavy_fence();                                                     // [pair seat.take]
    if (inside_.load(std::memory_order_acquire) == 0) return Taken::kTaken;  // [pair seat.leave]
    put_back(held);
    return Taken::kInside;
  }
  void put_back(T* held) noexcept {
    held_.store(held, std::memory_order_release);  // [pair seat.put_back]
  }

 private:
  typename Sync::template atomic<T*> held_{nullptr};
  typename Sync::template atomic<std::uint8_t> inside_{0};
  T* mine_ = nullptr;  // the holder's own
};

}  // namespace bulkhead::sync
