/// What becomes of messages: the outcome of a send, and the causes for which a message is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bulkhead {

/// The outcome of a send, as far as it is known when the send returns. A message that was queued
/// can still be dropped, when its receiver ends before it comes to it.
enum class Delivery : std::uint8_t {
  kQueued,
  kGone,      ///< the receiver has ended, or never was
  kFull,      ///< the receiver's mailbox is bounded and full
  kStopped,   ///< the receiver's runtime is not running; or who must wait may not, or is to end
  kNoMemory,  ///< there was no memory for the message
};

/// Why a message was dropped: destroyed, once, without being handled to its end.
enum class DropCause : std::uint8_t {
  kGone,           ///< sent or queued to an actor that has ended
  kHandlerFailed,  ///< in hand when its handler failed
  kStopped,        ///< sent to a runtime that is not running
  kNoMemory,       ///< no memory to send it
  kFull,           ///< refused by a full mailbox
  kLateReply,      ///< a reply that came after its asker had given up
};

inline constexpr std::size_t kDropCauses = 6;

[[nodiscard]] std::string_view to_string(Delivery delivery) noexcept;
[[nodiscard]] std::string_view to_string(DropCause cause) noexcept;

}  // namespace bulkhead
