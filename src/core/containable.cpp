#include "core/containable.hpp"

#include "core/compartment.hpp"
#include "machine/c_library.hpp"
#include "machine/held_locks.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

void learn_what_can_be_contained() noexcept {
  static const bool learnt = [] {
    machine::learn_c_library();
    machine::begin_to_count_locks(
        [](const void* address) { return memory::owner_of(address) != nullptr; });
    return true;
  }();
  static_cast<void>(learnt);
}

const char* why_not_contained(const Slot& actor, std::span<void* const> frames) noexcept {
  if (compartment_of(actor)->locks.count > 0) {
    return "it holds a lock of the process, such as a std::mutex, for which others would wait for "
           "ever";
  }
  if (machine::may_hold_c_library_lock(frames)) {
    return "it is within a function of the C library, which may hold a lock";
  }
  return nullptr;
}

}  // namespace bulkhead::core
