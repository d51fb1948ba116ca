/// A value whose copies are counted.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "support/wait.hpp"

namespace support {

class Counted {
 public:
  explicit Counted(std::string text) : text_(std::move(text)) { ++alive_; }
  Counted(const Counted& other) : text_(other.text_) { ++alive_; }
  Counted(Counted&& other) noexcept : text_(std::move(other.text_)) { ++alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive_; }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] static int alive() { return alive_; }

 private:
  static inline std::atomic<int> alive_{0};
  std::string text_;
};

/// A core that is just sending one, or gets to drop it, may be a little behind.
inline void expect_none_alive() {
  EXPECT_TRUE(eventually([] { return Counted::alive() == 0; })) << Counted::alive();
}

}  // namespace support
