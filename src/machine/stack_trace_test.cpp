#include "machine/stack_trace.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace bulkhead::machine {

// Of external linkage, so that even without debugging information their names are known.
[[gnu::noinline]] void innermost_of_the_test(std::FILE* out) {
  print_stack_trace(out);
  asm volatile("");
}
[[gnu::noinline]] void outermost_of_the_test(std::FILE* out) {
  innermost_of_the_test(out);
  asm volatile("");
}

namespace {

std::string trace() {
  std::FILE* file = std::tmpfile();
  outermost_of_the_test(file);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(StackTrace, has_a_title_and_numbered_frames) {
  const std::string text = trace();
  EXPECT_TRUE(text.starts_with("Stack trace (most recent call first):\n")) << text;
  EXPECT_NE(text.find("\n  0: "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  1: "), std::string::npos) << text;
}

TEST(StackTrace, leaves_its_own_frames_and_those_of_the_runtime_out) {
  const std::string text = trace();
  for (const char* const machinery :
       {"print_stack_trace", "_Unwind_", "__libc_start", ": _start", "__cxa_"}) {
    EXPECT_EQ(text.find(machinery), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bulkhead::machine
