/// Parcel: much data, which is handed over without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "bulkhead/cross_check.hpp"
#include "bulkhead/crossable.hpp"

namespace bulkhead {

namespace core {

/// The right to a parcel's memory. It holds for one turn: whenever the parcel is handed over, or
/// its memory is released, the next one begins, and older keys fit no more.
struct ParcelKey {
  std::uint64_t turn = 0;  // 0: to none
  std::uint32_t index = 0;
};

struct ParcelMemory {
  ParcelKey key;
  void* data = nullptr;  // aligned to kParcelAlignment
};

inline constexpr std::size_t kParcelAlignment = 64;

enum class ParcelFill : std::uint8_t { kZero, kNothing };

/// Memory outside all heaps. It belongs to the caller, if that is an isolated actor. Throws
/// std::bad_alloc.
[[nodiscard]] ParcelMemory make_parcel(std::size_t bytes, ParcelFill fill);
/// The key of who has the parcel after the next hand-over; to none, when this one does not fit.
/// Throws std::bad_alloc.
[[nodiscard]] ParcelKey next_parcel_key(ParcelKey key);
/// From now on the next key fits. Without effect when next_parcel_key was to none.
void hand_over_parcel(ParcelKey key) noexcept;
/// Releases the memory. Without effect when the key does not fit.
void release_parcel(ParcelKey key) noexcept;

[[noreturn]] void refuse_parcel_size();
[[noreturn]] void refuse_parcel_index(std::size_t index, std::size_t size);

}  // namespace core

/// An array in memory that is nobody's heap: the contents of a file, an image, a frame. A message
/// that holds one takes it along, also to and from isolated actors, where all else is copied.
/// Move-only; made from nothing, or moved from, it is empty. Like a vector it is used by one actor
/// at a time. The memory is released with it; and when an isolated actor fails, all parcels that
/// are its own are. The elements are trivially copyable, and hold no pointers; the first one is
/// aligned to 64 bytes.
template <class T = std::byte>
class Parcel {
 public:
  using value_type = T;

  Parcel() = default;
  /// Elements whose bytes are all zero. Throws std::bad_alloc; std::bad_array_new_length, which is
  /// one, when there cannot be so many.
  explicit Parcel(std::size_t count) : Parcel(count, core::ParcelFill::kZero) {}
  /// A copy. Throws as above.
  [[nodiscard]] static Parcel copy_of(std::span<const T> from) {
    Parcel made(from.size(), core::ParcelFill::kNothing);
    if (!from.empty()) std::memcpy(made.data(), from.data(), from.size_bytes());
    return made;
  }

  Parcel(Parcel&& other) noexcept
      : memory_(std::exchange(other.memory_, {})), size_(std::exchange(other.size_, 0)) {}
  Parcel& operator=(Parcel&& other) noexcept {
    if (this != &other) {
      core::release_parcel(memory_.key);
      memory_ = std::exchange(other.memory_, {});
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~Parcel() {
    if (memory_.key.turn != 0) core::release_parcel(memory_.key);
  }

  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_.data); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(memory_.data); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size_}; }

  /// Throws std::out_of_range.
  [[nodiscard]] T& at(std::size_t index) {
    if (index >= size_) core::refuse_parcel_index(index, size_);
    return data()[index];
  }
  [[nodiscard]] const T& at(std::size_t index) const {
    if (index >= size_) core::refuse_parcel_index(index, size_);
    return data()[index];
  }

  /// Only the first `count` elements are left, for what turned out to be shorter than expected. The
  /// memory of the others stays with the parcel. Throws std::out_of_range when there are fewer.
  void truncate(std::size_t count) {
    if (count > size_) core::refuse_parcel_index(count, size_);
    size_ = count;
  }

 private:
  friend struct Crossing<Parcel>;

  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                "bulkhead: the elements of a Parcel must be trivially copyable, and not const");
  static_assert(alignof(T) <= core::kParcelAlignment,
                "bulkhead: the elements of a Parcel are aligned to at most 64 bytes");

  Parcel(const core::ParcelMemory& memory, std::size_t size) noexcept
      : memory_(memory), size_(size) {}
  Parcel(std::size_t count, core::ParcelFill fill) : size_(count) {
    crossing::check_part<T>();
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) core::refuse_parcel_size();
    if (count != 0) memory_ = core::make_parcel(count * sizeof(T), fill);
  }

  core::ParcelMemory memory_;
  std::size_t size_ = 0;
};

template <class T>
struct Crossing<Parcel<T>> {
  static Parcel<T> cross(const Parcel<T>& from) {
    const core::ParcelKey key = core::next_parcel_key(from.memory_.key);
    if (key.turn == 0) return Parcel<T>();
    return Parcel<T>({key, from.memory_.data}, from.size_);
  }
  static void let_go(Parcel<T>& from) noexcept {
    core::hand_over_parcel(from.memory_.key);
    from.memory_ = {};
    from.size_ = 0;
  }
};

}  // namespace bulkhead
