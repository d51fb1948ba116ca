// How system calls are made: again when a signal has interrupted them, and with the error as a
// result: errno belongs to the thread, and is read right after the call.
#pragma once

#include <cerrno>

namespace bulkhead::machine {

/// What call() returns; or, if that is negative, the negated errno.
template <class Call>
auto again_when_interrupted(Call call) noexcept {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

}  // namespace bulkhead::machine
