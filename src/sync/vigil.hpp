// A vigil: one who watches several, as long as one of them is awake, and sleeps when none is.
//
// Rules
//  V1  Who wakes has counted itself before it looks whether the watcher sleeps; the watcher has
//      announced its sleep before it counts. All of it is sequentially consistent, so one of the
//      two sees the other.
//  V2  Going to sleep tells nobody: the watcher finds out when it next looks.
//  V3  The watcher sleeps in a bed that keeps what it is told: a `wake` ends the `wait` that runs,
//      or else the next one, perhaps after a while. Who wakes the watcher need not wait for it.
// Checked by vigil_model.cpp: while somebody is awake the watcher does not sleep for good.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

/// Bed has `void wake() noexcept`, for any thread, and `void wait() noexcept`, for the watcher.
template <class Sync, class Bed>
class Vigil {
 public:
  /// One of the watched.
  void wakes(Bed& bed) noexcept {
    awake_.fetch_add(1, std::memory_order_seq_cst);
    if (watcher_.load(std::memory_order_seq_cst) == kAsleep) rouse(bed);
  }
  void sleeps() noexcept { awake_.fetch_sub(1, std::memory_order_seq_cst); }

  /// The watcher: sleeps while nobody is awake, until somebody wakes. True when it has slept.
  bool sleep_if_all_do(Bed& bed) noexcept {
    watcher_.store(kAsleep, std::memory_order_seq_cst);
    const bool sleeps = awake_.load(std::memory_order_seq_cst) == 0;
    if (sleeps) {
      while (watcher_.load(std::memory_order_seq_cst) == kAsleep) bed.wait();
    }
    watcher_.store(kAwake, std::memory_order_seq_cst);
    return sleeps;
  }

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kAsleep = 1;

  void rouse(Bed& bed) noexcept {
    if (watcher_.exchange(kAwake, std::memory_order_seq_cst) == kAsleep) bed.wake();
  }

  typename Sync::template atomic<std::uint32_t> awake_{0};
  typename Sync::template atomic<std::uint32_t> watcher_{kAwake};
};

}  // namespace bulkhead::sync
