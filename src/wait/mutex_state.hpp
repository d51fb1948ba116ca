// The state of a mutex: a word that says who holds it, and the line of those who wait.
//
// | word         | meaning                        | transition          | moved by               |
// |--------------|--------------------------------|---------------------|------------------------|
// | 0            | free                           | -> holder           | who takes it           |
// | holder       | held, nobody waits             | -> 0                | the holder             |
// |              |                                | -> holder, Line     | who waits, under lock  |
// | holder, Line | held, and somebody waits, did, | -> the next[, Line] | the holder, under lock |
// |              | or is about to                 | -> 0                | the holder, under lock |
//
// Rules
//  M1  One at a time holds it, and sees what those before have done.
//  M2  While somebody waits whose wait is open, the word is not 0: who lets go of it hands it to
//      the first in the line, and nobody overtakes.
//  M3  The Line bit is set under the lock, by who then joins the line. So a holder that finds it
//      looks at the line under the lock; and when there is nobody left, the line is empty.
// Checked by mutex_state_model.cpp.
#pragma once

#include <cstdint>

#include "sync/lock.hpp"
#include "wait/line.hpp"

namespace bulkhead::wait {

/// Who holds a mutex: an address with the lowest two bits clear; not 0.
using Holder = std::uint64_t;

enum class Entered : std::uint8_t {
  kTaken,
  kWaits,     // the node is in the line
  kHeldByMe,  // already, by the caller
};

template <class Sync, class Actors, int kSpins = 100>
class MutexState {
 public:
  using Node = wait::Node<Sync, Actors>;

  [[nodiscard]] bool try_take(Holder me) noexcept {
    std::uint64_t seen = 0;
    return word_.compare_exchange_strong(seen, me, std::memory_order_acquire,  // [pair mutex.word]
                                         std::memory_order_relaxed);
  }

  /// Takes it, or joins the line; then the node has to leave.
  [[nodiscard]] Entered enter(Holder me, Node& node) noexcept {
    lock_.lock();
    const Entered entered = take_or_mark(me);
    if (entered == Entered::kWaits) {
      node.what = me;
      line_.append(node);
    }
    lock_.unlock();
    return entered;
  }

  /// After the wait: true when the mutex is the caller's now.
  [[nodiscard]] bool leave(Node& node) noexcept {
    lock_.lock();
    line_.remove(node);
    lock_.unlock();
    return node.granted.read();
  }

  void release(Holder me) noexcept {
    std::uint64_t seen = me;
    if (!word_.compare_exchange_strong(seen, 0, std::memory_order_release,  // [pair mutex.word]
                                       std::memory_order_relaxed)) [[unlikely]] {
      hand_over();
    }
  }

  /// Who holds it at this moment, 0: nobody.
  [[nodiscard]] Holder holder() const noexcept {
    return word_.load(std::memory_order_relaxed) & ~kLine;
  }

  /// Before its end: who has let go of it last may still be at the lock.
  void settle() noexcept {
    lock_.lock();
    lock_.unlock();
  }

 protected:  // for what breaks it, in its model
  static constexpr std::uint64_t kLine = 1;

  [[nodiscard]] Entered take_or_mark(Holder me) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & ~kLine) == me) return Entered::kHeldByMe;
      if ((seen & kLine) != 0) return Entered::kWaits;
      const std::uint64_t wanted = seen == 0 ? me : seen | kLine;
      if (word_.compare_exchange_strong(seen, wanted,
                                        std::memory_order_acquire,  // [pair mutex.word]
                                        std::memory_order_relaxed)) {
        return wanted == me ? Entered::kTaken : Entered::kWaits;
      }
    }
  }

  [[gnu::noinline]] void hand_over() noexcept {
    Woken<Sync, Actors> woken;
    lock_.lock();
    bool granted = false;
    while (!granted && !line_.empty()) granted = woken.grant_first(line_);
    std::uint64_t next = 0;
    if (granted) next = woken.first()->what | (line_.empty() ? 0 : kLine);
    word_.store(next, std::memory_order_release);  // [pair mutex.word]
    lock_.unlock();
    woken.wake();
  }

  typename Sync::template atomic<std::uint64_t> word_{0};
  sync::Lock<Sync, kSpins> lock_;
  Line<Sync, Actors> line_;
};

}  // namespace bulkhead::wait
