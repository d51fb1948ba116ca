// What the C++ runtime keeps in front of an exception.
#pragma once

#include <unwind.h>

#include <cstddef>
#include <cstdint>

namespace bulkhead::core {

/// The end of it, as the Itanium C++ ABI has it; the exception itself is next.
struct ExceptionHead {
  void* next;
  int handlers;  // that are at it; negative while it is thrown again
  int handler;   // that was found, among those of its landing pad
  const void* action;
  const void* table;
  std::uintptr_t landing_pad;  // of the handler that was found; 0 when that is to terminate
  void* adjusted;
  _Unwind_Exception header;
};
static_assert(offsetof(ExceptionHead, header) == 48);

}  // namespace bulkhead::core
