// Parcels: memory that is handed over, and must be released exactly once, whatever fails when.
//
// The memory comes from malloc, not from operator new, and so lies outside all heaps; the records
// lie in a slab of their own (record_slab.hpp). So nothing that an isolated actor does to its own
// memory reaches them, and its parcels are known when that is discarded.
//
// A record is its parcel's for one life, of several turns, which its number counts: odd while there
// is memory, and never the same again. Whoever has a key that names the present turn holds the
// parcel.
//
// | turn    | meaning        | next                       | moved by                  |
// |---------|----------------|----------------------------|---------------------------|
// | even, t | free           | t + 1 (made)               | make_parcel               |
// | odd, t  | there, held by | t + 2 (handed over)        | hand_over_parcel, by its key     |
// |         | the key t      | t + 3 (free)               | release_parcel, by its key|
// |         |                |                            | release_all, of its owner |
//
// Rules
//  Q1  An owner is an isolated actor, or a message on its way from or to one that is discarded
//      without destructors. It has a list of its parcels. The list, and `owner` in the records of
//      it, is changed by the code of that actor, and by who runs in its place when it starts or
//      ends, or by who has the message in hand; so by one thread at a time. A list does not move,
//      and is released before it goes. A parcel that is held by anybody else has no owner.
//  Q2  Crossing a message makes a second holder, with the key of the turn after next: t + 2. That
//      fits only once the parcel has been handed over, when the whole message has crossed: until
//      then who is let go unused releases nothing, and the first one still holds it. If the first
//      one releases it instead, the number t + 2 is passed over.
//  Q3  Who releases a parcel moves its number on first, in one step; so of two with the same key
//      one has it.
//  Q4  Who is not the owner of a parcel that has one cannot hand it over or release it, even with a
//      key that fits: an isolated actor that has left one in a global variable, say. It is
//      released when its owner ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bulkhead/parcel.hpp"
#include "core/slot.hpp"

namespace bulkhead::core {

struct ParcelList;

struct ParcelRecord {
  RealSync::atomic<std::uint64_t> turn;  // 0 at first
  RealSync::atomic<ParcelList*> owner;   // null: none
  std::uint32_t index;
  std::size_t bytes;
  void* block;  // of malloc
  ParcelRecord* next;
  ParcelRecord* previous;  // null in the first of a list

  ParcelRecord*& next_free() noexcept { return next; }
};

/// The parcels of an isolated actor, or in a message (Q1).
struct ParcelList {
  ParcelRecord* first = nullptr;
};

/// Whose parcels are made, and handed over, by the code that runs on the calling thread.
struct ParcelOwners {
  ParcelList* from = nullptr;  // whose it may hand over and release; null: nobody's
  ParcelList* to = nullptr;    // who gets what it makes and what is handed over; null: nobody
};

/// Says whose code runs on the calling thread from now on: an actor's, or, while something crosses
/// (compartment.hpp), that of two. Null stands for who is not isolated, and for messages, which are
/// always destroyed by their destructors. Returns what was so before.
ParcelOwners set_parcel_owners(ParcelOwners owners) noexcept;
[[nodiscard]] ParcelOwners parcel_owners() noexcept;

/// Releases all that there is in a list, when an actor has ended, or its memory or a message is
/// discarded. Whoever still has keys to them has none that fit.
void release_all(ParcelList& list) noexcept;

struct ParcelCount {
  std::size_t parcels = 0;
  std::size_t bytes = 0;
};
/// What a list holds. By who may change it.
[[nodiscard]] ParcelCount count(const ParcelList& list) noexcept;
/// All there are. Any thread.
[[nodiscard]] ParcelCount all_parcels() noexcept;

}  // namespace bulkhead::core
