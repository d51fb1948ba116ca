// Random straight-line programs over a few atomics, for the tests of the explorer itself.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "explorer.hpp"

namespace bulkhead::model {

struct Instruction {
  enum class Kind : std::uint8_t {
    kLoad,
    kStore,
    kExchange,
    kCompare,
    kFence,
    kWaitFor,
    kWake,
    kSpin  // only where asked for
  };

  Kind kind;
  unsigned location;
  std::memory_order order;
  std::memory_order failure;
  std::uint32_t value;  // stored; every store of a program has its own
  std::uint32_t expected;
};

struct Program {
  static constexpr unsigned kLocations = 2;

  std::vector<std::vector<Instruction>> threads;

  [[nodiscard]] std::string text() const;
};

struct Shape {
  unsigned threads;
  unsigned instructions;  // of all threads together
  bool sleeps = false;    // with waits, wakes and spinning loops
};

[[nodiscard]] Program random_program(std::mt19937& random, const Shape& shape);

/// What a program can come to: for each thread what it read, then the last values in memory.
[[nodiscard]] std::set<std::string> outcomes_of(const Program& program, const Options& options,
                                                Result& result);

/// How many programs a test tries: `usual`, or BULKHEAD_MODEL_PROGRAMS.
[[nodiscard]] unsigned programs_to_try(unsigned usual);

}  // namespace bulkhead::model
