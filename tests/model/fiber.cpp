#include "fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

// Sanitizers want to be told of every change of stacks. Their entry points are there only in builds
// that use them.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom,
                                                   std::size_t* size);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t size);
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t size);
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace bulkhead::model {

namespace {

constexpr std::size_t kGuardBytes = 4096;

// Set by who changes away, read by who arrives.
Fiber* departed = nullptr;

}  // namespace

Fiber::Fiber() noexcept : started_(true) {}

Fiber::Fiber(std::size_t bytes) : size_(bytes) {
  void* memory = mmap(nullptr, kGuardBytes + bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(memory);
  bottom_ = mapping_ + kGuardBytes;
  mprotect(mapping_, kGuardBytes, PROT_NONE);
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(bottom_, size_);
  if (__tsan_destroy_fiber && sanitizer_ != nullptr) __tsan_destroy_fiber(sanitizer_);
  munmap(mapping_, kGuardBytes + size_);
}

void Fiber::change(Fiber& from, Fiber& to) {
  void* thread_exceptions = abi::__cxa_get_globals();
  std::memcpy(from.exceptions_, thread_exceptions, sizeof from.exceptions_);
  std::memcpy(thread_exceptions, to.exceptions_, sizeof to.exceptions_);
  departed = &from;
  void* fake_stack = nullptr;
  if (__sanitizer_start_switch_fiber) {
    __sanitizer_start_switch_fiber(&fake_stack, to.bottom_, to.size_);
    from.sanitizer_ = fake_stack;
  } else if (__tsan_switch_to_fiber) {
    if (from.sanitizer_ == nullptr) from.sanitizer_ = __tsan_get_current_fiber();
    if (to.sanitizer_ == nullptr) to.sanitizer_ = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to.sanitizer_, 0);
  }
  if (to.started_) {
    machine::bulkhead_switch(&from.saved_, to.saved_);
  } else {
    to.started_ = true;
    machine::bulkhead_enter(&from.saved_, to.bottom_ + to.size_, &Fiber::enter, &to);
  }
  from.arrived();
}

void Fiber::arrived() {
  if (!__sanitizer_finish_switch_fiber) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(sanitizer_, &bottom, &size);
  if (departed->mapping_ == nullptr) {
    departed->bottom_ = static_cast<std::byte*>(const_cast<void*>(bottom));
    departed->size_ = size;
  }
}

void Fiber::enter(void* self) {
  Fiber& fiber = *static_cast<Fiber*>(self);
  fiber.arrived();
  for (;;) fiber.task_(fiber.argument_);
}

void Fiber::keep_for_good() noexcept {
  if (__lsan_register_root_region) __lsan_register_root_region(bottom_, size_);
}

LeaksAllowed::LeaksAllowed() noexcept {
  if (__lsan_disable) __lsan_disable();
}

LeaksAllowed::~LeaksAllowed() {
  if (__lsan_enable) __lsan_enable();
}

}  // namespace bulkhead::model
