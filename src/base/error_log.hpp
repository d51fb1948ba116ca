// What is told on stderr for people or for programs to read.
#pragma once

#include <string_view>

namespace bulkhead::base {

enum class Severity { kWarning, kError };

/// Text of one line or several: by spdlog's logger "bulkhead", which is made if there is none,
/// where the library is built with it; else after "bulkhead: ". Any thread.
void log_error(Severity severity, std::string_view text) noexcept;

/// The text and the end of a line, in one piece. Any thread.
void print_line(std::string_view text) noexcept;

}  // namespace bulkhead::base
