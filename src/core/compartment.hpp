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
#include <new>
#include <vector>

#include "bulkhead/ask.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/spawn.hpp"
#include "core/parcels.hpp"
#include "core/slot.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

class Core;

struct Compartment {
  memory::Heap* heap = nullptr;  // null where the process's operators do not know of heaps
  void* block = nullptr;         // where there is none: of the actor's state
  std::align_val_t alignment{};
  ParcelList parcels;
  /// The messages that it is making, between prepare and seal, and for whom; the last one last.
  struct Making {
    Signal* signal;
    Pid to;
  };
  std::vector<Making> making;
  /// Those that it is spawning, likewise.
  std::vector<NewActor> spawning;
  /// Those whom it still owes an answer; and some that have got one, whom nobody owes any more.
  std::vector<ReplyTo> owed;
  std::size_t prune_at = 16;
};

/// Of a limit in bytes. Throws std::bad_alloc.
[[nodiscard]] Compartment* make_compartment(std::size_t heap_limit);
/// Memory in its heap; null when there is no room.
[[nodiscard]] void* take_in_compartment(Compartment& compartment, std::size_t bytes,
                                        std::size_t alignment) noexcept;
/// With its heap, and all that is its own.
void discard_compartment(Compartment* compartment) noexcept;
/// Null when it is not isolated. Owner.
[[nodiscard]] Compartment* compartment_of(const Slot& slot) noexcept;

/// Is it an isolated actor's code that sends, on this core?
[[nodiscard]] bool crosses_from(const Core& core) noexcept;
/// Memory for such a message, in a heap of its own. Throws std::bad_alloc.
[[nodiscard]] Signal* take_message_heap(const Core& core, Pid to, std::size_t bytes);
/// With the heap that it lies in.
void give_message_heap(void* signal) noexcept;
/// It is not made after all.
void forget_making(const Core& core, const Signal* signal) noexcept;
/// Those that an actor was making when it trapped are given back. Inside.
void withdraw_making(Compartment& compartment) noexcept;
/// Makes what a signal holds anew, in that heap, or in the process's memory. Throws what crossing
/// throws.
void cross_in(memory::Heap* to, Signal& signal);

/// The running actor is asked, and owes an answer. Throws std::bad_alloc.
void owe(Compartment& compartment, const ReplyTo& to);
/// It will never answer: all who wait for it are told. For one that has trapped.
void fail_owed(Compartment& compartment) noexcept;

}  // namespace bulkhead::core
