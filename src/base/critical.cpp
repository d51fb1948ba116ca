#include "base/critical.hpp"

namespace bulkhead::base {

constinit thread_local const char* critical [[gnu::tls_model("initial-exec")]] = nullptr;

[[gnu::noinline]] const char* set_critical(const char* why) noexcept {
  asm volatile("" ::: "memory");
  const char* outer = critical;
  critical = why;
  return outer;
}

}  // namespace bulkhead::base
