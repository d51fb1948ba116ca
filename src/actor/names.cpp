// Words for the enumerations, and other small out-of-line parts of the public headers.
#include <stdexcept>
#include <string>

#include "bulkhead/delivery.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/pid.hpp"

namespace bulkhead {

std::string to_string(Pid pid) {
  if (!pid) return "<none>";
  return "<" + std::to_string(pid.index()) + "." + std::to_string(pid.generation()) + ">";
}

std::string_view to_string(Delivery delivery) noexcept {
  switch (delivery) {
    case Delivery::kQueued:
      return "queued";
    case Delivery::kGone:
      return "the receiver has ended";
    case Delivery::kFull:
      return "the receiver's mailbox is full";
    case Delivery::kStopped:
      return "the receiver's runtime is not running";
    case Delivery::kNoMemory:
      return "no memory for the message";
  }
  return "unknown";
}

std::string_view to_string(DropCause cause) noexcept {
  switch (cause) {
    case DropCause::kGone:
      return "the receiver has ended";
    case DropCause::kHandlerFailed:
      return "the handler failed";
    case DropCause::kStopped:
      return "the receiver's runtime is not running";
    case DropCause::kNoMemory:
      return "no memory for the message";
    case DropCause::kFull:
      return "the receiver's mailbox is full";
    case DropCause::kLateReply:
      return "the reply came too late";
  }
  return "unknown";
}

void Timeout::refuse_negative() {
  throw std::invalid_argument(
      "bulkhead: a time span is negative or not a number; give zero or more, or "
      "bulkhead::kForever");
}

void Timeout::refuse_overflow() {
  throw std::invalid_argument(
      "bulkhead: a time span is longer than 292 years; for no limit give bulkhead::kForever");
}

}  // namespace bulkhead
