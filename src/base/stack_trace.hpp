// The calling thread's stack as text.
#pragma once

#include <cstdio>

namespace bulkhead::base {

/// Writes the frames of the caller to `out`, most recent call first, with function, file and line
/// where the program has debugging information. Frames of the C++ runtime and of this library's own
/// failure path are left out.
void print_stack_trace(std::FILE* out = stderr);

}  // namespace bulkhead::base
