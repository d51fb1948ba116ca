#include "base/json_text.hpp"

#include <cstddef>
#include <cstdio>

#include "base/utf8.hpp"

namespace bulkhead::base {

namespace {

unsigned byte(char c) noexcept { return static_cast<unsigned char>(c); }

}  // namespace

void append_quoted(std::string& to, std::string_view text) {
  to.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    std::size_t length = utf8_length(text);
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
