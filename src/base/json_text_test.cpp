#include "base/json_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

std::string quoted(std::string_view text) {
  std::string out;
  bulkhead::base::append_quoted(out, text);
  return out;
}

TEST(JsonText, escapes_what_json_wants_escaped) {
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\"");
  EXPECT_EQ(quoted(std::string_view("\n\t\0\x1f", 4)), "\"\\u000a\\u0009\\u0000\\u001f\"");
}

TEST(JsonText, keeps_utf_8) {
  for (const char* const text : {"grün", "€", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\x7f"}) {
    EXPECT_EQ(quoted(text), "\"" + std::string(text) + "\"");
  }
}

TEST(JsonText, replaces_what_is_none) {
  const std::string other = "\xef\xbf\xbd";
  EXPECT_EQ(quoted("\xff"
                   "a"),
            "\"" + other + "a\"");
  EXPECT_EQ(quoted("\xc3"), "\"" + other + "\"");              // cut short
  EXPECT_EQ(quoted("\xe2\x82"), "\"" + other + other + "\"");  // likewise
  EXPECT_EQ(quoted("\xc0\x80"), "\"" + other + other + "\"");  // overlong
  EXPECT_EQ(quoted("\xe0\x80\x80"), "\"" + other + other + other + "\"");
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"" + other + other + other + "\"");  // a surrogate
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), "\"" + other + other + other + other + "\"");
  EXPECT_EQ(quoted("\xc3("), "\"" + other + "(\"");
}

}  // namespace
