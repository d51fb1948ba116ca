/// LineReader: lines, or pieces of a given size, out of a stream, with a bounded buffer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bulkhead/net/stream.hpp"

namespace bulkhead::net {

/// Reads a stream, which it owns, line by line or piece by piece. It never holds more than `most`
/// bytes: a peer that sends a longer line gets kTooLong, and is best closed. What a failed call has
/// read so far stays, so a call that timed out can be repeated.
class LineReader {
 public:
  /// `most`: the longest line, with its end, and the largest piece. Throws std::invalid_argument
  /// for 0.
  LineReader(Stream stream, std::size_t most);

  /// The next line, without its "\n" or "\r\n". The view holds until the next call. When the peer
  /// has ended: kClosedByPeer, where Error::done counts the bytes of a line without an end.
  [[nodiscard]] Result<std::string_view> read_line(Timeout timeout = kForever);
  /// The next `count` bytes, likewise.
  [[nodiscard]] Result<std::span<const std::byte>> read_exact(std::size_t count,
                                                              Timeout timeout = kForever);

  /// For writing, and for what else a stream can do. Who reads from it steps over what is buffered.
  [[nodiscard]] Stream& stream() noexcept { return stream_; }
  /// How many bytes have been read from the stream and not been given out.
  [[nodiscard]] std::size_t buffered() const noexcept { return filled_ - taken_; }

 private:
  [[nodiscard]] Result<void> fill(Timeout timeout);
  void make_room();
  [[nodiscard]] Error too_long(std::string_view what) const;

  Stream stream_;
  std::vector<std::byte> buffer_;
  std::size_t most_;
  std::size_t taken_ = 0;   // given out
  std::size_t filled_ = 0;  // of the buffer
};

}  // namespace bulkhead::net
