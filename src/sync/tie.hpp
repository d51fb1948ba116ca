// A tie between two sides, which both of them may cut: each at most once, and neither knows of the
// other's cut until it is told.
//
// | cut by | meaning                                       | next             | moved by      |
// |--------|-----------------------------------------------|------------------|---------------|
// | nobody | the tie holds                                 | one side, first  | either side   |
// | one    | its news are on the way to the other side     | both             | the other     |
// |        |                                               | gone             | who gets them |
// | both   | the news are on the way still                 | gone             | who gets them |
//
// Rules
//  T1  Who cuts first sends the news, one and only, to the other side; who cuts second sends none.
//  T2  What belongs to the tie is let go by who gets the news, or gets to drop them: by then both
//      sides have left it, or the receiver does so now.
//  T3  A tie may be carried to its other side by a signal, which that side may never get: whoever
//      drops it cuts in its name. The news may overtake it then, so the last one of the two lets
//      go.
// Checked by tie_model.cpp: the news come once, and nobody touches the tie when it has gone.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::sync {

template <class Sync>
class Tie {
 public:
  /// While nobody else knows it.
  void renew(bool carried) noexcept {
    state_.store(carried ? 0 : kCarrierGone, std::memory_order_relaxed);
  }

  /// Side 0 or 1, which is done with it. True for the first, which must send the news.
  [[nodiscard]] bool cut(unsigned side) noexcept {
    const auto mine = static_cast<std::uint8_t>(1u << side);
    return (state_.fetch_or(mine, std::memory_order_acq_rel) & kCut) == 0;  // [pair tie.cut]
  }

  /// What carried it has arrived, or has been dropped. True when the tie is to be let go.
  [[nodiscard]] bool carrier_goes() noexcept {
    return (state_.fetch_or(kCarrierGone, std::memory_order_acq_rel) & kNewsGone) != 0;
  }
  /// The news have been heard, or dropped. True when the tie is to be let go.
  [[nodiscard]] bool news_go() noexcept {
    if ((state_.load(std::memory_order_acquire) & kCarrierGone) != 0) return true;
    return (state_.fetch_or(kNewsGone, std::memory_order_acq_rel) & kCarrierGone) != 0;
  }

 private:
  static constexpr std::uint8_t kCut = 3;  // by side 0, by side 1
  static constexpr std::uint8_t kCarrierGone = 4;
  static constexpr std::uint8_t kNewsGone = 8;

  typename Sync::template atomic<std::uint8_t> state_{0};
};

}  // namespace bulkhead::sync
