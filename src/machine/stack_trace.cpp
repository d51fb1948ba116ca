#include "machine/stack_trace.hpp"

#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "machine/symbols.hpp"

namespace bulkhead::machine {

namespace {

bool is_machinery(std::string_view function) {
  for (const std::string_view prefix : {"__cxa_",
                                        "_Unwind_",
                                        "std::terminate",
                                        "std::rethrow_exception",
                                        "__cxxabiv1::",
                                        "bulkhead::panic",
                                        "bulkhead::machine::print_stack_trace",
                                        "bulkhead::(anonymous namespace)::on_terminate",
                                        "bulkhead::core::Asked",
                                        "bulkhead::machine::walk_stack",
                                        "__gxx_personality",
                                        "abort",
                                        "__libc_start",
                                        "_start",
                                        "raise",
                                        "__GI_",
                                        "__assert_fail",
                                        "std::__glibcxx_assert_fail",
                                        "pthread_create",
                                        "bulkhead::core::trap_if_isolated",
                                        "bulkhead::core::(anonymous namespace)::on_terminate",
                                        "on_terminate",
                                        "on_last_call",
                                        "bulkhead::core::(anonymous namespace)::on_last_call",
                                        "bulkhead::machine::(anonymous namespace)::ask"}) {
    if (function.starts_with(prefix)) return true;
  }
  return false;
}

constexpr std::size_t kMostFrames = 64;

struct Frames {
  std::span<void*> into;
  std::size_t count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) noexcept {
  auto& frames = *static_cast<Frames*>(argument);
  if (frames.count == frames.into.size()) return _URC_END_OF_STACK;
  frames.into[frames.count++] = reinterpret_cast<void*>(_Unwind_GetIP(frame));
  return _URC_NO_REASON;
}

}  // namespace

std::size_t walk_stack(std::span<void*> into) noexcept {
  Frames frames{into};
  _Unwind_Backtrace(&note_frame, &frames);
  return frames.count;
}

std::vector<std::string> describe_frames(std::span<void* const> addresses) {
  std::vector<std::string> lines;
  std::vector<void*> calls;  // the outermost frame may have no caller
  std::ranges::copy_if(addresses, std::back_inserter(calls),
                       [](const void* address) { return address != nullptr; });
  for (std::vector<CodePlace>& places : places_of(calls)) {
    for (CodePlace& place : places) {
      if (is_machinery(place.function)) continue;
      std::string line = std::move(place.function);
      if (!place.file.empty()) line += " at " + place.file + ":" + std::to_string(place.line);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

void print_stack_trace(std::FILE* out) {
  std::array<void*, kMostFrames> frames;
  const std::size_t count = walk_stack(frames);
  std::fputs("Stack trace (most recent call first):\n", out);
  int number = 0;
  for (const std::string& line : describe_frames(std::span(frames).first(count))) {
    std::fprintf(out, "  %d: %s\n", number++, line.c_str());
  }
}

std::vector<std::string> describe_throw(std::span<void* const> addresses) {
  std::vector<std::string> lines = describe_frames(addresses);
  const auto named = [](const std::string& line) { return line != "??"; };
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), named));
  const auto loop = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("bulkhead::core::Core::") ||
           line.starts_with("void bulkhead::core::Core::") ||
           line.find(" bulkhead::handler::deliver<") != std::string::npos;
  });
  lines.erase(loop, lines.end());
  return lines;
}

}  // namespace bulkhead::machine
