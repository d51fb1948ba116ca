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
// | turn    | meaning        | next                | moved by                   |
// |---------|----------------|---------------------|----------------------------|
// | even, t | free           | t + 1 (made)        | make_parcel                |
// | odd, t  | there, held by | t + 2 (handed over) | hand_over_parcel, by its key |
// |         | the key t      | t + 3 (free)        | release_parcel, by its key |
//
// Rules
//  Q1  Of an isolated actor that makes a parcel, or is handed one, its key is a belonging
//      (belongings.hpp), and releases it when the actor has trapped. It is over, whatever else the
//      list holds, once the parcel has been handed over or released.
//  Q2  Crossing a message makes a second holder, with the key of the turn after next: t + 2. That
//      fits only once the parcel has been handed over, when the whole message has crossed: until
//      then who is let go unused releases nothing, and the first one still holds it. If the first
//      one releases it instead, the number t + 2 is passed over.
//  Q3  Who releases a parcel moves its number on first, in one step; so of two with the same key
//      one has it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bulkhead/parcel.hpp"
#include "core/slot.hpp"

namespace bulkhead::core {

struct ParcelRecord {
  RealSync::atomic<std::uint64_t> turn;  // 0 at first
  std::uint32_t index;
  std::size_t bytes;
  void* block;  // of malloc
  ParcelRecord* next;

  ParcelRecord*& next_free() noexcept { return next; }
};

struct ParcelCount {
  std::size_t parcels = 0;
  std::size_t bytes = 0;
};
/// All there are. Any thread.
[[nodiscard]] ParcelCount all_parcels() noexcept;

}  // namespace bulkhead::core
