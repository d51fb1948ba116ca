#include "machine/held_locks.hpp"

#include <pthread.h>
#include <time.h>

#include <cerrno>

#include "base/sanitizers.hpp"
#include "machine/interposed.hpp"

namespace bulkhead::machine {

namespace {

constinit thread_local HeldLocks* tl_held [[gnu::tls_model("initial-exec")]] = nullptr;
// Null as long as nothing counts.
bool (*own_memory)(const void*) = nullptr;

}  // namespace

void count_locks(HeldLocks* held) noexcept { tl_held = held; }
void begin_to_count_locks(bool (*is_own)(const void* address)) noexcept {
  __atomic_store_n(&own_memory, is_own, __ATOMIC_RELAXED);
}

}  // namespace bulkhead::machine

// Sanitizers have functions of their own by these names.
#if !defined(BULKHEAD_ASAN) && !defined(BULKHEAD_TSAN)

namespace bulkhead::machine {

namespace {

// Asked first: then, and since nothing is thrown, what is behind is jumped to without a frame.
[[gnu::always_inline]] inline bool counts() noexcept {
  return __atomic_load_n(&own_memory, __ATOMIC_RELAXED) != nullptr;
}

bool is_shared(const HeldLocks& held, const void* lock) noexcept {
  const auto* at = static_cast<const std::byte*>(lock);
  const bool on_stack = at >= held.stack && at < held.end_of_stack;
  return !on_stack && !__atomic_load_n(&own_memory, __ATOMIC_RELAXED)(lock);
}

int took(const void* lock, int result) noexcept {
  HeldLocks* held = tl_held;
  if (held != nullptr) [[unlikely]] {
    if ((result == 0 || result == EOWNERDEAD) && is_shared(*held, lock)) ++held->count;
  }
  return result;
}

void gives(const void* lock) noexcept {
  HeldLocks* held = tl_held;
  if (held != nullptr) [[unlikely]] {
    if (held->count > 0 && is_shared(*held, lock)) --held->count;
  }
}

}  // namespace

}  // namespace bulkhead::machine

using namespace bulkhead::machine;  // NOLINT: for the definitions below

#define BULKHEAD_TAKES(name, lock_type)                          \
  [[gnu::weak]] int name(lock_type* lock) noexcept {             \
    static constinit Next<int(lock_type*) noexcept> next(#name); \
    if (!counts()) [[likely]]                                    \
      return next.get()(lock);                                   \
    return took(lock, next.get()(lock));                         \
  }
#define BULKHEAD_TAKES_IN_TIME(name, lock_type)                                   \
  [[gnu::weak]] int name(lock_type* lock, const timespec* until) noexcept {       \
    static constinit Next<int(lock_type*, const timespec*) noexcept> next(#name); \
    if (!counts()) [[likely]]                                                     \
      return next.get()(lock, until);                                             \
    return took(lock, next.get()(lock, until));                                   \
  }
#define BULKHEAD_TAKES_BY_CLOCK(name, lock_type)                                             \
  [[gnu::weak]] int name(lock_type* lock, clockid_t clock, const timespec* until) noexcept { \
    static constinit Next<int(lock_type*, clockid_t, const timespec*) noexcept> next(#name); \
    if (!counts()) [[likely]]                                                                \
      return next.get()(lock, clock, until);                                                 \
    return took(lock, next.get()(lock, clock, until));                                       \
  }
#define BULKHEAD_GIVES(name, lock_type)                          \
  [[gnu::weak]] int name(lock_type* lock) noexcept {             \
    static constinit Next<int(lock_type*) noexcept> next(#name); \
    if (counts()) [[unlikely]]                                   \
      gives(lock);                                               \
    return next.get()(lock);                                     \
  }

extern "C" {

BULKHEAD_TAKES(pthread_mutex_lock, pthread_mutex_t)
BULKHEAD_TAKES(pthread_mutex_trylock, pthread_mutex_t)
BULKHEAD_TAKES_IN_TIME(pthread_mutex_timedlock, pthread_mutex_t)
BULKHEAD_GIVES(pthread_mutex_unlock, pthread_mutex_t)
BULKHEAD_TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
BULKHEAD_TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
BULKHEAD_TAKES(pthread_rwlock_tryrdlock, pthread_rwlock_t)
BULKHEAD_TAKES(pthread_rwlock_trywrlock, pthread_rwlock_t)
BULKHEAD_TAKES_IN_TIME(pthread_rwlock_timedrdlock, pthread_rwlock_t)
BULKHEAD_TAKES_IN_TIME(pthread_rwlock_timedwrlock, pthread_rwlock_t)
BULKHEAD_GIVES(pthread_rwlock_unlock, pthread_rwlock_t)

BULKHEAD_TAKES_BY_CLOCK(pthread_mutex_clocklock, pthread_mutex_t)
BULKHEAD_TAKES_BY_CLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t)
BULKHEAD_TAKES_BY_CLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t)

// What one is at, others wait for; if that throws, the next one begins anew.
[[gnu::weak]] int pthread_once(pthread_once_t* once, void (*routine)()) {
  static constinit Next<int(pthread_once_t*, void (*)())> next("pthread_once");
  struct Held {
    const void* once;
    explicit Held(const void* its) noexcept : once(its) { static_cast<void>(took(once, 0)); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { gives(once); }
  } held(once);
  return next.get()(once, routine);
}

}  // extern "C"

#endif
