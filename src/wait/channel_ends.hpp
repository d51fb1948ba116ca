// The handles of a channel: how many there are of each side, and who frees the channel.
//
// Rules
//  E1  A handle is copied by who holds one of the same side, so a count that is 0 stays 0.
//  E2  Who drops the last handle of a side ends that side, and then leaves. Who leaves last frees:
//      it sees all that the other side has done.
// Checked by channel_ends_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::wait {

template <class Sync>
class ChannelEnds {
 public:
  /// By the holder of a handle of the same side.
  void add_sender() noexcept { senders_.fetch_add(1, std::memory_order_relaxed); }
  void add_receiver() noexcept { receivers_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the last one of its side.
  [[nodiscard]] bool drop_sender() noexcept { return last(senders_); }
  [[nodiscard]] bool drop_receiver() noexcept { return last(receivers_); }
  /// When a side has been ended: true for the one who frees.
  [[nodiscard]] bool leave() noexcept { return last(sides_); }

 private:
  template <class Number>
  [[nodiscard]] static bool last(Number& number) noexcept {
    return number.fetch_sub(1, std::memory_order_acq_rel) == 1;  // [pair channel.ends]
  }

  typename Sync::template atomic<std::uint32_t> senders_{1};
  typename Sync::template atomic<std::uint32_t> receivers_{1};
  typename Sync::template atomic<std::uint32_t> sides_{2};
};

}  // namespace bulkhead::wait
