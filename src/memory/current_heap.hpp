// Which heap the calling thread's code allocates from: that of the isolated actor whose turn it is,
// while its own code runs; else none, which stands for the process's.
#pragma once

#include <cstdint>

#include "memory/heap.hpp"

namespace bulkhead::memory {

struct CurrentHeap {
  /// Of the actor whose turn it is; null: it is not isolated, or there is none.
  Heap* heap = nullptr;
  /// While a message crosses: the heap that it comes from, which is the caller's too.
  Heap* other = nullptr;
  /// Whose code is at work: the user's, 0 or kCrossing; or the runtime's, whose memory is the
  /// process's. Null unless an isolated actor has its turn.
  const sync::SharedByte* inside = nullptr;
  static constexpr std::uint8_t kCrossing = 4;

  [[nodiscard]] Heap* of_caller() const noexcept {
    if (heap == nullptr) [[likely]]
      return nullptr;
    return is_users_code() ? heap : nullptr;
  }
  /// Does an isolated actor's own code run, or a message cross its wall?
  [[nodiscard]] bool is_isolated_code() const noexcept {
    return inside != nullptr && is_users_code();
  }

 private:
  [[nodiscard]] bool is_users_code() const noexcept {
    const std::uint8_t code = inside->load(std::memory_order_relaxed);
    return code == 0 || code == kCrossing;
  }
};

extern constinit thread_local CurrentHeap current_heap [[gnu::tls_model("initial-exec")]];

/// Do the process's operators new and delete know of heaps in this build? Not under sanitizers,
/// whose operators stay in place.
extern const bool kHeapsAreUsed;

}  // namespace bulkhead::memory
