// Records that references outlive: each has a place of its own, which is never unmapped, and a
// generation, which is odd while it is used. So a stale reference (index, generation) can be looked
// up at any time, and does not match.
//
// Record has: `std::uint32_t index`, an atomic `std::uint32_t generation`, `Record*& next_free()`.
//
// Threads: the slab is the process's, and locked. Free records belong to a core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/critical.hpp"
#include "core/slot.hpp"
#include "machine/fork.hpp"
#include "machine/pages.hpp"

namespace bulkhead::core {

template <class Record>
class RecordSlab {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 26;
  static constexpr std::uint32_t kBatch = 128;

  static RecordSlab& process() {
    static auto* slab = new RecordSlab;
    return *slab;
  }

  /// Up to `most` records, at least one, chained, and how many. Null when there are no more.
  [[nodiscard]] Record* take(std::uint32_t& count, std::uint32_t most = kBatch) noexcept {
    sync::Guard guard(lock_);
    count = 0;
    Record* chain = free_;
    if (chain != nullptr) {
      Record* last = chain;
      for (count = 1; count < most && last->next_free() != nullptr; ++count) {
        last = last->next_free();
      }
      free_ = std::exchange(last->next_free(), nullptr);
      return chain;
    }
    for (; count < most && make_room(); ++count) {
      const std::uint32_t index = used_.load(std::memory_order_relaxed);
      auto* record = new (base_ + index) Record{};
      record->index = index;
      used_.store(index + 1, std::memory_order_release);  // [pair record_slab.used]
      record->next_free() = chain;
      chain = record;
    }
    return chain;
  }

  void give(Record* chain) noexcept {
    if (chain == nullptr) return;
    sync::Guard guard(lock_);
    Record* last = chain;
    while (last->next_free() != nullptr) last = last->next_free();
    last->next_free() = free_;
    free_ = chain;
  }

  /// How many there are, used or free. Any thread.
  [[nodiscard]] std::uint32_t made() const noexcept {
    return used_.load(std::memory_order_relaxed);
  }

  /// The record of that index; null when it was never made. Any thread.
  [[nodiscard]] Record* find(std::uint32_t index) noexcept {
    return index < used_.load(std::memory_order_acquire) ? base_ + index : nullptr;  // [pair]
  }

 private:
  static constexpr std::size_t kCommitStep = machine::kHugePageBytes;

  RecordSlab()
      : base_(static_cast<Record*>(
            machine::reserve_aligned(kMost * sizeof(Record), machine::kHugePageBytes))) {}

  bool make_room() noexcept {
    if (used_.load(std::memory_order_relaxed) < committed_) return true;
    if (committed_ == kMost) return false;
    try {
      std::byte* begin = reinterpret_cast<std::byte*>(base_) + committed_bytes_;
      machine::commit(begin, kCommitStep);
      machine::prefer_huge_pages(begin, kCommitStep);
    } catch (const std::bad_alloc&) {
      return false;
    }
    committed_bytes_ += kCommitStep;
    committed_ = static_cast<std::uint32_t>(committed_bytes_ / sizeof(Record));
    return true;
  }

  machine::ForkMutex lock_{machine::Nesting::kInner};
  Record* base_;
  Record* free_ = nullptr;
  RealSync::atomic<std::uint32_t> used_{0};
  std::uint32_t committed_ = 0;
  std::size_t committed_bytes_ = 0;
};

/// A core's free records.
template <class Record>
class FreeRecords {
 public:
  /// One, with its next generation. Throws std::bad_alloc.
  [[nodiscard]] Record& take() {
    if (first_ == nullptr) {
      if (bounded_) throw std::bad_alloc();  // who takes one asks before
      const base::Critical critical("who takes a record must not block");
      first_ = Slab::process().take(count_);
      if (first_ == nullptr) throw std::bad_alloc();
    }
    Record& record = *first_;
    first_ = record.next_free();
    --count_;
    return record;
  }

  /// One whose generation is spent is never used again. A core that gets more back than it takes
  /// passes them on.
  void give(Record& record) noexcept {
    if (is_spent(record)) return;
    record.next_free() = first_;
    first_ = &record;
    if (++count_ <= 2 * Slab::kBatch || bounded_) return;
    Record* last = first_;
    for (std::uint32_t i = 1; i < Slab::kBatch; ++i) last = last->next_free();
    Record* chain = std::exchange(first_, std::exchange(last->next_free(), nullptr));
    count_ -= Slab::kBatch;
    Slab::process().give(chain);
  }

  /// Takes so many more, and from now on no others. Throws std::bad_alloc.
  void reserve(std::uint32_t records) {
    bounded_ = true;
    while (records > 0) {
      std::uint32_t taken = 0;
      Record* chain = Slab::process().take(taken, std::min(records, Slab::kBatch));
      if (chain == nullptr) throw std::bad_alloc();
      Record* last = chain;
      while (last->next_free() != nullptr) last = last->next_free();
      last->next_free() = std::exchange(first_, chain);
      count_ += taken;
      records -= taken;
    }
  }
  /// One that was reserved does not come back: takes another in its place, if there is any.
  void replace() noexcept {
    if (!bounded_) return;
    std::uint32_t taken = 0;
    if (Record* record = Slab::process().take(taken, 1); record != nullptr) give(*record);
  }
  /// One that is nobody's any more, and of no core.
  static void give_to_process(Record& record) noexcept {
    if (is_spent(record)) return;
    record.next_free() = nullptr;
    Slab::process().give(&record);
  }
  /// Are those that were reserved all taken?
  [[nodiscard]] bool used_up() const noexcept { return bounded_ && first_ == nullptr; }

  /// All go back to the process.
  void drain() noexcept {
    bounded_ = false;
    if (first_ == nullptr) return;  // there may be no slab, and no room to make it
    Slab::process().give(first_);
    first_ = nullptr;
    count_ = 0;
  }

 private:
  using Slab = RecordSlab<Record>;

  [[nodiscard]] static bool is_spent(const Record& record) noexcept {
    return record.generation.load(std::memory_order_relaxed) == UINT32_MAX - 1;
  }

  Record* first_ = nullptr;
  std::uint32_t count_ = 0;
  bool bounded_ = false;
};

template <class Record>
std::uint32_t next_generation(Record& record) noexcept {
  const std::uint32_t next = record.generation.load(std::memory_order_relaxed) + 1;
  record.generation.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace bulkhead::core
