#include "preemptible/loops.hpp"

#include <exception>
#include <stdexcept>
#include <string>

namespace preemptible {

void spin(const std::atomic<bool>& over) {
  while (!over.load(std::memory_order_relaxed)) {
  }
}

std::uint64_t count(const std::atomic<bool>& over) {
  std::uint64_t rounds = 0;
  for (;;) {
    if (over.load(std::memory_order_relaxed)) return rounds;
    ++rounds;
  }
}

namespace {

std::uint64_t sum(int depth) { return depth == 0 ? 0 : 1 + sum(depth - 1); }

// Not to be left out by the compiler.
void work_hard() {
  volatile std::uint64_t result = work(5'000);
  static_cast<void>(result);
}

struct Works {
  ~Works() { work_hard(); }
};

}  // namespace

std::uint64_t recurse(const std::atomic<bool>& over, int depth) {
  std::uint64_t total = 0;
  while (!over.load(std::memory_order_relaxed)) total += sum(depth);
  return total;
}

std::uint64_t work(std::uint64_t rounds) {
  std::uint64_t state = rounds;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 60) == 3) state ^= i;
  }
  return state;
}

int unwind(int depth) {
  int faults = 0;
  const std::string text = "failure " + std::to_string(depth);
  try {
    const Works at_the_end;
    throw std::runtime_error(text);
  } catch (const std::exception& error) {
    work_hard();
    if (depth > 0) faults += unwind(depth - 1);
    work_hard();
    if (error.what() != text) ++faults;
    if (std::uncaught_exceptions() != 0) ++faults;
    try {
      throw;
    } catch (const std::exception& again) {
      work_hard();
      if (again.what() != text) ++faults;
    }
  }
  return faults;
}

}  // namespace preemptible
