// Changing stacks. Four verbs, each written by hand for x86-64 and AArch64 (switch.cpp):
//   bulkhead_switch  leave this stack, to come back later, and go on on another that was left so
//   bulkhead_enter   leave this stack, to come back later, and start a function on a fresh stack
//   bulkhead_jump    abandon this stack and go on on one that was left
//   bulkhead_restart abandon this stack and start a function on a fresh stack
//
// Saved: the callee-saved registers and the address to go on at, on the stack that is left; the
// caller keeps the stack pointer. Deliberately not saved: mxcsr and the x87 control word (fpcr on
// AArch64), which cost as much as the whole switch: they belong to the thread, and an actor that
// changes the rounding mode must put it back before it blocks. Signal masks and errno likewise.
#pragma once

#include <cstdint>

namespace bulkhead::machine {

using StackPointer = void*;
using EntryPoint = void (*)(void*);

extern "C" {
void bulkhead_switch(StackPointer* saved, StackPointer to);
void bulkhead_enter(StackPointer* saved, StackPointer top, EntryPoint entry, void* argument);
[[noreturn]] void bulkhead_jump(StackPointer to);
[[noreturn]] void bulkhead_restart(StackPointer top, EntryPoint entry, void* argument);
}

}  // namespace bulkhead::machine
