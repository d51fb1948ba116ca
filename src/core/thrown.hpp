// Where exceptions were thrown that leave an actor's handler.
//
// A throw first looks for a handler, and asks each `catch` on the way whether it takes the
// exception, by a virtual function of the std::type_info of what is caught. Only then are frames
// unwound. So a `catch` of a class whose type_info is ours is asked while all frames are still
// there, for just those exceptions that nobody below has caught; it notes the frames, and says no.
// Nothing is paid for it until something is thrown.
#pragma once

#include <array>
#include <cstddef>
#include <exception>

#include "bulkhead/unwind.hpp"

namespace bulkhead::core {

/// Frames of a throw, most recent call first.
struct ThrowTrace {
  static constexpr std::size_t kMost = 40;
  std::array<void*, kMost> frames;
  std::size_t count = 0;
};

/// What was noted of an exception that left a handler; nothing when it did not, or when very many
/// have been thrown since. It is forgotten then. Any thread.
[[nodiscard]] ThrowTrace take_throw_trace(const std::exception_ptr& failure) noexcept;

}  // namespace bulkhead::core
