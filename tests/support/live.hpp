/// Live: a value whose every construction and destruction is counted.
#pragma once

#include <atomic>
#include <cstdlib>
#include <utility>

namespace support {

/// Moves, and never copies. Destroying one twice, or one that never was, aborts.
class Live {
 public:
  /// `value` is not negative.
  Live() noexcept : Live(0) {}
  explicit Live(int value) noexcept : value_(value) {
    born();
    values_.fetch_add(1, std::memory_order_relaxed);
  }
  Live(Live&& other) noexcept : value_(std::exchange(other.value_, -1)) { born(); }
  Live& operator=(Live&& other) noexcept {
    if (this == &other) return *this;
    end_value();
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  ~Live() {
    if (mark_ != kMark) std::abort();
    mark_ = ~kMark;
    alive_.fetch_sub(1, std::memory_order_relaxed);
    end_value();
  }

  [[nodiscard]] int value() const noexcept { return value_; }

  /// Objects that exist now, those that were moved from among them.
  [[nodiscard]] static long alive() noexcept { return alive_.load(std::memory_order_relaxed); }
  /// Values that exist now.
  [[nodiscard]] static long values() noexcept { return values_.load(std::memory_order_relaxed); }
  /// Values whose last holder was destroyed, since the last reset.
  [[nodiscard]] static long ended() noexcept { return ended_.load(std::memory_order_relaxed); }
  static void reset() noexcept { ended_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr unsigned kMark = 0x600df00d;

  void born() noexcept { alive_.fetch_add(1, std::memory_order_relaxed); }

  // One that was moved from carries nothing: only the last in the chain is the end of the value.
  void end_value() noexcept {
    if (value_ < 0) return;
    ended_.fetch_add(1, std::memory_order_relaxed);
    values_.fetch_sub(1, std::memory_order_relaxed);
  }

  static inline std::atomic<long> alive_{0};
  static inline std::atomic<long> values_{0};
  static inline std::atomic<long> ended_{0};

  volatile unsigned mark_ = kMark;
  int value_;
};

}  // namespace support
