/// Asking: send and wait for the reply.
#pragma once

#include <cstdint>
#include <expected>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/over_wall.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/unwind.hpp"
#include "bulkhead/wait.hpp"

namespace bulkhead {

/// Why an ask failed.
enum class AskError : std::uint8_t {
  kGone,      ///< the actor had ended before; or the address is nobody's
  kDied,      ///< it ended, or an exception (also a caught one) took the Reply along
  kNoReply,   ///< its handler returned without replying, or it has none for the message
  kTimedOut,  ///< it did not reply in time
  kFull,      ///< its mailbox is bounded and full
  kStopped,   ///< its runtime is not running; or the asker may not wait (hook), or is to end
  kNoMemory,  ///< no memory for the message
  kSelf,      ///< it asked itself, which would wait for ever; nothing was sent
};

[[nodiscard]] std::string_view to_string(AskError error) noexcept;

/// What an ask waits for when no other limit is given.
inline constexpr std::chrono::seconds kDefaultAskTimeout{5};

namespace core {

/// Where a reply goes: to a certain wait of a certain asker. The frame is written only by who has
/// claimed that wait.
struct ReplyTo {
  Slot* asker = nullptr;
  std::uint64_t epoch = 0;
  void* frame = nullptr;
};

/// The head of the frame in which an asker waits; the reply's memory follows.
struct AskFrame {
  enum class Outcome : std::uint8_t { kPending, kAnswered, kFailed };
  Outcome outcome = Outcome::kPending;
  AskError error = AskError::kTimedOut;
  Exit* why = nullptr;   ///< where the asker wants to have the exit of the one that it asked
  void* heap = nullptr;  ///< that holds what the reply holds, when it came over a wall
};

/// After the wait: an ask that nobody has decided failed because time was up, or because its asker
/// is to end.
void decide_unanswered(AskFrame& frame) noexcept;

[[nodiscard]] inline ReplyTo reply_to(const Wait& wait, AskFrame& frame) noexcept {
  return {wait.waiter().slot, wait.waiter().epoch, &frame};
}

/// Claims the asker's wait; true for the one who may write the frame, and must then wake it.
[[nodiscard]] bool claim(const ReplyTo& to) noexcept;
void wake_asker(const ReplyTo& to) noexcept;
void fail_ask(const ReplyTo& to, AskError error) noexcept;
void fail_claimed(const ReplyTo& to, AskError error) noexcept;
/// In a catch block: fails the ask with kDied, for what was caught.
void fail_by_exception(const ReplyTo& to) noexcept;
void fail_claimed_by_exception(const ReplyTo& to) noexcept;

/// What an isolated actor is doing for one who waits, in a heap of nobody's. If the actor traps
/// meanwhile, nothing of it is left, and the one who waits is told, if its wait has been claimed.
class Owed {
 public:
  enum class Heap : bool { kNone, kOwn };
  /// Throws std::bad_alloc.
  Owed(const ReplyTo& to, Heap heap);
  Owed(const Owed&) = delete;
  Owed& operator=(const Owed&) = delete;
  ~Owed();

  /// Null where there are no heaps.
  [[nodiscard]] void* heap() const noexcept { return heap_; }
  [[nodiscard]] bool claim() noexcept;
  /// It has been claimed.
  void note() noexcept;
  /// The heap is the other one's now.
  [[nodiscard]] void* release() noexcept { return std::exchange(heap_, nullptr); }

 private:
  const ReplyTo to_;
  void* heap_ = nullptr;
};

/// A Reply was let go unused: fails the ask with kDied or kNoReply.
void abandon_ask(const ReplyTo& to) noexcept;
/// Is the calling code running in this actor?
[[nodiscard]] bool is_self(Pid pid) noexcept;
/// Counts a reply that came too late.
void count_late_reply(std::string_view type) noexcept;

[[nodiscard]] AskError ask_error(Delivery why) noexcept;
[[nodiscard]] Delivery delivery_of(AskError error) noexcept;
[[nodiscard]] AskError ask_error(DropCause cause) noexcept;

template <class R>
struct ReplyFrame : AskFrame {
  union {
    R value;
  };
  ReplyFrame() noexcept {}
  ReplyFrame(const ReplyFrame&) = delete;
  ReplyFrame& operator=(const ReplyFrame&) = delete;
  ~ReplyFrame() {
    if (outcome == Outcome::kAnswered) value.~R();
    if constexpr (!kStaysAsItIs<R>) {
      if (heap != nullptr) [[unlikely]]
        discard_heap(heap);
    }
  }

