// Depth-first search without stored states: an execution is the list of the choices taken in it,
// and the next one is found by changing the last choice that has an alternative left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::model {

class Search {
 public:
  /// To be called before each execution.
  void rewind() noexcept { depth_ = 0; }

  /// One of `alternatives` (2 or more) numbers from 0. If the program under test does not behave as
  /// it did before with the same choices, fits() is false from then on.
  [[nodiscard]] unsigned choose(unsigned alternatives);

  /// Moves on to the next execution. False when there is none.
  [[nodiscard]] bool next();

  [[nodiscard]] bool fits() const noexcept { return fits_; }

  /// The choices of the current execution as a word: a digit or letter each, or (number).
  [[nodiscard]] std::string text() const;
  /// The reverse. False when the word makes no sense.
  [[nodiscard]] bool load(std::string_view text);

 private:
  struct Choice {
    std::uint32_t taken;
    std::uint32_t alternatives;  // 0: not known, as it came from a word
  };

  std::vector<Choice> choices_;
  std::size_t depth_ = 0;
  bool fits_ = true;
};

}  // namespace bulkhead::model
