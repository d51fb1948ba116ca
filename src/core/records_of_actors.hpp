// Records of actors, in a hash table: those of dead ones are swept out by and by, so that the table
// stays as large as the living need it. Whoever owns it, or holds its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bulkhead/pid.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

/// A Record has `std::unique_ptr<Record> next`, `std::uint64_t key`, of which the low bits need not
/// vary, and `Pid pid`.
template <class Record>
class RecordsOfActors {
 public:
  using Link = std::unique_ptr<Record>;

  /// The first record with that key that is_it(record) says is the one; null when there is none.
  template <class IsIt>
  [[nodiscard]] Record* find(std::uint64_t key, IsIt is_it) noexcept {
    if (buckets_.empty()) return nullptr;
    for (Record* record = bucket(key).get(); record != nullptr; record = record->next.get()) {
      if (record->key == key && is_it(*record)) return record;
    }
    return nullptr;
  }

  /// Before one is added. Throws std::bad_alloc.
  void make_room() {
    if (count_ >= buckets_.size()) grow();
  }
  /// Adds one, for which there is room, and sweeps a little.
  void add(Link record) noexcept {
    for (std::size_t i = 0; i < kSweptPerAdd; ++i) sweep(swept_++ % buckets_.size());
    Link& head = bucket(record->key);
    record->next = std::move(head);
    head = std::move(record);
    ++count_;
  }

  void remove(const Record* record) noexcept {
    Link* link = &bucket(record->key);
    while (link->get() != record) link = &(*link)->next;
    unlink(*link);
  }

  template <class Visit>
  void for_each(Visit visit) {
    for (const Link& head : buckets_) {
      for (const Record* record = head.get(); record != nullptr; record = record->next.get()) {
        visit(*record);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  // With two, a turn over all buckets takes half as many additions as there are buckets: so when no
  // more than half as many actors live, it never grows.
  static constexpr std::size_t kSweptPerAdd = 2;
  static constexpr std::size_t kLeastBuckets = 4;

  [[nodiscard]] Link& bucket(std::uint64_t key) noexcept {
    // The low bits have chosen the table.
    return buckets_[(key * 0x9e3779b97f4a7c15u >> 32) & (buckets_.size() - 1)];
  }
  void unlink(Link& link) noexcept {
    link = std::move(link->next);
    --count_;
  }
  void sweep(std::size_t at) noexcept {
    Link* link = &buckets_[at];
    while (*link != nullptr) {
      if (lives((*link)->pid)) {
        link = &(*link)->next;
      } else {
        unlink(*link);
      }
    }
  }
  void grow() {
    std::vector<Link> before(buckets_.empty() ? kLeastBuckets : buckets_.size() * 2);
    before.swap(buckets_);
    for (Link& head : before) {
      while (head != nullptr) {
        Link record = std::move(head);
        head = std::move(record->next);
        Link& place = bucket(record->key);
        record->next = std::move(place);
        place = std::move(record);
      }
    }
  }

  std::vector<Link> buckets_;  // a power of two, or none
  std::size_t count_ = 0;
  std::size_t swept_ = 0;
};

}  // namespace bulkhead::core
