// What an isolated actor has that others have not, and how messages get over the wall around it.
//
// A compartment lies outside of the actor's memory, so that nothing that the actor does to that
// reaches it. Owner.
//
// The wall. A message that an isolated actor sends, unless it is no more than its bytes, lies in a
// heap of its own, with all that it holds (a *message heap*): it is made anew there when its sender
// has made it (seal). One that comes to an isolated actor is made anew in that actor's heap before
// its handler sees it; one from a message heap, in the memory of whoever handles it, which is then
// the process's (cross_in). Meanwhile nothing switches stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "bulkhead/ask.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/spawn.hpp"
#include "core/belongings.hpp"
#include "core/core.hpp"
#include "core/slot.hpp"
#include "machine/clock.hpp"
#include "machine/held_locks.hpp"
#include "memory/current_heap.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

/// How often it has been made anew, and may be.
struct Restarts {
  std::size_t limit = 0;
  machine::Nanoseconds window = 0;
  std::size_t count = 0;  // in this window
  std::uint64_t all = 0;
  machine::Nanoseconds since = 0;

  /// Counts one more, if there may be one.
  [[nodiscard]] bool one_more(machine::Nanoseconds now) noexcept;
};

struct Compartment {
  memory::Heap* heap = nullptr;  // null where the process's operators do not know of heaps
  void* block = nullptr;         // where there is none: of the actor's state
  std::align_val_t alignment{};
  Belongings belongings;
  std::vector<NewActor> spawning;  // those that it is spawning
  machine::HeldLocks locks;
  bool is_lost = false;  // it has trapped, or its memory is discarded: nothing there is touched
  Seed* seed = nullptr;  // when it restarts in place
  Restarts restarts;
  bool is_built = false;
};

/// Of a limit in bytes. Throws std::bad_alloc.
[[nodiscard]] Compartment* make_compartment(std::size_t heap_limit);
/// Memory in its heap; null when there is no room.
[[nodiscard]] void* take_in_compartment(Compartment& compartment, std::size_t bytes,
                                        std::size_t alignment) noexcept;
/// An exit that the running actor gives to others; inside: if it is isolated, a copy that outlives
/// it. Throws std::bad_alloc.
[[nodiscard]] Exit outlasting(const Core& core, Exit exit);
/// With its heap, and all that is its own.
void discard_compartment(Compartment* compartment) noexcept;
void discard_seed(const Seed* seed) noexcept;
/// Gives it a fresh heap, and makes the actor's state there from its seed. Null, and nothing has
/// changed, when that fails. Inside.
[[nodiscard]] void* build_anew(Compartment& compartment, const ActorClass& kind) noexcept;
/// Null when it is not isolated. Owner.
[[nodiscard]] Compartment* compartment_of(const Slot& slot) noexcept;

/// Is it an isolated actor's code that sends, on this core?
[[nodiscard]] inline bool crosses_from(const Core& core) noexcept {
  return core.running != nullptr && core.running->isolated();
}
/// Memory for such a message, in a heap of its own: until it is sealed, one of the sender's
/// belongings. Throws std::bad_alloc.
[[nodiscard]] Signal* take_message(Pid to, std::size_t bytes);
/// With the heap that it lies in.
void give_message_heap(void* signal) noexcept;
/// It is not made after all.
void forget_message(const Signal* signal) noexcept;
/// Makes what a signal holds anew, in the memory of the running actor. Throws what crossing throws.
void cross_in(Signal& signal);
/// From now on the exceptions that an isolated actor throws are among its belongings. Once per
/// process.
void keep_exceptions() noexcept;

/// Throws std::logic_error in an isolated actor: `what` would share its memory with others; what
/// it has to do instead.
void refuse_to_share(const char* what, const char* instead);
[[gnu::always_inline]] inline void check_shares(const char* what, const char* instead) {
  if (memory::current_heap.inside != nullptr) [[unlikely]]
    refuse_to_share(what, instead);
}
/// From now on that ask is one of the running actor's belongings. Throws std::bad_alloc.
void owes_answer(const ReplyTo& to);

}  // namespace bulkhead::core
