// Stacks as text.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace bulkhead::machine {

/// Fills in return addresses, most recent call first, from this function's own frame on; returns
/// how many. Allocates nothing.
[[nodiscard]] std::size_t walk_stack(std::span<void*> into) noexcept;

/// Writes the frames of the caller to `out`, most recent call first, with function, file and line
/// where the program has debugging information. Frames of the C++ runtime and of this library's own
/// failure path are left out.
void print_stack_trace(std::FILE* out = stderr);

/// A line for each of these return addresses, as above; frames of the machinery are left out.
/// Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> describe_frames(std::span<void* const> addresses);

/// The same of a throw in an actor: without the frames above the throw, which may have no names,
/// and those below the actor's handler, which are the same for all.
[[nodiscard]] std::vector<std::string> describe_throw(std::span<void* const> addresses);

}  // namespace bulkhead::machine
