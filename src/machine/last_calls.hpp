// Functions of the C library and of C++ by which a program ends itself, and the one that starts a
// thread: whoever watches is asked first.
//
// A program that is linked with this library takes these definitions, and so do the shared
// libraries that it uses, such as that of C++. What the C library itself calls stays within it:
// there a lock may be held.
#pragma once

#include <cstdint>

namespace bulkhead::machine {

enum class LastCall : std::uint8_t { kAbort, kAssertion, kThread };

/// Does not return when it has seen to it. `what` says more, and is valid during the call.
using LastCallWatcher = void (*)(LastCall call, const char* what) noexcept;

/// Before there are threads that may call them.
void watch_last_calls(LastCallWatcher watcher) noexcept;

}  // namespace bulkhead::machine
