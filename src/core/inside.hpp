// How code that handlers call comes inside: from then on nobody takes the core away from the thread
// (sync/seat.hpp).
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "core/core.hpp"

namespace bulkhead::core {

/// What enter does when it finds nothing: brings an actor home that is away. May switch stacks and
/// threads. Null in threads outside.
[[nodiscard]] Core* enter_slowly(std::uint8_t how = 1) noexcept;

/// Comes inside. For functions of this layer that do not switch stacks otherwise: they note first
/// whether the thread was inside, and give that to the core's leave at the end.
[[nodiscard, gnu::always_inline]] inline Core* enter(std::uint8_t how = 1) noexcept {
  Core* core = tl_seat.at.enter(how);
  if (core == nullptr) [[unlikely]]
    core = enter_slowly(how);
  return core;
}
[[nodiscard, gnu::always_inline]] inline std::uint8_t was_inside() noexcept {
  return tl_seat.at.inside();
}
/// The same out of line, for callers that switch stacks.
[[nodiscard]] Core* come_inside() noexcept;
void go_back(std::uint8_t was) noexcept;

/// A stretch of the runtime's code that handlers call, and that may switch stacks. Meanwhile
/// Core::current() is the actor's core. Threads outside may be in one too.
class Inside {
 public:
  [[gnu::always_inline]] Inside() noexcept : was_(was_inside()) {
    static_cast<void>(enter(was_ | 1));
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { go_back(was_); }

 private:
  std::uint8_t was_;
};

/// The same for what does not switch stacks, or says where it has gone on. Is not made to give way.
class BrieflyInside {
 public:
  static constexpr std::uint8_t kMark = 2;

  [[gnu::always_inline]] BrieflyInside() noexcept
      : was_(was_inside()), core_(enter(was_ | kMark)) {}
  BrieflyInside(const BrieflyInside&) = delete;
  BrieflyInside& operator=(const BrieflyInside&) = delete;
  ~BrieflyInside() {
    if (core_ != nullptr) core_->leave(was_);
  }
  /// Null for threads outside.
  [[nodiscard]] Core* core() const noexcept { return core_; }
  void goes_on_on(Core* core) noexcept { core_ = core; }

 private:
  std::uint8_t was_;
  Core* core_;
};

/// The user's code runs in the middle of something, such as a hook or the destructor of a message
/// that is dropped: a wait there ends at once, and nothing switches stacks. Any thread, inside.
class InTheMiddle {
 public:
  InTheMiddle() noexcept : InTheMiddle(tl_seat.at.mine()) {
    BULKHEAD_ASSERT(tl_seat.worker == nullptr || was_inside() != 0, "the core could be gone");
  }
  explicit InTheMiddle(Core* core) noexcept : core_(core) {
    if (core_ != nullptr) ++core_->dropping_;
  }
  InTheMiddle(const InTheMiddle&) = delete;
  InTheMiddle& operator=(const InTheMiddle&) = delete;
  ~InTheMiddle() {
    if (core_ != nullptr) --core_->dropping_;
  }

 private:
  Core* core_;
};

}  // namespace bulkhead::core
