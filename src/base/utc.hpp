// Points in time as text.
#pragma once

#include <chrono>
#include <string>

namespace bulkhead::base {

/// "2026-01-31T23:59:59.123456Z". Throws std::bad_alloc.
[[nodiscard]] std::string utc(std::chrono::system_clock::time_point time);

}  // namespace bulkhead::base
