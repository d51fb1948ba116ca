// A vigil: one who watches several, as long as one of them is awake, and sleeps when none is.
//
// Rules
//  V1  Who wakes has counted itself before it looks whether the watcher sleeps; the watcher has
//      announced its sleep before it counts. All of it is sequentially consistent, so one of the
//      two sees the other.
//  V2  Going to sleep tells nobody: the watcher finds out when it next looks.
// Checked by vigil_model.cpp: while somebody is awake the watcher does not sleep for good.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Vigil {
 public:
  /// One of the watched.
  void wakes() noexcept {
    awake_.fetch_add(1, std::memory_order_seq_cst);
    if (watcher_.load(std::memory_order_seq_cst) == kAsleep) rouse();
  }
  void sleeps() noexcept { awake_.fetch_sub(1, std::memory_order_seq_cst); }

  /// Any thread: ends the watcher's sleep.
  void rouse() noexcept {
    if (watcher_.exchange(kAwake, std::memory_order_seq_cst) == kAsleep) {
      Sync::futex_wake(watcher_, 1);
    }
  }

  /// The watcher: sleeps while nobody is awake, until somebody wakes or it is roused.
  void sleep_if_all_do() noexcept {
    watcher_.store(kAsleep, std::memory_order_seq_cst);
    if (awake_.load(std::memory_order_seq_cst) == 0) {
      while (watcher_.load(std::memory_order_seq_cst) == kAsleep) {
        Sync::futex_wait(watcher_, kAsleep);
      }
    }
    watcher_.store(kAwake, std::memory_order_seq_cst);
  }

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kAsleep = 1;

  typename Sync::template atomic<std::uint32_t> awake_{0};
  typename Sync::template atomic<std::uint32_t> watcher_{kAwake};
};

}  // namespace bulkhead::sync
