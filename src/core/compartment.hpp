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

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "bulkhead/ask.hpp"
#include "bulkhead/signal.hpp"
#include "bulkhead/spawn.hpp"
#include "core/parcels.hpp"
#include "core/slot.hpp"
#include "machine/clock.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

class Core;

/// What an isolated actor has, or owes, that others know of. After a trap it is released, since the
/// actor's own objects that would have done so are gone. One that is over already is as nothing.
struct Belonging {
  struct Ops {
    bool (*is_over)(const Belonging& each) noexcept;
    void (*release)(const Belonging& each) noexcept;
  };
  const Ops* ops;
  std::array<std::uint64_t, 3> what;
};

/// How often it has been made anew, and may be.
struct Restarts {
  std::size_t limit = 0;
  machine::Nanoseconds window = 0;
  std::size_t count = 0;  // in this window
  machine::Nanoseconds since = 0;

  /// Counts one more, if there may be one.
  [[nodiscard]] bool one_more(machine::Nanoseconds now) noexcept;
};

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
  Seed* seed = nullptr;  // when it restarts in place
  Restarts restarts;
  std::size_t heap_limit = 0;
  bool is_built = false;
  std::vector<Belonging> belongings;  // and some that are over
  std::size_t prune_at = 16;
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
[[nodiscard]] bool crosses_from(const Core& core) noexcept;
/// Memory for such a message, in a heap of its own. Throws std::bad_alloc.
[[nodiscard]] Signal* take_message_heap(const Core& core, Pid to, std::size_t bytes);
/// With the heap that it lies in.
void give_message_heap(void* signal) noexcept;
/// It is not made after all.
void forget_making(const Core& core, const Signal* signal) noexcept;
/// Those that an actor was making when it trapped are given back. Inside.
void withdraw_making(Compartment& compartment) noexcept;
/// Makes what a signal holds anew, in that actor's memory, or, if null, the process's. Throws what
/// crossing throws.
void cross_in(Compartment* to, Signal& signal);

/// From now on it has this. Owner. Throws std::bad_alloc.
void add_belonging(Compartment& compartment, const Belonging& belonging);
/// The same for the actor into whose memory something crosses at the moment, or else for the
/// calling one; without effect when that is not isolated. Any thread. Throws std::bad_alloc.
void belongs_to_caller(const Belonging& belonging);
/// For one that has trapped. Inside.
void release_belongings(Compartment& compartment) noexcept;

}  // namespace bulkhead::core
