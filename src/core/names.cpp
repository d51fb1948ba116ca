#include "core/names.hpp"

#include <cstring>
#include <new>

#include "core/domain.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

// It may have ended since, and this may be the class of another one: whoever uses it looks whether
// the actor lives first.
const ActorClass* class_of(Pid actor) noexcept {
  return Slab::at(actor.index()).kind.observe();  // [pair shown.observe]
}

}  // namespace

// --- by name -------------------------------------------------------------------------------------

Names::ByName* Names::find_in(NameShard& shard, std::string_view name,
                              std::uint64_t hash) noexcept {
  return shard.records.find(hash,
                            [name](const ByName& record) noexcept { return record.name == name; });
}

bool Names::left_behind() const noexcept { return domain_.was_forked(); }

// Does it live, in this runtime?
bool Names::is_here(Pid actor) const noexcept {
  if (!lives(actor)) return false;
  const Core* home = core_at(Slab::at(actor.index()).home.load(std::memory_order_acquire));
  return home != nullptr && home->domain.load(std::memory_order_acquire) == &domain_;
}

std::expected<void, RegisterError> Names::give(std::string_view name, Pid actor) {
  const std::uint64_t hash = hash_of(name);
  auto by_name = std::make_unique<ByName>();
  *by_name = {nullptr, hash, actor, nullptr, std::string(name)};
  auto by_pid = std::make_unique<ByPid>();
  *by_pid = {nullptr, actor.index(), actor, hash};

  PidShard& pids = shard_of(actor);
  NameShard& names = shard_of(hash);
  const sync::Guard pids_guard(pids.lock);
  if (!is_here(actor)) return std::unexpected(RegisterError{RegisterError::kNoActor});
  by_name->kind = class_of(actor);
  ByPid* earlier = pids.records.find(actor.index(), [](const ByPid&) noexcept { return true; });
  if (earlier != nullptr && earlier->pid == actor) {
    return std::unexpected(RegisterError{RegisterError::kNamed});
  }
  const sync::Guard names_guard(names.lock);
  ByName* other = find_in(names, name, hash);
  if (other != nullptr && lives(other->pid)) {
    return std::unexpected(RegisterError{RegisterError::kTaken, other->pid});
  }
  pids.records.make_room();
  names.records.make_room();
  if (earlier != nullptr) {  // of an actor that was in the same slot
    earlier->pid = actor;
    earlier->hash = hash;
  } else {
    pids.records.add(std::move(by_pid));
  }
  if (other != nullptr) {
    other->pid = actor;
    other->kind = by_name->kind;
  } else {
    names.records.add(std::move(by_name));
  }
  return {};
}

bool Names::take_away(std::string_view name, Pid actor) {
  const std::uint64_t hash = hash_of(name);
  NameShard& names = shard_of(hash);
  // Who has it is only known once the second lock is held, and which is the first depends on that.
  while (const Pid holder = find(name, hash).pid) {
    if (actor && actor != holder) return false;
    PidShard& pids = shard_of(holder);
    const sync::Guard pids_guard(pids.lock);
    const sync::Guard names_guard(names.lock);
    const ByName* record = find_in(names, name, hash);
    if (record == nullptr || record->pid != holder) continue;
    names.edition.change();
    names.records.remove(record);
    const ByPid* reverse = pids.records.find(
        holder.index(), [holder](const ByPid& each) noexcept { return each.pid == holder; });
    if (reverse != nullptr) pids.records.remove(reverse);
    return true;
  }
  return false;
}

Names::Holder Names::find(std::string_view name, std::uint64_t hash) {
  NameShard& shard = shard_of(hash);
  const sync::Guard guard(shard.lock);
  const ByName* record = find_in(shard, name, hash);
  if (record == nullptr || !lives(record->pid)) return {};
  return {record->pid, record->kind};
}

// --- by pid, and all -----------------------------------------------------------------------------

// The name with that hash that the actor has. Under the lock of the actor's shard, or not.
std::string Names::name_with(std::uint64_t hash, Pid actor) {
  NameShard& shard = shard_of(hash);
  const sync::Guard guard(shard.lock);
  const ByName* record =
      shard.records.find(hash, [actor](const ByName& each) noexcept { return each.pid == actor; });
  return record != nullptr ? record->name : std::string();
}

std::string Names::name_of(Pid actor) { return lives(actor) ? last_name_of(actor) : ""; }

std::string Names::last_name_of(Pid actor) {
  PidShard& shard = shard_of(actor);
  const sync::Guard guard(shard.lock);
  const ByPid* record = shard.records.find(
      actor.index(), [actor](const ByPid& each) noexcept { return each.pid == actor; });
  return record != nullptr ? name_with(record->hash, actor) : std::string();
}

std::vector<std::string> Names::all() {
  std::vector<std::string> names;
  for (NameShard& shard : by_name_) {
    const sync::Guard guard(shard.lock);
    shard.records.for_each([&names](const ByName& record) {
      if (lives(record.pid)) names.push_back(record.name);
    });
  }
  return names;
}

std::size_t Names::records() {
  std::size_t count = 0;
  for (NameShard& shard : by_name_) {
    const sync::Guard guard(shard.lock);
    count += shard.records.size();
  }
  for (PidShard& shard : by_pid_) {
    const sync::Guard guard(shard.lock);
    count += shard.records.size();
  }
  return count;
}

// --- copies --------------------------------------------------------------------------------------

const NameCache::Entry* NameCache::find(std::string_view name, std::uint64_t hash) const noexcept {
  for (const Entry& entry : sets_[set_of(hash)].ways) {
    if (entry.hash == hash && entry.length == name.size() &&
        std::memcmp(entry.name, name.data(), name.size()) == 0) {
      return &entry;
    }
  }
  return nullptr;
}

void NameCache::keep(std::string_view name, std::uint64_t hash, std::uint64_t edition,
                     const Names::Holder& holder) noexcept {
  Entry* place = const_cast<Entry*>(find(name, hash));  // NOLINT: its own
  if (place == nullptr) {
    Set& set = sets_[set_of(hash)];
    place = &set.ways[next_way_++ % kWays];
    for (Entry& entry : set.ways) {
      if (entry.length == 0 || !lives(entry.pid)) place = &entry;
    }
  }
  place->hash = hash;
  place->edition = edition;
  place->pid = holder.pid;
  place->kind = holder.kind;
  place->length = static_cast<std::uint8_t>(name.size());
  std::memcpy(place->name, name.data(), name.size());
}

Names::Holder Names::look_up(Core& core, std::string_view name, std::uint64_t hash) {
  if (core.names != nullptr) [[likely]] {
    const NameCache::Entry* entry = core.names->find(name, hash);
    if (entry != nullptr && entry->edition == shard_of(hash).edition.now() && lives(entry->pid))
        [[likely]] {
      return {entry->pid, entry->kind};
    }
  }
  return look_up_slowly(core, name, hash);
}

[[gnu::noinline]] Names::Holder Names::look_up_slowly(Core& core, std::string_view name,
                                                      std::uint64_t hash) {
  if (core.names == nullptr) core.names = new (std::nothrow) NameCache;
  NameShard& shard = shard_of(hash);
  std::uint64_t edition = 0;
  Holder holder;
  {
    const sync::Guard guard(shard.lock);
    const ByName* record = find_in(shard, name, hash);
    if (record == nullptr || !lives(record->pid)) return {};
    holder = {record->pid, record->kind};
    edition = shard.edition.now();
  }
  if (core.names != nullptr && name.size() <= NameCache::kLongest) {
    core.names->keep(name, hash, edition, holder);
  }
  return holder;
}

}  // namespace bulkhead::core
