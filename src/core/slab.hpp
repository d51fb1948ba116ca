// The slab: all slots of the process, in one reserved range of addresses, committed as needed,
// never moved, never unmapped. So a pid can be looked up by any thread at any time without a lock.
//
// Slots are taken in batches by domains, which keep them until they stop (domain.hpp, D5). The slab
// holds fresh ones, and those of stopped domains, into which nobody pushes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/slot.hpp"
#include "machine/fork.hpp"

namespace bulkhead::core {

inline constexpr std::size_t kMaxSlots = (std::size_t{1} << 24) - 1;

class Slab {
 public:
  static Slab& process();

  /// The slot that a pid names, whatever its generation; null when no such slot was ever used.
  /// Any thread.
  [[nodiscard]] static Slot* find(std::uint32_t index) noexcept {
    return index < used_.load(std::memory_order_relaxed) ? base_ + index : nullptr;
  }
  /// The slot of a pid that is known to have been made here. Any thread.
  [[nodiscard]] static Slot& at(std::uint32_t index) noexcept { return base_[index]; }
  [[nodiscard]] static std::uint32_t index_of(const Slot& slot) noexcept {
    return static_cast<std::uint32_t>(&slot - base_);
  }
  /// Slots below this index may be in use. Any thread.
  [[nodiscard]] static std::uint32_t used() noexcept {
    return used_.load(std::memory_order_relaxed);
  }

  /// Takes up to `wanted` vacant slots without a home, chained by next_free; the caller holds the
  /// right of notification of each. Null when the address range is used up or there is no memory.
  [[nodiscard]] Slot* take(std::size_t wanted) noexcept;
  /// Takes a slot that was never anybody's, so that no pid can reach it; the same otherwise.
  [[nodiscard]] Slot* take_unused() noexcept;
  /// Gives a chain of vacant slots back, with the right of notification of each, when nobody can be
  /// pushing into them any more. They keep their home, by which a sender is told that the runtime
  /// of their last actor does not run.
  void give(Slot* chain) noexcept;

 private:
  Slab() = default;
  bool commit_more() noexcept;

  static Slot* base_;
  static RealSync::atomic<std::uint32_t> used_;

  machine::ForkMutex lock_{machine::Nesting::kInner};
  Slot* take_fresh() noexcept;

  Slot* free_ = nullptr;
  std::size_t committed_ = 0;
};

/// Is that slot, if it is one, still this actor's? Any thread; it may have ended when this returns.
[[nodiscard]] inline bool lives(const Slot* slot, Pid pid) noexcept {
  return slot != nullptr && slot->generation.load(std::memory_order_relaxed) == pid.generation();
}
[[nodiscard]] inline bool lives(Pid pid) noexcept { return lives(Slab::find(pid.index()), pid); }

}  // namespace bulkhead::core
