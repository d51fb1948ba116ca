/// Readable names of types, made by the compiler; for messages and reports.
#pragma once

#include <string_view>

namespace bulkhead {

template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  // "... type_name() [with T = NAME; std::string_view = ...]" or "... type_name() [T = NAME]"
  std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view mark = "T = ";
  text.remove_prefix(text.find(mark) + mark.size());
  const auto end = text.find(';');
  return text.substr(0, end != std::string_view::npos ? end : text.rfind(']'));
}

}  // namespace bulkhead
