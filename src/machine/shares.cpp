#include "machine/shares.hpp"

#if defined(__SANITIZE_THREAD__)
#define BULKHEAD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BULKHEAD_TSAN 1
#endif
#endif
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
