#include "base/errno.hpp"

#include <cerrno>

namespace bulkhead::base {

[[gnu::noinline]] int read_errno() noexcept {
  asm volatile("" ::: "memory");
  return errno;
}
[[gnu::noinline]] void write_errno(int error) noexcept {
  asm volatile("" ::: "memory");
  errno = error;
}

}  // namespace bulkhead::base
