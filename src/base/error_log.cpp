#include "base/error_log.hpp"

#include <cstdio>
#include <exception>
#include <string>

#ifdef BULKHEAD_HAVE_SPDLOG
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#endif

namespace bulkhead::base {

#ifdef BULKHEAD_HAVE_SPDLOG

namespace {

// Two that make it at once: one of them finds the other's.
std::shared_ptr<spdlog::logger> logger() {
  constexpr const char* kName = "bulkhead";
  if (auto found = spdlog::get(kName)) return found;
  try {
    return spdlog::stderr_logger_mt(kName);
  } catch (const spdlog::spdlog_ex&) {
    return spdlog::get(kName);
  }
}

}  // namespace

void log_error(Severity severity, std::string_view text) noexcept try {
  const auto level = severity == Severity::kError ? spdlog::level::err : spdlog::level::warn;
  const auto log = logger();
  if (log == nullptr) return print_line(text);
  log->log(level, spdlog::string_view_t(text.data(), text.size()));
} catch (...) {  // what the program's sinks throw
  print_line(text);
}

#else

void log_error(Severity /*severity*/, std::string_view text) noexcept try {
  print_line("bulkhead: " + std::string(text));
} catch (const std::exception&) {
  print_line(text);
}

#endif

// stderr has no buffer of its own: the C library collects what one call prints, and holds the
// stream's lock.
void print_line(std::string_view text) noexcept {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace bulkhead::base
