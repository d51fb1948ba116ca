#include "machine/fiber.hpp"

#include <cxxabi.h>

#include "base/sanitizers.hpp"

#ifdef BULKHEAD_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef BULKHEAD_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace bulkhead::machine {

namespace {

// What a sanitizer wants to hear before a switch. `back`: will the running stack be resumed?
enum class Back : bool { kNo, kYes };

inline void announce([[maybe_unused]] Stack* self, [[maybe_unused]] Stack* to,
                     [[maybe_unused]] Back back) {
#ifdef BULKHEAD_ASAN
  __sanitizer_start_switch_fiber(back == Back::kYes ? &self->sanitizer : nullptr, to->bottom,
                                 to->size());
#endif
#ifdef BULKHEAD_TSAN
  if (to->sanitizer == nullptr) to->sanitizer = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(to->sanitizer, 0);
#endif
}

inline void arrived([[maybe_unused]] Stack* self) {
#ifdef BULKHEAD_ASAN
  __sanitizer_finish_switch_fiber(self->sanitizer, nullptr, nullptr);
  self->sanitizer = nullptr;
#endif
}

}  // namespace

ExceptionState* thread_exceptions() noexcept {
  return reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

void leave(Stack* self, Stack* fresh, EntryPoint entry, void* argument,
           ExceptionState* exceptions) {
  self->exceptions = *exceptions;
  *exceptions = ExceptionState{};
  announce(self, fresh, Back::kYes);
  bulkhead_enter(&self->saved, fresh->top(), entry, argument);
  arrived(self);
}

void leave_thread(Stack* self, Stack* fresh, EntryPoint entry, void* argument) {
#ifdef BULKHEAD_ASAN
  // The sanitizer knows the thread's own stack; entered() on the first fiber tells us its bounds.
  self->bottom = nullptr;
#endif
#ifdef BULKHEAD_TSAN
  self->sanitizer = __tsan_get_current_fiber();
#endif
  fresh->next = self;  // for entered()
  leave(self, fresh, entry, argument, thread_exceptions());
#ifdef BULKHEAD_TSAN
  self->sanitizer = nullptr;
#endif
}

void resume(Stack* self, Stack* left, ExceptionState* exceptions) {
  *exceptions = left->exceptions;
  announce(self, left, Back::kNo);
  bulkhead_jump(left->saved);
}

void change(Stack* self, Stack* left, ExceptionState* exceptions) {
  self->exceptions = *exceptions;
  *exceptions = left->exceptions;
  announce(self, left, Back::kYes);
  bulkhead_switch(&self->saved, left->saved);
  arrived(self);
}

void restart(Stack* self, Stack* fresh, EntryPoint entry, void* argument) {
  announce(self, fresh, Back::kNo);
  bulkhead_restart(fresh->top(), entry, argument);
}

void entered([[maybe_unused]] Stack* self) {
#ifdef BULKHEAD_ASAN
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (Stack* thread = self->next; thread != nullptr && thread->bottom == nullptr) {
    thread->bottom = static_cast<std::byte*>(const_cast<void*>(bottom));
    thread->thread_bytes = size;
  }
#endif
  self->next = nullptr;
}

// (Here, and not where the frames are abandoned: that may be in a signal handler, whose own frames
// are among what a sanitizer then forgets.)
BULKHEAD_NO_ASAN void landed(Stack* self) {
  self->next = nullptr;
  announce(self, self, Back::kNo);
  entered(self);
#ifdef BULKHEAD_ASAN
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  __asan_unpoison_memory_region(self->bottom, static_cast<std::size_t>(here - self->bottom));
#endif
}

void forget([[maybe_unused]] Stack* stack) {
#ifdef BULKHEAD_ASAN
  __asan_unpoison_memory_region(stack->bottom, stack->size());
#endif
#ifdef BULKHEAD_TSAN
  // Its shadow call stack holds the abandoned frames.
  if (stack->sanitizer != nullptr) __tsan_destroy_fiber(stack->sanitizer);
  stack->sanitizer = nullptr;
#endif
}

}  // namespace bulkhead::machine
