/// A pipe whose reader blocks its thread.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace support {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  /// Blocks the thread until something is written.
  char read() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
    return byte;
  }
  void write(char byte, std::size_t times = 1) const {
    const std::string text(times, byte);
    EXPECT_EQ(::write(ends_[1], text.data(), times), static_cast<ssize_t>(times));
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace support
