#include "machine/shares.hpp"

#include "base/sanitizers.hpp"

#ifdef BULKHEAD_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace bulkhead::machine {

void gives_up_share([[maybe_unused]] void* thing) noexcept {
#ifdef BULKHEAD_TSAN
  __tsan_release(thing);
#endif
}

void may_destroy([[maybe_unused]] void* thing) noexcept {
#ifdef BULKHEAD_TSAN
  __tsan_acquire(thing);
#endif
}

}  // namespace bulkhead::machine
