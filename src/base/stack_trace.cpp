#include "base/stack_trace.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#ifdef BULKHEAD_BACKTRACE_HEADER
#include BULKHEAD_BACKTRACE_HEADER
#else
#include <execinfo.h>
#endif

namespace bulkhead::base {

namespace {

std::string readable(const char* symbol) {
  if (symbol == nullptr) return "??";
  int status = 0;
  char* name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string text = status == 0 && name != nullptr ? name : symbol;
  std::free(name);
  return text;
}

bool is_machinery(std::string_view function) {
  for (const std::string_view prefix :
       {"__cxa_", "_Unwind_", "std::terminate", "std::rethrow_exception", "__cxxabiv1::",
        "bulkhead::panic", "bulkhead::base::", "bulkhead::(anonymous namespace)::on_terminate",
        "bulkhead::core::Asked", "bulkhead::core::(anonymous namespace)::note", "__gxx_personality",
        "abort", "__libc_start", "_start", "raise", "__GI_"}) {
    if (function.starts_with(prefix)) return true;
  }
  return false;
}

// A line for each frame that is worth one.
class Lines {
 public:
  void add(const std::string& function, const char* file, int line) {
    if (is_machinery(function)) return;
    lines_.push_back(file != nullptr ? function + " at " + file + ":" + std::to_string(line)
                                     : function);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void print(const std::vector<std::string>& lines, std::FILE* out) {
  std::fputs("Stack trace (most recent call first):\n", out);
  int number = 0;
  for (const std::string& line : lines) std::fprintf(out, "  %d: %s\n", number++, line.c_str());
}

}  // namespace

#ifdef BULKHEAD_BACKTRACE_HEADER

namespace {

backtrace_state* state() {
  static backtrace_state* made = backtrace_create_state(nullptr, 1, nullptr, nullptr);
  return made;
}

int on_frame(void* lines, std::uintptr_t address, const char* file, int line,
             const char* function) {
  auto& out = *static_cast<Lines*>(lines);
  if (function == nullptr) {
    // Not in the debugging information: the symbol table may know.
    backtrace_syminfo(
        state(), address,
        [](void* to, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
          static_cast<Lines*>(to)->add(readable(symbol), nullptr, 0);
        },
        nullptr, lines);
    return 0;
  }
  out.add(readable(function), file, line);
  return 0;
}

}  // namespace

void print_stack_trace(std::FILE* out) {
  Lines lines;
  backtrace_full(state(), 1, &on_frame, nullptr, &lines);
  print(lines.take(), out);
}

std::vector<std::string> describe_frames(std::span<void* const> addresses) {
  Lines lines;
  for (void* const address : addresses) {
    // The call, and not what comes after it.
    backtrace_pcinfo(state(), reinterpret_cast<std::uintptr_t>(address) - 1, &on_frame, nullptr,
                     &lines);
  }
  return lines.take();
}

#else

void print_stack_trace(std::FILE* out) {
  constexpr int kMost = 64;
  void* frames[kMost];
  const int count = backtrace(frames, kMost);
  print(describe_frames(std::span(frames, static_cast<std::size_t>(count)).subspan(1)), out);
}

std::vector<std::string> describe_frames(std::span<void* const> addresses) {
  Lines lines;
  const int count = static_cast<int>(addresses.size());
  char** symbols = backtrace_symbols(addresses.data(), count);
  for (int i = 0; symbols != nullptr && i < count; ++i) {
    // "binary(symbol+offset) [address]"
    std::string text(symbols[i]);
    const auto open = text.find('(');
    const auto plus = text.find('+', open == std::string::npos ? 0 : open);
    if (open != std::string::npos && plus != std::string::npos && plus > open + 1) {
      text = readable(text.substr(open + 1, plus - open - 1).c_str());
    }
    lines.add(text, nullptr, 0);
  }
  std::free(symbols);
  return lines.take();
}

#endif

}  // namespace bulkhead::base
