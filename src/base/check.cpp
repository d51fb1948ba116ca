#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace bulkhead::base {

void fail(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr,
               "bulkhead: broken invariant: %s\n  %s\n  at %s:%d\n"
               "This is a fault of the runtime or of code that wrote over its memory.\n",
               why, condition, file, line);
  std::abort();
}

}  // namespace bulkhead::base
