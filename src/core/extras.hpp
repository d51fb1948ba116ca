// What few actors have: made when first needed, from the core's pool. Owner only.
#pragma once

#include <string>

#include "core/bond.hpp"
#include "core/core.hpp"
#include "core/send_timers.hpp"
#include "sync/stop_source.hpp"

namespace bulkhead::core {

struct Compartment;

/// For the crash report of an actor.
struct Notes {
  std::string label = {};
  Pid sent_by = {};  // who has sent the exit signal that ends it
};

/// What hardly any actor has.
struct Rare {
  Compartment* compartment = nullptr;  // of an isolated actor: compartment.hpp
  sync::StopSource* stop = nullptr;    // when somebody has asked for a token
  /// Of each priority above ordinary: the last signal in the queue that has it, or a higher one.
  /// Only as long as the oldest one has: see file.
  Signal* last[3] = {};
  std::uint32_t filed = 0;  // signals, as it wraps around
  std::uint16_t pool = 0;   // whose memory it is
  // For crash reports.
  Notes* notes = nullptr;
  std::uint32_t restarts = 0;        // of it
  std::uint32_t child_restarts = 0;  // of whom it spawns linked to it
};

struct Extras {
  SendTimer* timers = nullptr;
  std::uint32_t timer_count = 0;
  std::uint16_t pool = 0;                 // whose memory it is: the actor may have moved since
  bool traps : 1 = false;                 // exits become messages
  bool watches_due : 1 = false;           // some are to look: watches.hpp
  Sentenced sentenced = Sentenced::kNot;  // it is to end for the reason below
  Rare* rare = nullptr;
  Bonds bonds;
  Exit sentence;
};

static_assert(sizeof(Extras) <= kSmallestBlock && sizeof(Rare) <= kSmallestBlock);  // class 0

/// Is it to end for a reason that is known? Owner.
[[nodiscard]] inline bool is_sentenced(const Slot& slot) noexcept {
  return slot.extras != nullptr && slot.extras->sentenced != Sentenced::kNot;
}

/// `core`: the caller's, null in threads outside. Throws std::bad_alloc.
[[nodiscard]] Extras* make_extras(Core* core);
[[nodiscard]] Rare* make_rare(Core* core);
/// Gives their memory back.
void free_rare(Rare* rare, Core* core) noexcept;

/// Makes them if need be. Throws std::bad_alloc.
[[nodiscard]] Extras& extras_of(Slot& slot, Core& core);
[[nodiscard]] Rare& rare_of(Slot& slot, Core& core);
[[nodiscard]] Notes& notes_of(Slot& slot, Core& core);
/// Puts a signal that is not ordinary into the queue: behind those of its priority, and in front of
/// all that have a lower one. Without memory to know its place it waits its turn.
void file(Slot& slot, Signal* signal, Core& core) noexcept;
/// How many have been, for comparison.
[[nodiscard]] std::uint32_t filed(const Slot& slot) noexcept;
/// A signal is taken out of the middle of the queue, from behind `before`.
void note_taken(Slot& slot, const Signal* signal, Signal* before) noexcept;
/// Tells those who hold its token that the actor is asked to stop.
void tell_stop(Slot& slot) noexcept;
/// Ends an actor's timers and gives its extras back.
void discard_extras(Slot& slot, Core& core) noexcept;

}  // namespace bulkhead::core
