// The channels that run: channel.hpp with the runtime's waits and signals.
#pragma once

#include <cstddef>

#include "bulkhead/channel.hpp"
#include "core/core.hpp"
#include "wait/channel.hpp"
#include "wait/channel_ends.hpp"

namespace bulkhead::core {

/// Stands for the actors, and the threads outside, that wait.
struct ChannelActors {
  using Waiter = core::Waiter;
  using Outcome = ChannelOutcome;
  [[nodiscard]] static bool claim(const Waiter& waiter) noexcept {
    return waiter.slot->wait.claim(waiter.epoch);
  }
  static void wake(const Waiter& waiter) noexcept { core::wake(*waiter.slot); }
  [[nodiscard]] static bool same(const Waiter& one, const Waiter& other) noexcept {
    return one.slot == other.slot && one.epoch == other.epoch;
  }
};

struct ChannelCore {
  explicit ChannelCore(std::size_t capacity) : state(capacity) {}

  wait::ChannelState<sync::RealSync, ChannelActors, ChannelNode, Signal> state;
  alignas(64) wait::ChannelEnds<sync::RealSync> ends;
};

/// Destroys a value that nobody will receive.
void discard_item(Signal* item) noexcept;
/// Gives a value that was handed to a receiver back to its channel.
void put_back(ChannelCore& channel, Signal* item) noexcept;

inline void open_node(ChannelNode& node, const Waiter& waiter, Signal* item) noexcept {
  node.item = item;
  node.waiter = waiter;
  node.outcome = ChannelOutcome::kPending;
  node.linked = false;
}

}  // namespace bulkhead::core
