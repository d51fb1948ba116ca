// The edition of what is kept under a lock and copied by many: a copy is as good as the original
// while that has the edition of which the copy is.
//
// Rules
//  E1  What makes copies wrong is done under the lock, and so is the change of the edition, before
//      the lock is let go.
//  E2  Who makes a copy reads the edition under the same hold of the lock as what it copies.
// So who has learnt of a change, by whatever way, finds all copies from before it out of date.
// Checked by edition_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Edition {
 public:
  /// Under the lock.
  void change() noexcept {
    number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// To compare a copy's edition with; under the lock, to make a copy.
  [[nodiscard]] std::uint64_t now() const noexcept {
    // Relaxed: what is used is the copy, and who has learnt of a change reads no older number.
    return number_.load(std::memory_order_relaxed);
  }

 private:
  typename Sync::template atomic<std::uint64_t> number_{0};
};

}  // namespace bulkhead::sync
