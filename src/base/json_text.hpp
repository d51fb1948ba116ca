// Pieces of JSON.
#pragma once

#include <string>
#include <string_view>

namespace bulkhead::base {

/// Appends the text as a JSON string. What is not UTF-8 becomes U+FFFD. Throws std::bad_alloc.
void append_quoted(std::string& to, std::string_view text);

}  // namespace bulkhead::base
