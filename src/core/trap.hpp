// Traps: how a fault of an isolated actor ends it, and nobody else.
//
// What happens, step by step
//   fault   A signal handler on the thread's alternate stack (faults.cpp), or a function that never
//           returns, such as abort (trap.cpp), finds that the code of an isolated actor is at work.
//           It notes what is known in the thread's Trap. Nothing is allocated, no lock taken.
//   leap    The thread goes on in Core::land, at the base of the actor's stack. The frames above
//           are abandoned as they are: no destructor runs.
//   land    Comes inside; brings the actor home, if its core has gone on without it; lets go of the
//           exceptions that the abandoned frames had caught; and ends the actor as any other, but
//           that its state is not destroyed.
//   go on   All that the core's loop knows lies in the core (core.hpp, C3): it begins anew, on
//           another stack.
//
// Rules
//  T1  Contained is a fault of the actor's own code only: outside the runtime (sync/seat.hpp), in
//      its turn. There the runtime is in the middle of nothing. And not where the actor would leave
//      something locked (containable.hpp): that ends the process.
//  T2  Nothing that the trapped actor could have written to is read after a trap, but for the
//      record at the base of its stack.
//  T3  What the loop must know of the actor's turn lies in that record, and not in frames:
//      Stack::handled, in_hand, told.
//  T4  The end of an actor's state belongs to its turn: only when its destructor has returned is it
//      known how it has ended. So a trap there is one like any other.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <typeinfo>

#include "bulkhead/exit.hpp"
#include "core/core.hpp"

namespace bulkhead::core {

class AtWork;

/// What is known of a trap, from the fault to the landing. One in each worker.
struct Trap {
  static constexpr std::size_t kMostFrames = 40;
  static constexpr std::size_t kMostText = 240;

  TrapKind kind = TrapKind::kNone;
  Exit earlier;                            // when it was ending already: why
  const std::type_info* thrown = nullptr;  // when it was thrown, or caught, or null
  std::array<void*, kMostFrames> frames{};
  std::size_t depth = 0;
  std::array<char, kMostText> text{};
  std::size_t length = 0;

  /// Async-signal-safe. Of one that was ending on that stack: why.
  void note_ending(machine::Stack& stack) noexcept;
  /// Async-signal-safe; what is too long is cut.
  void say(std::string_view what) noexcept;
  [[nodiscard]] std::string_view message() const noexcept { return {text.data(), length}; }
  [[nodiscard]] std::span<void* const> stack() const noexcept {
    return std::span(frames).first(depth);
  }
};

/// On stderr: of the actor that is at work, why its trap ends the process. Async-signal-safe.
void tell_uncontained(const AtWork& work, const Trap& trap, const char* why) noexcept;

/// Ends the running actor by a trap of that kind if it is isolated and its own code is at work;
/// else returns. Any thread.
void trap_if_isolated(TrapKind kind, std::string_view what,
                      const std::type_info* thrown = nullptr) noexcept;

/// From now on std::terminate, abort, failed assertions and the start of a thread in an isolated
/// actor end the actor only. Once per process.
void contain_termination() noexcept;

}  // namespace bulkhead::core
