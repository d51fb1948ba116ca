// Fuzz target: whatever is allocated, freed, merged and discarded, in whatever order, the heaps
// hold what the reference says.
#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/heap_reference.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span input(bytes, size);
  bulkhead::memory::HeapProgram program;
  for (std::size_t i = 0; i + 3 < size; i += 4) {
    program.step(input[i], input[i + 1], input[i + 2], input[i + 3]);
  }
  return 0;
}
