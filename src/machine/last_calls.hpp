// Functions of the C library and of C++ by which a program ends itself, and the one that starts a
// thread: whoever watches is asked first.
//
// They are interposed (interposed.hpp). What the C library itself calls stays within it: there a
// lock may be held. And _exit is not among them: a child by vfork calls that, in the memory of its
// parent.
#pragma once

#include <cstdint>

namespace bulkhead::machine {

enum class LastCall : std::uint8_t { kAbort, kExit, kAssertion, kThread };

/// Does not return when it has seen to it. `what` says more, and is valid during the call.
using LastCallWatcher = void (*)(LastCall call, const char* what) noexcept;

/// As abort, and asks nobody.
[[noreturn]] void abort_process() noexcept;

/// Before there are threads that may call them.
void watch_last_calls(LastCallWatcher watcher) noexcept;

}  // namespace bulkhead::machine
