// A log-linear histogram of durations: each power of two is cut into 64 equal buckets, so a value
// read from it is off by less than 1/64. Recording touches one counter; the size is fixed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace echo {

class Histogram {
 public:
  void record(std::uint64_t nanoseconds) {
    ++counts_[bucket(nanoseconds)];
    ++total_;
    max_ = std::max(max_, nanoseconds);
  }

  void add(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    max_ = std::max(max_, other.max_);
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }

  /// The smallest bucket's upper end below which at least `fraction` of the values lie, in
  /// nanoseconds; 0 if empty.
  [[nodiscard]] std::uint64_t percentile(double fraction) const {
    if (total_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(fraction * static_cast<double>(total_ - 1)) + 1;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= rank) return std::min(upper_end(i), max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr std::uint64_t kSteps = std::uint64_t{1} << kBits;

  // Values below kSteps have a bucket each; above, the kBits bits after the leading one choose the
  // bucket.
  static std::size_t bucket(std::uint64_t value) {
    if (value < kSteps) return static_cast<std::size_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return static_cast<std::size_t>((shift + 1) * kSteps + ((value >> shift) - kSteps));
  }

  static std::uint64_t upper_end(std::size_t index) {
    if (index < kSteps) return index;
    const auto shift = static_cast<unsigned>(index / kSteps) - 1;
    return ((index % kSteps + kSteps + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - kBits + 1) * kSteps> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace echo