  /// The value, which is there, for the asker.
  [[nodiscard]] R take() {
    if constexpr (!kStaysAsItIs<R>) {
      if (heap != nullptr || in_compartment()) [[unlikely]] {
        const OverWall in(OverWall::Way::kIn, heap);
        return over_wall(value);
      }
    }
    return std::move(value);
  }
};

template <>
struct ReplyFrame<void> : AskFrame {};

}  // namespace core

/// The right to answer one ask, once. A handler that takes a Reply as its second parameter answers
/// by calling it, now or later: it may be kept, moved into another actor's message, and called from
/// anywhere. One that is let go unused fails the ask.
template <class R>
class Reply {
 public:
  explicit Reply(const core::ReplyTo& to) noexcept : to_{to.asker, to.epoch, to.frame} {}
  Reply(Reply&& other) noexcept : Reply(other.to_) { other.to_.asker = nullptr; }
  Reply& operator=(Reply&& other) noexcept {
    if (this != &other) {
      let_go();
      to_ = other.to_;
      other.to_.asker = nullptr;
    }
    return *this;
  }
  ~Reply() { let_go(); }

  /// Answers. False when the asker has given up meanwhile: the value is destroyed and counted as a
  /// late reply. Without effect, and false, when this Reply was used or moved from.
  template <class... Args>
    requires std::is_constructible_v<R, Args...>
  bool operator()(Args&&... args) {
    return answer_with([&]() -> R { return R(std::forward<Args>(args)...); });
  }

  /// Answers with what `make()` returns; all that it leaves is gone before the asker goes on.
  template <class Make>
  bool answer_with(Make&& make) {
    check_reply<R>();
    // Part by part: a copy of the whole would wait for stores that have just been made.
    const core::ReplyTo to{to_.asker, to_.epoch, to_.frame};
    to_.asker = nullptr;
    if (to.asker == nullptr) return false;
    auto* frame = static_cast<core::ReplyFrame<R>*>(to.frame);
    if constexpr (!kStaysAsItIs<R>) {
      if (core::in_compartment()) [[unlikely]]
        return answer_over_wall(to, *frame, make);
    }
    bool claimed = false;
    {
      // Made before the wait is claimed: if this throws, the ask fails like any other.
      R value = made(to, make);
      claimed = answer(to, *frame, value);
    }
    if (!claimed) {
      core::count_late_reply(type_name<R>());
      return false;
    }
    frame->outcome = core::AskFrame::Outcome::kAnswered;
    core::wake_asker(to);
    return true;
  }

  /// In a catch block: fails the ask for what was caught, which the asker learns.
  void fail_by_exception() noexcept {
    const core::ReplyTo to = std::exchange(to_, core::ReplyTo{});
    if (to.asker != nullptr) core::fail_by_exception(to);
  }

  /// Is somebody still to be answered? (They may have given up.)
  [[nodiscard]] explicit operator bool() const noexcept { return to_.asker != nullptr; }

 private:
  template <class Result = R, class Make>
  static Result made(const core::ReplyTo& to, Make& make) {
    return core::noticing([&]() -> Result { return make(); },
                          [&](core::Leaves) { core::fail_by_exception(to); });
  }

  // True when the asker gets it.
  static bool answer(const core::ReplyTo& to, core::ReplyFrame<R>& frame, R& value) {
    if (!core::claim(to)) return false;
    place(to, frame, value);
    return true;
  }

  // By an isolated actor, which may trap at any time.
  template <class Make>
  static bool answer_over_wall(const core::ReplyTo& to, core::ReplyFrame<R>& frame, Make& make) {
    const auto answer = [&] {
      core::Owed owed(to, core::Owed::Heap::kOwn);
      {
        R value = make();
        R anew = [&] {
          const core::OverWall out(core::OverWall::Way::kOut, owed.heap());
          return core::over_wall(value);
        }();
        if (!owed.claim()) return false;
        if constexpr (std::is_nothrow_move_constructible_v<R>) {
          ::new (static_cast<void*>(__builtin_addressof(frame.value))) R(std::move(anew));
        }
      }
      frame.heap = owed.release();
      return true;
    };
    if (!made<bool>(to, answer)) {
      core::count_late_reply(type_name<R>());
      return false;
    }
    frame.outcome = core::AskFrame::Outcome::kAnswered;
    core::wake_asker(to);
    return true;
  }

  static void place(const core::ReplyTo& to, core::ReplyFrame<R>& frame, R& value) {
    if constexpr (std::is_nothrow_move_constructible_v<R>) {
      ::new (static_cast<void*>(__builtin_addressof(frame.value))) R(std::move(value));
    } else {
      try {
        ::new (static_cast<void*>(__builtin_addressof(frame.value))) R(std::move(value));
      } catch (...) {
        core::fail_claimed_by_exception(to);
        throw;
      }
    }
  }

  void let_go() noexcept {
    if (to_.asker != nullptr) core::abandon_ask(to_);
  }

  core::ReplyTo to_;
};

/// For asks that are answered with no value: that the message was handled.
template <>
class Reply<void> {
 public:
  explicit Reply(core::ReplyTo to) noexcept : to_(to) {}
  Reply(Reply&& other) noexcept : to_(std::exchange(other.to_, core::ReplyTo{})) {}
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  bool operator()();
  void fail_by_exception() noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return to_.asker != nullptr; }

 private:
  core::ReplyTo to_;
};

}  // namespace bulkhead
