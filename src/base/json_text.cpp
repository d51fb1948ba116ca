#include "base/json_text.hpp"

#include <cstddef>
#include <cstdio>

namespace bulkhead::base {

namespace {

unsigned byte(char c) noexcept { return static_cast<unsigned char>(c); }

// The length of the well-formed UTF-8 sequence that the text begins with; 0 when it does not.
// (Neither overlong, nor a surrogate, nor above U+10FFFF.)
std::size_t sequence(std::string_view text) noexcept {
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

}  // namespace

void append_quoted(std::string& to, std::string_view text) {
  to.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    std::size_t length = sequence(text);
    if (length == 0) {
      to.append("\xef\xbf\xbd");
      length = 1;
    } else if (c == '"' || c == '\\') {
      to.push_back('\\');
      to.push_back(c);
    } else if (byte(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte(c));
      to.append(code);
    } else {
      to.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  to.push_back('"');
}

}  // namespace bulkhead::base
