#include "bulkhead/panic.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>

#include "machine/stack_trace.hpp"

namespace bulkhead {

namespace {

std::terminate_handler earlier_handler = nullptr;

bool trace_wanted() {
  const char* text = std::getenv("BULKHEAD_STACK_TRACE");
  return text == nullptr || std::strcmp(text, "0") != 0;
}

// Runs where nothing catches: the frames of the panic are still there, so the trace shows them.
[[noreturn]] void on_terminate() {
  if (const std::exception_ptr failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const Panic& panic) {
      std::fprintf(stderr, "bulkhead: panic outside any try and any actor: %s\n  at %s:%u (%s)\n",
                   panic.what(), panic.where().file_name(), panic.where().line(),
                   panic.where().function_name());
      if (trace_wanted()) machine::print_stack_trace();
      std::abort();
    } catch (...) {
    }
  }
  if (earlier_handler != nullptr) earlier_handler();
  std::abort();
}

}  // namespace

void panic(const std::string& reason, std::source_location where) {
  static const bool installed = [] {
    earlier_handler = std::set_terminate(&on_terminate);
    return true;
  }();
  static_cast<void>(installed);
  throw Panic(reason, where);
}

}  // namespace bulkhead
