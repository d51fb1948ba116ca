#include "core/slab.hpp"

#include <new>

#include "base/check.hpp"
#include "machine/pages.hpp"

namespace bulkhead::core {

namespace {
constexpr std::size_t kRangeBytes = (kMaxSlots * sizeof(Slot) + machine::kHugePageBytes - 1) /
                                    machine::kHugePageBytes * machine::kHugePageBytes;
}

Slot* Slab::base_ = nullptr;
RealSync::atomic<std::uint32_t> Slab::used_{0};

Slab& Slab::process() {
  static Slab* slab = [] {
    auto* made = new Slab;  // never destroyed: pids outlive main
    base_ = static_cast<Slot*>(machine::reserve_aligned(kRangeBytes, machine::kHugePageBytes));
    return made;
  }();
  return *slab;
}

Slot* Slab::take(std::size_t wanted) noexcept {
  sync::Guard guard(lock_);
  Slot* chain = nullptr;
  for (; wanted > 0; --wanted) {
    Slot* slot = free_;
    if (slot != nullptr) {
      free_ = slot->next_free;
      slot->home.store(kNoCore, std::memory_order_release);
    } else {
      slot = take_fresh();
      if (slot == nullptr) break;
    }
    slot->next_free = chain;
    chain = slot;
  }
  return chain;
}

Slot* Slab::take_unused() noexcept {
  sync::Guard guard(lock_);
  return take_fresh();
}

Slot* Slab::take_fresh() noexcept {
  const std::uint32_t index = used_.load(std::memory_order_relaxed);
  if (index == kMaxSlots) return nullptr;
  if (index == committed_ && !commit_more()) return nullptr;
  Slot* slot = base_ + index;  // memory fresh from the kernel is a vacant slot
  slot->generation.store(1, std::memory_order_relaxed);
  slot->home.store(kNoCore, std::memory_order_relaxed);
  BULKHEAD_CHECK(slot->inbox.claim_right(), "a fresh slot is quiet");
  used_.store(index + 1, std::memory_order_release);
  return slot;
}

void Slab::give(Slot* chain) noexcept {
  sync::Guard guard(lock_);
  while (chain != nullptr) {
    Slot* next = chain->next_free;
    chain->next_free = free_;
    free_ = chain;
    chain = next;
  }
}

bool Slab::commit_more() noexcept {
  constexpr std::size_t kStep = machine::kHugePageBytes;
  // Whole slots below the end of what is committed.
  const std::size_t bytes = (committed_ * sizeof(Slot) + kStep - 1) / kStep * kStep;
  if (bytes == kRangeBytes) return false;
  try {
    auto* begin = reinterpret_cast<std::byte*>(base_) + bytes;
    machine::commit(begin, kStep);
    machine::prefer_huge_pages(begin, kStep);
  } catch (const std::bad_alloc&) {
    return false;
  }
  committed_ = (bytes + kStep) / sizeof(Slot);
  return true;
}

}  // namespace bulkhead::core
