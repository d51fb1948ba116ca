// The process's operator new and delete, in all their forms: memory of malloc, or of the heap of
// the isolated actor whose code runs; and a tick.
//
// They are weak: a program that defines its own keeps them, and has no ticks. It may define but the
// plain ones, so all others lead to those, as the standard library's do. They come into a program
// because its calls of operator new are resolved by this library before the standard one.
// Out of line and in one place, since a tick may go on on another thread: nothing after it may use
// an address that was computed before.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/sanitizers.hpp"
#include "memory/current_heap.hpp"
#include "memory/heap.hpp"
#include "memory/ticks.hpp"

#if defined(BULKHEAD_ASAN) || defined(BULKHEAD_TSAN)

namespace bulkhead::memory {
const bool kAllocationsTick = false;
const bool kHeapsAreUsed = false;
}  // namespace bulkhead::memory

#if defined(BULKHEAD_ASAN)

extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                              void (*freed)(const volatile void*));
void __lsan_ignore_object(const void* memory);
}

namespace bulkhead::memory {
namespace {

// What an isolated actor has allocated would be discarded with its heap at a trap. Here it stays,
// and is no leak of the program's.
void allocated(const volatile void* memory, std::size_t /*bytes*/) {
  if (current_heap.is_isolated_code()) __lsan_ignore_object(const_cast<const void*>(memory));
}
void freed(const volatile void* /*memory*/) {}

[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(allocated, freed);

}  // namespace
}  // namespace bulkhead::memory

#endif

#else

namespace bulkhead::memory {

const bool kAllocationsTick = true;
const bool kHeapsAreUsed = true;

namespace {

inline void tick(bool may_throw) {
  if (--ticks.left == 0) [[unlikely]]
    ticks.due(may_throw);
}

void* plain(std::size_t bytes) noexcept {
  if (Heap* heap = current_heap.of_caller(); heap != nullptr) [[unlikely]]
    return heap->allocate(bytes);
  return std::malloc(bytes != 0 ? bytes : 1);
}

void* aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (Heap* heap = current_heap.of_caller(); heap != nullptr) [[unlikely]]
    return heap->allocate(bytes, alignment);
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, alignment - 1, &whole)) return nullptr;
  whole &= ~(alignment - 1);
  return std::aligned_alloc(alignment, whole != 0 ? whole : alignment);
}

// Asks the new-handler for memory until it has none to offer. That is the process's: it cannot help
// an actor whose heap is at its limit.
template <class Take>
[[gnu::noinline, gnu::cold]] void* take_or_throw(Take take) {
  if (current_heap.of_caller() != nullptr) throw std::bad_alloc();
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    if (void* memory = take()) return memory;
  }
}

// To the heap that it came from, whoever's that is, or was.
[[gnu::noinline]] void give_back_to_heap(void* memory) noexcept {
  Heap* owner = owner_of(memory);
  if (owner != nullptr && (owner == current_heap.heap || owner == current_heap.other)) {
    owner->release(memory);
  } else {
    release_elsewhere(memory);
  }
}

void give_back(void* memory) noexcept {
  if (is_of_heaps(memory)) [[unlikely]] {
    give_back_to_heap(memory);
  } else {
    std::free(memory);
  }
}

// By the throwing one, which may be the program's. It does not look at the time again, since what
// that may throw cannot leave an operator that throws nothing.
template <class Take>
[[gnu::noinline]] void* null_if_none(Take take) noexcept {
  ++ticks.left;
  try {
    return take();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

}  // namespace bulkhead::memory

using namespace bulkhead::memory;  // NOLINT: for the definitions below

#define BULKHEAD_WEAK [[gnu::weak, gnu::noinline]]

BULKHEAD_WEAK void* operator new(std::size_t bytes) {
  tick(true);
  void* memory = plain(bytes);
  if (memory != nullptr) [[likely]]
    return memory;
  return take_or_throw([bytes] { return plain(bytes); });
}

BULKHEAD_WEAK void* operator new(std::size_t bytes, std::align_val_t alignment) {
  tick(true);
  const auto boundary = static_cast<std::size_t>(alignment);
  void* memory = aligned(bytes, boundary);
  if (memory != nullptr) [[likely]]
    return memory;
  return take_or_throw([=] { return aligned(bytes, boundary); });
}

BULKHEAD_WEAK void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  tick(false);
  return null_if_none([bytes] { return ::operator new(bytes); });
}

BULKHEAD_WEAK void* operator new(std::size_t bytes, std::align_val_t alignment,
                                 const std::nothrow_t& /*tag*/) noexcept {
  tick(false);
  return null_if_none([=] { return ::operator new(bytes, alignment); });
}

BULKHEAD_WEAK void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
BULKHEAD_WEAK void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return ::operator new(bytes, alignment);
}
BULKHEAD_WEAK void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  tick(false);
  return null_if_none([bytes] { return ::operator new[](bytes); });
}
BULKHEAD_WEAK void* operator new[](std::size_t bytes, std::align_val_t alignment,
                                   const std::nothrow_t& /*tag*/) noexcept {
  tick(false);
  return null_if_none([=] { return ::operator new[](bytes, alignment); });
}

BULKHEAD_WEAK void operator delete(void* memory) noexcept { give_back(memory); }
BULKHEAD_WEAK void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
BULKHEAD_WEAK void operator delete[](void* memory) noexcept { ::operator delete(memory); }
BULKHEAD_WEAK void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}
BULKHEAD_WEAK void operator delete(void* memory, std::size_t) noexcept {
  ::operator delete(memory);
}
BULKHEAD_WEAK void operator delete[](void* memory, std::size_t) noexcept {
  ::operator delete[](memory);
}
BULKHEAD_WEAK void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}
BULKHEAD_WEAK void operator delete[](void* memory, std::size_t,
                                     std::align_val_t alignment) noexcept {
  ::operator delete[](memory, alignment);
}
BULKHEAD_WEAK void operator delete(void* memory, const std::nothrow_t&) noexcept {
  ::operator delete(memory);
}
BULKHEAD_WEAK void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  ::operator delete[](memory);
}
BULKHEAD_WEAK void operator delete(void* memory, std::align_val_t alignment,
                                   const std::nothrow_t&) noexcept {
  ::operator delete(memory, alignment);
}
BULKHEAD_WEAK void operator delete[](void* memory, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  ::operator delete[](memory, alignment);
}

#endif
