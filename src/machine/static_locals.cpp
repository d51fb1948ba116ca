#include "machine/static_locals.hpp"

#include <cxxabi.h>
#include <sched.h>

#include "base/sanitizers.hpp"
#include "machine/interposed.hpp"

namespace bulkhead::machine {

namespace {

const StaticLocalWatcher* the_watcher = nullptr;

using End = void(abi::__guard*);

// Where there is no other one, as in a program without shared libraries. The first byte of a guard
// says that its variable is initialised; the second one, that somebody is at it.
unsigned char* bytes_of(abi::__guard* guard) noexcept {
  return reinterpret_cast<unsigned char*>(guard);
}
void abort_here(abi::__guard* guard) { __atomic_store_n(&bytes_of(guard)[1], 0, __ATOMIC_RELEASE); }

End* own_abort() noexcept {
  static constinit Next<End> next("__cxa_guard_abort");
  End* own = next.get();
  return own != nullptr ? own : &abort_here;
}

}  // namespace

void watch_static_locals(const StaticLocalWatcher& watcher) noexcept { the_watcher = &watcher; }

void abandon_static_local(void* guard) noexcept { own_abort()(static_cast<abi::__guard*>(guard)); }

}  // namespace bulkhead::machine

// ThreadSanitizer has its own, by which it learns who has initialised what.
#if !defined(BULKHEAD_TSAN)

namespace bulkhead::machine {

namespace {

using Acquire = int(abi::__guard*);

int acquire_here(abi::__guard* guard) {
  unsigned char* bytes = bytes_of(guard);
  while (__atomic_load_n(&bytes[0], __ATOMIC_ACQUIRE) == 0) {
    if (__atomic_exchange_n(&bytes[1], 1, __ATOMIC_ACQUIRE) == 0) {
      if (__atomic_load_n(&bytes[0], __ATOMIC_RELAXED) == 0) return 1;
      __atomic_store_n(&bytes[1], 0, __ATOMIC_RELEASE);
    } else {
      sched_yield();
    }
  }
  return 0;
}
void release_here(abi::__guard* guard) {
  __atomic_store_n(&bytes_of(guard)[0], 1, __ATOMIC_RELEASE);
  abort_here(guard);
}

Acquire* own_acquire() noexcept {
  static constinit Next<Acquire> next("__cxa_guard_acquire");
  Acquire* own = next.get();
  return own != nullptr ? own : &acquire_here;
}
End* own_release() noexcept {
  static constinit Next<End> next("__cxa_guard_release");
  End* own = next.get();
  return own != nullptr ? own : &release_here;
}

}  // namespace

}  // namespace bulkhead::machine

using namespace bulkhead::machine;  // NOLINT: for the definitions below

namespace __cxxabiv1 {

extern "C" {

[[gnu::weak]] int __cxa_guard_acquire(__guard* guard) {
  const int mine = own_acquire()(guard);
  if (mine == 0 || the_watcher == nullptr) return mine;
  try {
    the_watcher->begins(guard);
  } catch (...) {
    own_abort()(guard);
    throw;
  }
  return mine;
}

[[gnu::weak]] void __cxa_guard_release(__guard* guard) noexcept {
  if (the_watcher != nullptr) the_watcher->ended(guard);
  own_release()(guard);
}

[[gnu::weak]] void __cxa_guard_abort(__guard* guard) noexcept {
  if (the_watcher != nullptr) the_watcher->ended(guard);
  own_abort()(guard);
}

}  // extern "C"

}  // namespace __cxxabiv1

#endif
