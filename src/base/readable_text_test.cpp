#include "base/readable_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

std::string readable(std::string_view text) {
  std::string out;
  bulkhead::base::append_readable(out, text, "  ");
  return out;
}

TEST(ReadableText, escapes_what_controls_a_terminal) {
  EXPECT_EQ(readable("a\tb grün €"), "a\tb grün €");
  EXPECT_EQ(readable("\x1b[2J\r\x7f"), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(readable("\xc2\x9b"
                     "31m"),
            "\\xc2\\x9b31m");                              // C1
  EXPECT_EQ(readable("\x9b"), "\\x9b");                    // not UTF-8
  EXPECT_EQ(readable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right to left
  EXPECT_EQ(readable(std::string_view("\0", 1)), "\\x00");
}

TEST(ReadableText, indents_lines_and_cuts_what_is_very_long) {
  EXPECT_EQ(readable("a\nb"), "a\n  b");
  EXPECT_EQ(readable(std::string(10'000, 'x')), std::string(4096, 'x') + "... (10000 bytes)");
}

}  // namespace
