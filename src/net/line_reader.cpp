#include "bulkhead/net/line_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "net/failure.hpp"
#include "net/remaining.hpp"

namespace bulkhead::net {

namespace {

constexpr std::size_t kFirstBuffer = 1024;

std::size_t at_least_one(std::size_t most) {
  if (most > 0) return most;
  throw std::invalid_argument(
      "bulkhead: net::LineReader: it may hold 0 bytes at most, but needs 1 at least");
}

}  // namespace

LineReader::LineReader(Stream stream, std::size_t most)
    : stream_(std::move(stream)), most_(at_least_one(most)) {}

Result<std::string_view> LineReader::read_line(Timeout timeout) {
  Remaining remaining(timeout);
  std::size_t searched = 0;
  for (;;) {
    const auto* begin = reinterpret_cast<const char*>(buffer_.data()) + taken_;
    const std::string_view unread(begin, filled_ - taken_);
    if (const auto end = unread.find('\n', searched); end != unread.npos) {
      taken_ += end + 1;
      std::string_view line = unread.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    }
    searched = unread.size();
    if (unread.size() >= most_) return std::unexpected(too_long("a line"));
    if (auto filled = fill(remaining.now()); !filled) return std::unexpected(filled.error());
  }
}

Result<std::span<const std::byte>> LineReader::read_exact(std::size_t count, Timeout timeout) {
  if (count > most_) return std::unexpected(too_long("a piece"));
  Remaining remaining(timeout);
  while (filled_ - taken_ < count) {
    if (auto filled = fill(remaining.now()); !filled) return std::unexpected(filled.error());
  }
  const std::span<const std::byte> piece(buffer_.data() + taken_, count);
  taken_ += count;
  return piece;
}

// Reads once. At the end of the stream the error counts what is left over.
Result<void> LineReader::fill(Timeout timeout) {
  make_room();
  const auto count = stream_.read_some(std::span(buffer_).subspan(filled_), timeout);
  if (!count) {
    Error error = count.error();
    error.done = buffered();
    return std::unexpected(std::move(error));
  }
  if (*count == 0) {
    // Nothing has gone wrong in the system, so there is no errno.
    Error error = failure("read from", stream_.peer(), EPIPE, buffered());
    error.code = 0;
    error.text.resize(error.text.rfind(" ("));
    return std::unexpected(std::move(error));
  }
  filled_ += *count;
  return {};
}

// There is room for one byte more, at least: callers have seen that less than most_ bytes wait.
void LineReader::make_room() {
  if (taken_ == filled_) {
    taken_ = filled_ = 0;
  } else if (filled_ == buffer_.size() && taken_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + taken_, filled_ - taken_);
    filled_ -= taken_;
    taken_ = 0;
  }
  if (filled_ == buffer_.size()) {
    buffer_.resize(std::min(most_, std::max(kFirstBuffer, buffer_.size() * 2)));
  }
}

Error LineReader::too_long(std::string_view what) const {
  return {ErrorKind::kTooLong, 0, buffered(),
          "read from " + to_string(stream_.peer()) + ": " + std::string(what) +
              " is longer than the limit of " + std::to_string(most_) + " bytes"};
}

}  // namespace bulkhead::net
