/// Exit: why an actor ended.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "bulkhead/delivery.hpp"
#include "bulkhead/pid.hpp"

namespace bulkhead {

template <class T>
struct Crossing;

/// What trapped an isolated actor: see Exit::Kind::kTrapped.
enum class TrapKind : std::uint8_t {
  kNone,           ///< it was no trap
  kAccess,         ///< an access to memory that is not there, such as by a null pointer
  kStackOverflow,  ///< its stack was too small
  kArithmetic,     ///< an integer division by zero, or one that overflows
  kInstruction,    ///< no instruction: also what a compiler puts where nothing must come
  kAbort,          ///< std::abort
  kAssertion,      ///< a failed assert, of the program's or the standard library's
  kTerminate,      ///< std::terminate: an exception left a noexcept function, for example
  kMemory,         ///< over the limit of its heap, and the std::bad_alloc left its handler
  kHeap,           ///< its heap was found damaged: a double delete, or a write outside of a block
  kThread,         ///< it wanted to start a thread
};

/// "none", "access", "stack overflow", "arithmetic", "instruction", "abort", "assertion",
/// "terminate", "memory", "heap", "thread".
[[nodiscard]] std::string_view to_string(TrapKind kind) noexcept;

/// Why an actor ended: a value, cheap to copy, to compare and to print.
class Exit {
 public:
  enum class Kind : std::uint8_t {
    kNormal,    ///< it stopped by itself or by bulkhead::stop, or its function returned
    kShutdown,  ///< its runtime shut down
    kStopped,   ///< request_stop ended it, though its runtime went on
    kPanic,     ///< an exception left its handler, or it panicked
    kKilled,    ///< kill ended it
    kNoActor,   ///< there was no such actor, when it was linked to or monitored
    kCustom,    ///< a reason of the program's own
    kTrapped,   ///< a fault of its own, in an isolated actor: it ended there and then
  };

  /// An exception that another one held.
  struct Cause {
    std::string message;
    std::string type;
  };
  static constexpr std::size_t kMostCauses = 16;

  Exit() = default;  // normal
  Exit(const Exit& other) noexcept;
  Exit(Exit&& other) noexcept  // which is normal then
      : kind_(std::exchange(other.kind_, Kind::kNormal)),
        trap_(std::exchange(other.trap_, TrapKind::kNone)),
        failure_(std::exchange(other.failure_, nullptr)) {}
  Exit& operator=(const Exit& other) noexcept;
  Exit& operator=(Exit&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(trap_, other.trap_);
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Exit() {
    if (failure_ != nullptr) [[unlikely]]
      release();
  }

  [[nodiscard]] static Exit normal() noexcept { return Exit(); }
  [[nodiscard]] static Exit shutdown() noexcept { return Exit(Kind::kShutdown); }
  /// In order, with more to say. Throws std::bad_alloc.
  [[nodiscard]] static Exit shutdown(std::string detail);
  [[nodiscard]] static Exit stopped() noexcept { return Exit(Kind::kStopped); }
  /// From an exception: its message and type are read out now. Without memory for them, the exit
  /// tells of that instead.
  [[nodiscard]] static Exit panic(std::exception_ptr failure) noexcept;
  [[nodiscard]] static Exit killed() noexcept { return Exit(Kind::kKilled); }
  [[nodiscard]] static Exit no_actor() noexcept { return Exit(Kind::kNoActor); }
  /// A reason of the program's own, as long as it likes. Throws std::bad_alloc.
  [[nodiscard]] static Exit custom(std::string reason);
  /// By a fault, which is described by `message`, where the code stood at `stack`; what was thrown
  /// then is of the type `thrown`. Without memory for them, only the kind is told.
  [[nodiscard]] static Exit trapped(TrapKind trap, std::string_view message = {},
                                    std::span<void* const> stack = {},
                                    const std::type_info* thrown = nullptr) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_normal() const noexcept { return kind_ == Kind::kNormal; }
  /// Which fault it was; kNone for other kinds.
  [[nodiscard]] TrapKind trap() const noexcept { return trap_; }
  /// What the exception said; a shutdown's detail; the custom reason; what is known of the fault.
  /// Else empty.
  [[nodiscard]] std::string_view message() const noexcept;
  /// The exception's type, readable; empty when there was none.
  [[nodiscard]] std::string_view type() const noexcept;
  /// Of an exception that holds another one, by std::throw_with_nested: that, and what it holds
  /// itself, and so on; the innermost is the last. Of more than kMostCauses the first ones.
  [[nodiscard]] std::span<const Cause> causes() const noexcept;
  /// Where panic() was called, "FUNCTION at FILE:LINE"; empty for other exceptions and kinds.
  [[nodiscard]] std::string_view place() const noexcept;
  /// The exception itself, for who wants to rethrow it; null for other kinds, and for an exit that
  /// has crossed to or from an isolated actor.
  [[nodiscard]] std::exception_ptr failure() const noexcept;

  /// Where the exception was thrown, or the fault happened: return addresses, most recent call
  /// first, of up to 40 frames. Empty for other kinds; and when it did not leave a handler by
  /// itself, or so many others have failed at that moment that it was lost. See stack_trace.
  [[nodiscard]] std::span<void* const> stack() const noexcept;

  /// Kinds and messages are compared, not the exceptions.
  friend bool operator==(const Exit& a, const Exit& b) noexcept {
    return a.kind_ == b.kind_ && a.trap_ == b.trap_ && a.message() == b.message();
  }

 private:
  friend struct Crossing<Exit>;
  struct Failure;

  explicit Exit(Kind kind) noexcept : kind_(kind) {}
  void release() noexcept;

  Kind kind_ = Kind::kNormal;
  TrapKind trap_ = TrapKind::kNone;
  Failure* failure_ = nullptr;  // counted, and not changed once it is shared
};

/// What an exit says crosses, and where it comes from; the exception, which would be shared, stays.
template <>
struct Crossing<Exit> {
  static Exit cross(const Exit& from);
};

/// "normal", "shutdown", "stopped", "panic", "killed", "no such actor", "custom", "trapped".
[[nodiscard]] std::string_view to_string(Exit::Kind kind) noexcept;
/// "normal", "shutdown", "shutdown: DETAIL", "stopped", "killed", "no such actor", the custom
/// reason, "panic: MESSAGE (TYPE)", or "trapped: KIND: MESSAGE".
[[nodiscard]] std::string to_string(const Exit& exit);
/// That, and of a panic also its place and its causes: "panic: MESSAGE (TYPE), in PLACE, caused by:
/// MESSAGE (TYPE), caused by: ...".
[[nodiscard]] std::string explain(const Exit& exit);

/// The same as text, a line for each frame: "FUNCTION at FILE:LINE", as far as the program has
/// debugging information, or symbols. Takes up to milliseconds, the first time: not for hooks of a
/// runtime that is to stay quick. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> stack_trace(const Exit& exit);

/// What the death hook of a runtime is told. Valid during the call only.
struct Death {
  Pid actor;
  std::string_view actor_type;
  const Exit& exit;
};

/// What the dead-letter hook of a runtime is told. Valid during the call only.
struct DeadLetter {
  /// None when it never was an actor. Of a late reply: the actor that replied, since it went to one
  /// certain wait of the asker's, which is over; none when a thread outside did.
  Pid receiver;
  std::string_view message_type;
  DropCause cause;
};

}  // namespace bulkhead
