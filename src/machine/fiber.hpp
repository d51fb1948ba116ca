// Changing stacks with everything that goes along: exception state, and what the sanitizers want to
// be told. The only callers of switch.hpp.
//
// | verb    | this stack                  | the other stack           |
// |---------|-----------------------------|---------------------------|
// | leave   | left, resumed later         | fresh: entry starts on it |
// | resume  | abandoned                   | left: goes on             |
// | restart | abandoned                   | fresh: entry starts on it |
// | change  | left, resumed later         | left: goes on             |
#pragma once

#include "machine/stack.hpp"

namespace bulkhead::machine {

/// The calling thread's exception state, for the life of the thread.
[[nodiscard]] ExceptionState* thread_exceptions() noexcept;

/// Leaves the running stack `self` and starts entry(argument) on `fresh`. Returns when somebody
/// resumes `self`, maybe on another thread. `exceptions` is the calling thread's.
void leave(Stack* self, Stack* fresh, EntryPoint entry, void* argument, ExceptionState* exceptions);

/// Leaves the thread's own stack, which `self` stands for, likewise. Used once per run of a loop.
void leave_thread(Stack* self, Stack* fresh, EntryPoint entry, void* argument);

/// Abandons the running stack `self` and goes on on `left`. `exceptions` is the calling thread's.
[[noreturn]] void resume(Stack* self, Stack* left, ExceptionState* exceptions);

/// Abandons the running stack `self` and starts entry(argument) on `fresh`.
[[noreturn]] void restart(Stack* self, Stack* fresh, EntryPoint entry, void* argument);

/// Leaves the running stack `self` and goes on on `left`. Returns when somebody resumes `self`,
/// maybe on another thread. `exceptions` is the calling thread's.
void change(Stack* self, Stack* left, ExceptionState* exceptions);

/// To be called first by every entry function.
void entered(Stack* self);

/// To be called first, by a function that is BULKHEAD_NO_ASAN, where a thread goes on at the base
/// of the stack `self` that it was on, whose frames are abandoned.
void landed(Stack* self);

/// To be called for a stack that was abandoned, before it is used again or given away.
void forget(Stack* stack);

}  // namespace bulkhead::machine
