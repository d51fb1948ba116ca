#include "bulkhead/compartment.hpp"

#include <stdexcept>
#include <string>

#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "memory/current_heap.hpp"
#include "memory/heap.hpp"

namespace bulkhead {

std::size_t heaps_live() noexcept { return memory::heap_stats().live; }
std::size_t heap_bytes_used() noexcept { return memory::heap_stats().bytes_used; }
std::size_t heap_bytes_committed() noexcept { return memory::heap_stats().bytes_committed; }

bool has_heaps() noexcept { return memory::kHeapsAreUsed; }

namespace this_actor {

namespace {

const memory::Heap* own_heap(const char* function) {
  const core::BrieflyInside inside;
  const core::Core* core = inside.core();
  const core::Slot* slot = core != nullptr ? core->running : nullptr;
  if (slot == nullptr || !slot->isolated()) {
    throw std::logic_error("bulkhead: this_actor::" + std::string(function) +
                           " was called outside any isolated actor");
  }
  return core::compartment_of(*slot)->heap;
}

}  // namespace

std::size_t heap_used() {
  const memory::Heap* heap = own_heap("heap_used");
  return heap != nullptr ? heap->live_bytes() : 0;
}
std::size_t heap_limit() {
  const memory::Heap* heap = own_heap("heap_limit");
  return heap != nullptr ? heap->limit() : 0;
}

}  // namespace this_actor
}  // namespace bulkhead
