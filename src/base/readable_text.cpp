#include "base/readable_text.hpp"

#include <cstddef>
#include <cstdio>

#include "base/utf8.hpp"

namespace bulkhead::base {

namespace {

constexpr std::size_t kLongest = 4096;

// Of a well-formed sequence: C0 and C1 controls, and what changes the direction of text.
bool controls(std::string_view sequence) noexcept {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return (first < 0x20 && first != '\t') || first == 0x7f;
  const auto second = static_cast<unsigned char>(sequence[1]);
  if (sequence.size() == 2) return first == 0xc2 && second < 0xa0;
  if (sequence.size() != 3 || first != 0xe2) return false;
  const auto third = static_cast<unsigned char>(sequence[2]);
  return (second == 0x80 && third >= 0xaa && third <= 0xae) ||
         (second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

}  // namespace

void append_readable(std::string& to, std::string_view text, std::string_view indent) {
  const std::size_t whole = text.size();
  text = text.substr(0, kLongest);
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view next = text.substr(0, length != 0 ? length : 1);
    if (next == "\n") {
      to += '\n';
      to += indent;
    } else if (length == 0 || controls(next)) {
      for (const char c : next) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", unsigned{static_cast<unsigned char>(c)});
        to += escaped;
      }
    } else {
      to += next;
    }
    text.remove_prefix(next.size());
  }
  if (whole > kLongest) to += "... (" + std::to_string(whole) + " bytes)";
}

}  // namespace bulkhead::base
