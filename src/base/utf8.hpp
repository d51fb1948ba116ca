// UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace bulkhead::base {

/// The length of the well-formed sequence that a text begins with, which is not empty; 0 when it
/// does not. (Neither overlong, nor a surrogate, nor above U+10FFFF.)
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace bulkhead::base
