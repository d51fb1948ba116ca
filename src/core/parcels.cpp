#include "core/parcels.hpp"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "core/belongings.hpp"
#include "core/inside.hpp"
#include "core/record_slab.hpp"

namespace bulkhead::core {

namespace {

using Slab = RecordSlab<ParcelRecord>;

RealSync::atomic<std::size_t> total_parcels{0};
RealSync::atomic<std::size_t> total_bytes{0};

// The record that the key fits.
ParcelRecord* find(ParcelKey key) noexcept {
  if (key.turn % 2 == 0) return nullptr;
  ParcelRecord* record = Slab::process().find(key.index);
  const bool fits = record != nullptr && record->turn.load(std::memory_order_relaxed) == key.turn;
  return fits ? record : nullptr;
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

ParcelKey key_of(const Belonging& each) noexcept {
  return {each.what[0], static_cast<std::uint32_t>(each.what[1])};
}
constexpr Belonging::Ops kParcelOps = {
    [](const Belonging& each) noexcept { return find(key_of(each)) == nullptr; },
    [](const Belonging& each) noexcept { release_parcel(key_of(each)); }};

Belonging belonging(ParcelKey key) noexcept { return {&kParcelOps, {key.turn, key.index}}; }

}  // namespace

ParcelMemory make_parcel(std::size_t bytes, ParcelFill fill) {
  const BrieflyInside inside;
  expect_belonging();
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
  const std::uint64_t turn = record->turn.load(std::memory_order_relaxed) + 1;
  record->turn.store(turn, std::memory_order_relaxed);
  const ParcelKey key{turn, record->index};
  belongs_to_caller(belonging(key));
  total_parcels.fetch_add(1, std::memory_order_relaxed);
  total_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return {key, aligned_in(block)};
}

ParcelKey next_parcel_key(ParcelKey key) {
  if (find(key) == nullptr) return {};
  expect_belonging();
  return {key.turn + 2, key.index};
}

void hand_over_parcel(ParcelKey key) noexcept {
  const BrieflyInside inside;
  ParcelRecord* record = find(key);
  if (record == nullptr || !move_on(*record, key.turn, 2)) return;
  belongs_to_caller(belonging({key.turn + 2, key.index}));
}

void release_parcel(ParcelKey key) noexcept {
  if (key.turn == 0) return;
  const BrieflyInside inside;
  ParcelRecord* record = find(key);
  if (record == nullptr || !move_on(*record, key.turn, 3)) return;
  give_back(*record);
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
