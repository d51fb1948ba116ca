// Names and places in the source for addresses of code. By libdw where the library is built with
// it; else by libbacktrace; else as far as the C library knows.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace bulkhead::machine {

/// What an address is in: the function as it is written, "??" when nobody knows; the file, and the
/// line in it, or empty and 0.
struct CodePlace {
  std::string function;
  std::string file = {};
  int line = 0;
};

/// Of each return address, what the call before it is in: the innermost function first, and then
/// those that it was inlined into; one at least. The first look at an address may take
/// milliseconds, the next ones do not. Any thread, on however small a stack. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::vector<CodePlace>> places_of(
    std::span<void* const> return_addresses);

}  // namespace bulkhead::machine
