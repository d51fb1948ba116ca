// Guests: threads outside that wait for a reply. A guest has a slot of its own, for the wait word
// in it, so that who replies need not know who waits. Guests are kept and used again, and never
// freed: a late reply may still look at the slot.
#pragma once

#include <cstdint>

#include "core/slot.hpp"
#include "machine/clock.hpp"
#include "sync/parker.hpp"

namespace bulkhead::core {

class Guest {
 public:
  /// Takes a guest for the calling thread. Throws std::bad_alloc.
  [[nodiscard]] static Guest& take();
  static void give(Guest& guest) noexcept;
  /// The guest that has this slot.
  [[nodiscard]] static Guest& of(Slot& slot) noexcept { return *static_cast<Guest*>(slot.state); }

  [[nodiscard]] Slot& slot() noexcept { return *slot_; }
  [[nodiscard]] std::uint64_t begin_wait() noexcept { return slot_->wait.begin(); }
  /// Blocks the thread until somebody who has claimed the wait wakes it, or `timeout` has passed
  /// and the wait has been retired.
  void park(std::uint64_t epoch, machine::Nanoseconds timeout) noexcept;

 private:
  friend void unpark_guest(Slot& slot) noexcept;

  Slot* slot_ = nullptr;
  Guest* next_ = nullptr;
  sync::Parker<RealSync> parker_;
};

/// Any thread: wakes a guest whose epoch the caller has claimed.
void unpark_guest(Slot& slot) noexcept;

}  // namespace bulkhead::core
