// The names of a runtime's actors, by which they are looked up.
//
// A name is kept with the pid that it was given to. That the actor has ended is seen by the
// generation of its slot: then the name is free, and nobody need tell. Records of dead actors are
// swept by later registrations.
//
// Rules
//  N1  Two tables, each in shards under a lock: by name, and by the pid's index. Who holds a lock
//      of the second takes one of the first, not the reverse; nor two of the same.
//  N2  A name is given and taken away under both locks. So of the records of living actors there is
//      one for each name, and one for each actor.
//  N3  A core keeps copies of what it has looked up. A copy is good while its actor lives and its
//      shard has the same edition (sync/edition.hpp), which changes when a name is taken from an
//      actor that may live. A name that is new, or goes over from a dead one, makes no copy wrong:
//      there are none of names that nobody has.
// Checked by sync/edition_model.cpp (N3) and tests/stress/names.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/actor_class.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/registry.hpp"
#include "core/core.hpp"
#include "core/records_of_actors.hpp"
#include "sync/edition.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::core {

class Names {
 public:
  explicit Names(Domain& domain) : domain_(domain) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// Who has a name: none, with no class, when nobody does.
  struct Holder {
    Pid pid;
    const ActorClass* kind = nullptr;
  };

  [[nodiscard]] static std::uint64_t hash_of(std::string_view name) noexcept {
    return std::hash<std::string_view>()(name);
  }

  // Any thread that nobody takes the core away from (inside.hpp). Names are 1 to 255 bytes.

  /// Throws std::bad_alloc.
  std::expected<void, RegisterError> give(std::string_view name, Pid actor);
  /// From that actor; with none, from whoever has it.
  bool take_away(std::string_view name, Pid actor);
  [[nodiscard]] Holder find(std::string_view name, std::uint64_t hash);
  /// Empty when it has none, or has ended. Throws std::bad_alloc.
  [[nodiscard]] std::string name_of(Pid actor);
  /// The same, also of one that has ended with a name, as long as that is remembered.
  [[nodiscard]] std::string last_name_of(Pid actor);
  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::string> all();

  /// Is this process a fork of the one that runs the runtime? Then nobody lives here, and a lock
  /// may be held for ever. Asked before the rest, by threads outside.
  [[nodiscard]] bool left_behind() const noexcept;

  /// The same as find, for the thread of one of the runtime's cores.
  [[nodiscard]] Holder look_up(Core& core, std::string_view name, std::uint64_t hash);

  /// Records, also of dead actors, in both tables. For tests.
  [[nodiscard]] std::size_t records();

 private:
  static constexpr std::size_t kShards = 64;

  struct ByName {
    std::unique_ptr<ByName> next;
    std::uint64_t key;  // the name's hash
    Pid pid;
    const ActorClass* kind;
    std::string name;
  };
  struct ByPid {
    std::unique_ptr<ByPid> next;
    std::uint64_t key;  // the index
    Pid pid;
    std::uint64_t hash;  // of its name
  };
  struct alignas(64) NameShard {
    sync::Edition<RealSync> edition;  // read by all, and seldom written
    alignas(64) sync::Mutex lock;
    RecordsOfActors<ByName> records;
  };
  struct alignas(64) PidShard {
    sync::Mutex lock;
    RecordsOfActors<ByPid> records;
  };

  [[nodiscard]] NameShard& shard_of(std::uint64_t hash) noexcept {
    return by_name_[hash % kShards];
  }
  [[nodiscard]] PidShard& shard_of(Pid pid) noexcept { return by_pid_[pid.index() % kShards]; }
  [[nodiscard]] static ByName* find_in(NameShard& shard, std::string_view name,
                                       std::uint64_t hash) noexcept;
  [[nodiscard]] bool is_here(Pid actor) const noexcept;
  [[nodiscard]] Holder look_up_slowly(Core& core, std::string_view name, std::uint64_t hash);
  [[nodiscard]] std::string name_with(std::uint64_t hash, Pid actor);

  Domain& domain_;
  std::array<NameShard, kShards> by_name_;
  std::array<PidShard, kShards> by_pid_;
};

/// What one core has looked up. Its thread's.
class NameCache {
 public:
  static constexpr std::size_t kLongest = 95;  // of the names that are kept

  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t edition = 0;
    Pid pid;
    const ActorClass* kind = nullptr;
    std::uint8_t length = 0;  // 0: none
    char name[kLongest] = {};
  };
  static_assert(sizeof(Entry) == 128, "two cache lines; short names are in the first");

  [[nodiscard]] const Entry* find(std::string_view name, std::uint64_t hash) const noexcept;
  /// Not for names that are longer than kLongest.
  void keep(std::string_view name, std::uint64_t hash, std::uint64_t edition,
            const Names::Holder& holder) noexcept;

 private:
  static constexpr std::size_t kWays = 2;
  static constexpr std::size_t kSets = 64;

  struct alignas(128) Set {
    Entry ways[kWays];
  };
  // Other bits than those that choose the shard.
  [[nodiscard]] static std::size_t set_of(std::uint64_t hash) noexcept {
    return (hash >> 8) % kSets;
  }

  Set sets_[kSets];
  std::uint32_t next_way_ = 0;
};

}  // namespace bulkhead::core
