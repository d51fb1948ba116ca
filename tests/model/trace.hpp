// What a report says: names for addresses, and the steps of an execution, one a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory.hpp"

namespace bulkhead::model {

/// What is recorded for a spin_hint().
inline constexpr std::string_view kSpins = "spins";

class Trace {
 public:
  enum class Recording : bool { kOff, kOn };

  void reset(Recording recording);
  [[nodiscard]] bool on() const noexcept { return recording_ == Recording::kOn; }

  void name(std::string_view text, const void* begin, std::size_t bytes);
  [[nodiscard]] std::string address(std::uint64_t address);
  /// Does it lie in something that has a name?
  [[nodiscard]] bool known(std::uint64_t address) const { return region_of(address) != nullptr; }
  [[nodiscard]] std::string location(const Location& at);
  /// Turns of a spinning loop that are all the same are folded into one.
  void add(std::string_view thread, bool preempts, std::string_view what);

  /// An operation on a location and what came of it: "load  head -> 0  acquire".
  [[nodiscard]] std::string operation(const Op& op, std::string_view result);
  [[nodiscard]] static std::string value(const Location& at, std::uint64_t bits);
  /// "(stale: 2 newer)", or nothing.
  [[nodiscard]] static std::string staleness(const Location& at, std::size_t message);

  [[nodiscard]] std::string text() const;

 private:
  struct Region {
    std::string name;
    std::uint64_t begin;
    std::uint64_t bytes;
  };
  struct Line {
    std::string thread;
    std::string what;
    bool preempts;
    unsigned again = 0;  // so often the turn of a loop that ends here was repeated

    [[nodiscard]] bool same(const Line& other) const {
      return thread == other.thread && what == other.what && preempts == other.preempts;
    }
  };

  [[nodiscard]] const Region* region_of(std::uint64_t address) const;
  void fold_turns();

  Recording recording_ = Recording::kOff;
  std::vector<Region> regions_;
  std::vector<std::uint64_t> strangers_;  // addresses without a name, in order of appearance
  std::vector<Line> lines_;
};

[[nodiscard]] std::string_view order_text(std::memory_order order);

}  // namespace bulkhead::model
