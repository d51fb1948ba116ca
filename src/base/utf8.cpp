#include "base/utf8.hpp"

namespace bulkhead::base {

namespace {

unsigned byte(char c) noexcept { return static_cast<unsigned char>(c); }

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const unsigned first = byte(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  const unsigned second = byte(text[1]);
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(text[i]) < 0x80 || byte(text[i]) > 0xbf) return 0;
  }
  return length;
}

}  // namespace bulkhead::base
