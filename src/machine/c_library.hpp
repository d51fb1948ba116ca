// Where the C library lies, for telling whether who is abandoned there may hold a lock of its.
#pragma once

#include <span>

namespace bulkhead::machine {

/// Finds out. Once, before it is asked; else nothing is known. Throws nothing.
void learn_c_library() noexcept;

/// The code at frames[0], called by that at frames[1] and so on, is to be abandoned. Is it within a
/// function of the C library that may hold a lock, such as malloc's, or that of a FILE, or called
/// by the loader of shared libraries, which does? Not, as is known, in functions that call no other
/// one of the library, and those that work on memory of their caller's only, such as snprintf,
/// strtol and qsort. Async-signal-safe.
[[nodiscard]] bool may_hold_c_library_lock(std::span<void* const> frames) noexcept;

}  // namespace bulkhead::machine
