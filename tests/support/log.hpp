/// What happened, in order, told by actors and read by the test.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace support {

template <class T>
class Log {
 public:
  void add(T entry) {
    const std::lock_guard guard(lock_);
    entries_.push_back(std::move(entry));
  }
  [[nodiscard]] std::vector<T> entries() const {
    const std::lock_guard guard(lock_);
    return entries_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard guard(lock_);
    return entries_.size();
  }

 private:
  mutable std::mutex lock_;
  std::vector<T> entries_;
};

}  // namespace support
