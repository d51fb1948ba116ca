#include "machine/stack_trace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"
#include "machine/stack.hpp"

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

// What a walk finds that begins in a function which the middle one calls.
std::vector<void*> walked;

[[gnu::noinline]] void inner_of_a_walk(const Stack* stack) {
  std::array<void*, 64> frames;
  const std::size_t count = walk_stack(frames, stack);
  walked.assign(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count));
  asm volatile("");
}
[[gnu::noinline]] void middle_of_a_walk(Stack* stack) {
  stack->outermost = __builtin_frame_address(0);
  inner_of_a_walk(stack);
  asm volatile("");
}
// (AddressSanitizer would have the record elsewhere than on the stack.)
[[gnu::noinline]] BULKHEAD_NO_ASAN void outer_of_a_walk(bool is_of_this_stack) {
  Stack stack;
  if (!is_of_this_stack) stack.thread_bytes = 1;
  middle_of_a_walk(&stack);
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

TEST(StackTrace, of_a_walk_ends_with_the_outermost_frame) {
  outer_of_a_walk(true);
  const std::vector<void*> cut = walked;
  ASSERT_GE(cut.size(), 2u);
  const std::vector<std::string> outermost = describe_frames(std::span(cut).last(1));
  ASSERT_FALSE(outermost.empty());
  EXPECT_NE(outermost.front().find("middle_of_a_walk"), std::string::npos) << outermost.front();
  outer_of_a_walk(false);
  EXPECT_GT(walked.size(), cut.size());
}

}  // namespace
}  // namespace bulkhead::machine
