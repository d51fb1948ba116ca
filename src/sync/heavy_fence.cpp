#include "sync/heavy_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bulkhead::sync {

namespace {
long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }
}  // namespace

bool heavy_fence_works() noexcept {
  static const bool works = [] {
    const long commands = membarrier(MEMBARRIER_CMD_QUERY);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  }();
  return works;
}

void heavy_fence() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    std::fprintf(stderr, "bulkhead: membarrier failed after it was registered\n");
    std::abort();
  }
}

}  // namespace bulkhead::sync
