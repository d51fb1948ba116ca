#include "base/stack_trace.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#if __has_include(<backtrace.h>) && defined(BULKHEAD_HAVE_LIBBACKTRACE)
#include <backtrace.h>
#define BULKHEAD_BACKTRACE 1
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
        "abort", "__libc_start", "_start", "raise", "__GI_"}) {
    if (function.starts_with(prefix)) return true;
  }
  return false;
}

struct Printer {
  std::FILE* out;
  int number = 0;

  void print(const std::string& function, const char* file, int line) {
    if (is_machinery(function)) return;
    if (file != nullptr) {
      std::fprintf(out, "  %d: %s at %s:%d\n", number++, function.c_str(), file, line);
    } else {
      std::fprintf(out, "  %d: %s\n", number++, function.c_str());
    }
  }
};

}  // namespace

#ifdef BULKHEAD_BACKTRACE

namespace {

int on_frame(void* printer, std::uintptr_t address, const char* file, int line,
             const char* function) {
  auto& out = *static_cast<Printer*>(printer);
  if (function == nullptr) {
    // Not in the debugging information: the symbol table may know.
    static backtrace_state* state = backtrace_create_state(nullptr, 1, nullptr, nullptr);
    backtrace_syminfo(
        state, address,
        [](void* to, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
          static_cast<Printer*>(to)->print(readable(symbol), nullptr, 0);
        },
        nullptr, printer);
    return 0;
  }
  out.print(readable(function), file, line);
  return 0;
}

}  // namespace

void print_stack_trace(std::FILE* out) {
  static backtrace_state* state = backtrace_create_state(nullptr, 1, nullptr, nullptr);
  std::fputs("Stack trace (most recent call first):\n", out);
  Printer printer{out};
  backtrace_full(state, 1, &on_frame, nullptr, &printer);
}

#else

void print_stack_trace(std::FILE* out) {
  constexpr int kMost = 64;
  void* frames[kMost];
  const int count = backtrace(frames, kMost);
  char** symbols = backtrace_symbols(frames, count);
  std::fputs("Stack trace (most recent call first):\n", out);
  Printer printer{out};
  for (int i = 1; symbols != nullptr && i < count; ++i) {
    // "binary(symbol+offset) [address]"
    std::string text(symbols[i]);
    const auto open = text.find('(');
    const auto plus = text.find('+', open == std::string::npos ? 0 : open);
    if (open != std::string::npos && plus != std::string::npos && plus > open + 1) {
      text = readable(text.substr(open + 1, plus - open - 1).c_str());
    }
    printer.print(text, nullptr, 0);
  }
  std::free(symbols);
}

#endif

}  // namespace bulkhead::base
