// Checks. BULKHEAD_CHECK is always on: API preconditions and transitions of state; a failure is a
// broken invariant of the runtime, so it reports and aborts. BULKHEAD_ASSERT is for debug builds.
#pragma once

namespace bulkhead::base {

[[noreturn, gnu::cold]] void fail(const char* condition, const char* why, const char* file,
                                  int line);

}  // namespace bulkhead::base

#define BULKHEAD_CHECK(condition, why)                             \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::bulkhead::base::fail(#condition, why, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define BULKHEAD_ASSERT(condition, why) static_cast<void>(0)
#else
#define BULKHEAD_ASSERT(condition, why) BULKHEAD_CHECK(condition, why)
#endif
