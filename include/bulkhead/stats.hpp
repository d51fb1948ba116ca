/// Stats: what a runtime has counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bulkhead/delivery.hpp"

namespace bulkhead {

/// A snapshot. Each figure is exact for what had happened when it was read; figures of a running
/// program are read one after the other. Replies are no messages here, but one that came too late
/// is among the dropped. So when the runtime is idle,
///     sent == handled + (the sum of dropped) - refused - dropped_for(DropCause::kLateReply).
struct Stats {
  std::size_t cores = 0;
  std::uint64_t actors_started = 0;
  std::uint64_t actors_ended = 0;
  std::uint64_t actors_failed = 0;                   ///< that ended, or were restarted: by a panic
  std::uint64_t actors_trapped = 0;                  ///< the same: by a trap
  std::uint64_t actors_restarted = 0;                ///< in place
  std::uint64_t downs_lost = 0;                      ///< whose actors ended before they heard them
  std::uint64_t sent = 0;                            ///< messages accepted for delivery
  std::uint64_t handled = 0;                         ///< messages whose handler returned
  std::array<std::uint64_t, kDropCauses> dropped{};  ///< by DropCause
  std::uint64_t refused = 0;  ///< of the dropped: never accepted (gone, full, stopped, memory)
  std::uint64_t stopped_sends = 0;  ///< of the refused: sent while the runtime was not running
  std::uint64_t strays = 0;  ///< of the whole process: by threads outside to addresses of nobody
  std::uint64_t moved = 0;   ///< moves of an actor to another core
  std::uint64_t slept = 0;   ///< times a core went to sleep
  std::uint64_t handed_over = 0;    ///< times a core left a stuck handler, and its thread, behind
  std::uint64_t away = 0;           ///< handlers that run in a thread that their core has left, now
  std::uint64_t spare_threads = 0;  ///< threads kept for the next time, now
  std::uint64_t held_up = 0;        ///< times a core stayed with one: there was no thread for it
  std::uint64_t pool_bytes = 0;     ///< memory of the message pools

  [[nodiscard]] std::uint64_t actors() const noexcept { return actors_started - actors_ended; }
  [[nodiscard]] std::uint64_t dropped_for(DropCause cause) const noexcept {
    return dropped[static_cast<std::size_t>(cause)];
  }
};

}  // namespace bulkhead
