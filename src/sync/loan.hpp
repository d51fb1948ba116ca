// Something that its owner lends, again and again, and that comes back from wherever it is let go:
// such as the memory of a message that is sent every second.
//
// | state         | meaning                                   | next           | moved by        |
// |---------------|-------------------------------------------|----------------|-----------------|
// | at home       | the owner's, who may write to it          | away (lend)    | the owner       |
// |               |                                           | gone (end)     | the owner       |
// | away          | whoever has it in hand may read and write | at home        | who lets it go  |
// |               |                                           | away, ended    | the owner (end) |
// | away, ended   | the owner is done with it                 | gone           | who lets it go  |
//
// Rules
//  N1  Who finds, by end() or come_home(), that the other has been there before, lets it go for
//      good: exactly one of the two does.
//  N2  What was written while it was away is seen by the owner who lends it again, and by who lets
//      it go for good.
// Checked by loan_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Loan {
 public:
  /// Owner: true when it is at home; from then on it is away.
  [[nodiscard]] bool lend() noexcept {
    if (state_.load(std::memory_order_acquire) != kAtHome) return false;  // [pair loan.home]
    state_.store(kAway, std::memory_order_relaxed);
    return true;
  }
  /// Owner, once, and nothing after it: true when it is at home, and so to be let go.
  [[nodiscard]] bool end() noexcept {
    return (state_.fetch_or(kEnded, std::memory_order_acq_rel) & kAway) == 0;  // [pair loan.home]
  }
  /// Who has it in hand: true when the owner is done with it, so that it is to be let go.
  [[nodiscard]] bool come_home() noexcept {
    constexpr auto kNotAway = static_cast<std::uint8_t>(~kAway);
    return (state_.fetch_and(kNotAway, std::memory_order_acq_rel) & kEnded) != 0;
  }
  /// While it is away: has the owner ended it? May be true the next moment.
  [[nodiscard]] bool has_ended() const noexcept {
    return (state_.load(std::memory_order_relaxed) & kEnded) != 0;
  }

 private:
  static constexpr std::uint8_t kAtHome = 0;
  static constexpr std::uint8_t kAway = 1;
  static constexpr std::uint8_t kEnded = 2;

  typename Sync::template atomic<std::uint8_t> state_{kAtHome};
};

}  // namespace bulkhead::sync
