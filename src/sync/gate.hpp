// A gate that outside threads pass while they touch a running domain, and that a stop closes.
//
// The word is (threads inside << 1 | closed).
//
// Rules
//  G1  enter() true: the domain does not stop until leave().
//  G2  close() returns when nobody is inside; from then on enter() is false until open().
//  G3  visit() comes in also when the gate is closed; for who holds something that keeps the domain
//      from going away until it has come in. Another close() waits for it.
//  G4  Or for who looks, when it has come in, whether what the second close() comes after has
//      happened, and goes again if it has. If it comes in before that close(), it is waited for; if
//      not, it sees what was before.
// Checked by gate_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Gate {
 public:
  // Looks before it adds: those who knock at a closed gate do not keep close() waiting.
  [[nodiscard]] bool enter() noexcept {
    if (closed()) return false;
    if ((word_.fetch_add(kOne, std::memory_order_acquire) & kClosed) == 0) return true;
    word_.fetch_sub(kOne, std::memory_order_release);
    return false;
  }

  void visit() noexcept { word_.fetch_add(kOne, std::memory_order_acquire); }

  void leave() noexcept { word_.fetch_sub(kOne, std::memory_order_release); }  // [pair gate.close]

  void close() noexcept {
    word_.fetch_or(kClosed, std::memory_order_acq_rel);
    while (word_.load(std::memory_order_acquire) != kClosed)
      Sync::spin_hint();  // [pair gate.close]
  }

  void open() noexcept { word_.fetch_and(~kClosed, std::memory_order_release); }

  [[nodiscard]] bool closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kClosed) != 0;
  }

 private:
  static constexpr std::uint64_t kClosed = 1;
  static constexpr std::uint64_t kOne = 2;
  typename Sync::template atomic<std::uint64_t> word_{kClosed};
};

}  // namespace bulkhead::sync
