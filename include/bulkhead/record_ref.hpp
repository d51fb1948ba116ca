/// What an actor has started, for telling it from others, and for ending it.
#pragma once

#include <compare>
#include <cstdint>

namespace bulkhead {

/// Refers to a record of the runtime, by its place and its generation there, which does not come
/// again: so a reference to one that has ended refers to nothing. `Of` is the class derived from
/// it. Any thread; two words.
template <class Of>
class RecordRef {
 public:
  RecordRef() = default;
  RecordRef(std::uint32_t index, std::uint32_t generation) noexcept
      : index_(index), generation_(generation) {}
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  friend auto operator<=>(RecordRef, RecordRef) = default;

 private:
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace bulkhead
