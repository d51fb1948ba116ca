// Text for people.
#pragma once

#include <string>
#include <string_view>

namespace bulkhead::base {

/// Appends a text of whatever origin so that it cannot upset a terminal or look like another line:
/// what controls, or is not UTF-8, is escaped, lines after the first begin with `indent`, and of a
/// very long one only the beginning is there. Throws std::bad_alloc.
void append_readable(std::string& to, std::string_view text, std::string_view indent);

}  // namespace bulkhead::base
