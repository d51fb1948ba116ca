// Fuzz target: whatever is parsed as an endpoint prints as it was written, and what is refused says
// why in printable words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bulkhead/net/endpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using bulkhead::net::Endpoint;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto endpoint = Endpoint::parse(text);
  if (!endpoint) {
    for (const char c : endpoint.error().text) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
    return 0;
  }
  // What is printed is parsed to the same; it may be shorter than what was written ([0::1]).
  const auto again = Endpoint::parse(to_string(*endpoint));
  if (!again || *again != *endpoint) std::abort();
  return 0;
}
