#include "core/parcels.hpp"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "core/inside.hpp"
#include "core/record_slab.hpp"

namespace bulkhead::core {

namespace {

using Slab = RecordSlab<ParcelRecord>;

constinit thread_local ParcelOwners tl_owners [[gnu::tls_model("initial-exec")]];

RealSync::atomic<std::size_t> total_parcels{0};
RealSync::atomic<std::size_t> total_bytes{0};

void link(ParcelRecord& record, ParcelList* list) noexcept {
  record.owner.store(list, std::memory_order_relaxed);
  if (list == nullptr) return;
  record.previous = nullptr;
  record.next = list->first;
  if (record.next != nullptr) record.next->previous = &record;
  list->first = &record;
}

void unlink(ParcelRecord& record, ParcelList* list) noexcept {
  if (list == nullptr) return;
  if (record.next != nullptr) record.next->previous = record.previous;
  (record.previous != nullptr ? record.previous->next : list->first) = record.next;
}

// The record that the key fits, if the caller may do something with it (Q4).
ParcelRecord* find(ParcelKey key) noexcept {
  if (key.turn % 2 == 0) return nullptr;
  ParcelRecord* record = Slab::process().find(key.index);
  if (record == nullptr || record->turn.load(std::memory_order_relaxed) != key.turn) return nullptr;
  const ParcelList* owner = record->owner.load(std::memory_order_relaxed);
  return owner == nullptr || owner == parcel_owners().from ? record : nullptr;
}

bool move_on(ParcelRecord& record, std::uint64_t turn, std::uint64_t by) noexcept {
  return record.turn.compare_exchange_strong(turn, turn + by, std::memory_order_relaxed);
}

// The memory of one whose turn has ended.
void give_back(ParcelRecord& record) noexcept {
  std::free(record.block);
  total_parcels.fetch_sub(1, std::memory_order_relaxed);
  total_bytes.fetch_sub(record.bytes, std::memory_order_relaxed);
  record.next = nullptr;
  Slab::process().give(&record);
}

void* aligned_in(void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return reinterpret_cast<void*>((address + kParcelAlignment - 1) & ~(kParcelAlignment - 1));
}

}  // namespace

// Out of line: who calls this may have switched stacks, and is on another thread than before.
[[gnu::noinline]] ParcelOwners parcel_owners() noexcept { return tl_owners; }

[[gnu::noinline]] ParcelOwners set_parcel_owners(ParcelOwners owners) noexcept {
  return std::exchange(tl_owners, owners);
}

ParcelMemory make_parcel(std::size_t bytes, ParcelFill fill) {
  const BrieflyInside inside;
  const std::size_t whole = bytes + kParcelAlignment;  // bytes is at most PTRDIFF_MAX
  std::uint32_t taken = 0;
  ParcelRecord* record = Slab::process().take(taken, 1);
  if (record == nullptr) throw std::bad_alloc();
  void* block = fill == ParcelFill::kZero ? std::calloc(1, whole) : std::malloc(whole);
  if (block == nullptr) {
    record->next = nullptr;
    Slab::process().give(record);
    throw std::bad_alloc();
  }
  record->block = block;
  record->bytes = bytes;
  link(*record, parcel_owners().to);
  const std::uint64_t turn = record->turn.load(std::memory_order_relaxed) + 1;
  record->turn.store(turn, std::memory_order_relaxed);
  total_parcels.fetch_add(1, std::memory_order_relaxed);
  total_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return {{turn, record->index}, aligned_in(block)};
}

ParcelKey next_parcel_key(ParcelKey key) noexcept {
  const BrieflyInside inside;
  return find(key) != nullptr ? ParcelKey{key.turn + 2, key.index} : ParcelKey{};
}

void hand_over_parcel(ParcelKey key) noexcept {
  const BrieflyInside inside;
  ParcelRecord* record = find(key);
  if (record == nullptr || !move_on(*record, key.turn, 2)) return;
  unlink(*record, record->owner.load(std::memory_order_relaxed));
  link(*record, parcel_owners().to);
}

void release_parcel(ParcelKey key) noexcept {
  if (key.turn == 0) return;
  const BrieflyInside inside;
  ParcelRecord* record = find(key);
  if (record == nullptr || !move_on(*record, key.turn, 3)) return;
  unlink(*record, record->owner.load(std::memory_order_relaxed));
  give_back(*record);
}

void release_all(ParcelList& list) noexcept {
  const BrieflyInside inside;
  while (list.first != nullptr) {
    ParcelRecord& record = *list.first;
    list.first = record.next;
    record.turn.fetch_add(3, std::memory_order_relaxed);
    record.owner.store(nullptr, std::memory_order_relaxed);
    give_back(record);
  }
}

ParcelCount count(const ParcelList& list) noexcept {
  ParcelCount all;
  for (const ParcelRecord* record = list.first; record != nullptr; record = record->next) {
    ++all.parcels;
    all.bytes += record->bytes;
  }
  return all;
}

ParcelCount all_parcels() noexcept {
  return {total_parcels.load(std::memory_order_relaxed),
          total_bytes.load(std::memory_order_relaxed)};
}

void refuse_parcel_size() { throw std::bad_array_new_length(); }

void refuse_parcel_index(std::size_t index, std::size_t size) {
  throw std::out_of_range("bulkhead: element " + std::to_string(index) + " of a Parcel of " +
                          std::to_string(size));
}

}  // namespace bulkhead::core
