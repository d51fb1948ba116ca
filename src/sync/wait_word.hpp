// A wait is an epoch. Whoever wants to wake a waiter claims the epoch of that very wait with one
// compare-and-swap; at most one claim succeeds, and who made it delivers exactly one resume.
//
// The word is (epoch << 1 | armed).
//
// | state          | meaning              | transition              | moved by            |
// |----------------|----------------------|-------------------------|---------------------|
// | (e, not armed) | not waiting          | -> (e + 1, armed) begin | the waiter          |
// | (e, armed)     | waiting, or about to | -> (e, not armed) claim | anybody who knows e |
//
// Rules
//  W1  Only the waiter begins a wait, and only when the one before has been resumed or retired.
//  W2  A claim of any other epoch fails, for ever: epochs of a word only grow, also over the
//      incarnations of the slot that holds it. The epoch reaches a claimer by a way that orders (a
//      message, a lock, a queue): a claim says nothing about what was written before begin().
//  W3  A successful claimer may write into the waiter's frame (the waiter does not run until it is
//      resumed), and then resumes it, once. A waiter that retires its own wait has claimed it.
// Checked by wait_word_model.cpp: one claim lands, none on a later wait, no lost wake-up.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class WaitWord {
 public:
  /// The waiter: opens a wait and returns its epoch, to be given to those who may wake it.
  [[nodiscard]] std::uint64_t begin() noexcept {
    std::uint64_t epoch = (word_.load(std::memory_order_relaxed) >> 1) + 1;
    word_.store(epoch << 1 | kArmed, std::memory_order_release);  // [pair wait.claim]
    return epoch;
  }

  /// Anybody: true for exactly one caller per epoch.
  [[nodiscard]] bool claim(std::uint64_t epoch) noexcept {
    std::uint64_t expected = epoch << 1 | kArmed;
    return word_.compare_exchange_strong(expected, epoch << 1,
                                         std::memory_order_acq_rel,  // [pair wait.claim]
                                         std::memory_order_relaxed);
  }

  /// The same, by who knows only the lowest `bits` of an epoch, and does not hesitate so long that
  /// they come again.
  [[nodiscard]] bool claim_lowest(std::uint64_t lowest, unsigned bits) noexcept {
    const std::uint64_t epoch = word_.load(std::memory_order_relaxed) >> 1;
    return (epoch & ((std::uint64_t{1} << bits) - 1)) == lowest && claim(epoch);
  }

  /// Anybody: claims whatever wait is open now. For stops, which end all waits.
  [[nodiscard]] bool claim_any() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    return (word & kArmed) != 0 && claim(word >> 1);
  }

  /// Anybody: does it still wait, in that wait? It may be over the next moment.
  [[nodiscard]] bool waits(std::uint64_t epoch) const noexcept {
    return word_.load(std::memory_order_relaxed) == (epoch << 1 | kArmed);
  }

  [[nodiscard]] bool armed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kArmed) != 0;
  }

 private:
  static constexpr std::uint64_t kArmed = 1;
  typename Sync::template atomic<std::uint64_t> word_{0};
};

}  // namespace bulkhead::sync
