/// panic: a failure that ends the actor it happens in.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace bulkhead {

/// What panic throws.
class Panic : public std::runtime_error {
 public:
  Panic(const std::string& reason, std::source_location where)
      : std::runtime_error(reason), where_(where) {}
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// Ends the actor: destructors of its frames run, and its reason reaches whoever is interested.
/// Like any exception it can be caught. Where nothing catches it, outside any actor, the process
/// says the reason and a stack trace, most recent call first, and aborts; BULKHEAD_STACK_TRACE=0
/// leaves the trace out.
[[noreturn]] void panic(const std::string& reason,
                        std::source_location where = std::source_location::current());

}  // namespace bulkhead
