// Hardware faults and aborts of the threads that run actors: told, and then left to whoever was
// there before.
//
// The handler of each signal runs on the thread's alternate stack (FaultStack), so it also runs
// when the stack that overflowed has no room for it. It finds out what happened, calls the watcher,
// and passes the signal on: to the handler that the program had installed before, or to the default
// action, which ends the process with a core file that shows the faulting frame.
//
//  F1  All that runs in the handler is async-signal-safe: no allocation, no lock, no stdio.
//  F2  What the watcher looks at belongs to the thread that faulted, which is its own thread, or is
//      made to stay with it meanwhile.
//  F3  On a thread that runs no stack of ours, the signal is passed on untouched.
//  F4  A fault that comes while a handler runs ends the process, but for one of walk_from, which
//      reads what may have been overwritten: it ends the walk.
//  F5  A thread may go on elsewhere instead (go_on_in): then its signal mask and its floating-point
//      environment are those of a thread that has just begun, whatever they were.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "machine/stack.hpp"

namespace bulkhead::machine {

enum class FaultKind : std::uint8_t {
  kStackOverflow,  // the guard of the stack that runs was touched
  kAccess,         // any other SIGSEGV, SIGBUS
  kArithmetic,     // SIGFPE
  kInstruction,    // SIGILL, SIGTRAP
  kAbort,          // SIGABRT
  kSent,           // one of these signals, sent by somebody with kill
};

struct Fault {
  int signal;
  int code;        // of siginfo_t
  void* address;   // that was touched, or of the instruction; null if none
  ucontext_t* at;  // the registers; to change them is to go on elsewhere
};

/// "SIGSEGV" and so on. Async-signal-safe.
[[nodiscard]] const char* name_of_signal(int signal) noexcept;

/// Told, in the signal handler, of each fault of any thread. True when it has seen to it: then the
/// thread goes on where `fault.at` says. False: the signal is passed on.
using FaultWatcher = bool (*)(const Fault& fault) noexcept;

/// Which kind a fault is, on this stack. Pure.
[[nodiscard]] FaultKind kind_of_fault(int signal, int code, const void* address,
                                      const Stack* running) noexcept;

/// Of a SIGSEGV: does the processor not say which address it was?
[[nodiscard]] bool has_no_address(const Fault& fault) noexcept;

/// In the watcher: fills in where the code stood, and who had called it, most recent call first;
/// returns how many. Stops where the stack cannot be read.
[[nodiscard]] std::size_t walk_from(const Fault& fault, std::span<void*> into) noexcept;

/// In the watcher, which then returns true: the thread is to go on in entry(argument), on the stack
/// `on` that it is on, whose frames are abandoned. The thread has a FaultStack. Entry calls landed,
/// and reset_floating_point.
void go_on_in(const Fault& fault, Stack* on, EntryPoint entry, void* argument) noexcept;

/// The same for a thread that has not faulted, on the stack `self`.
[[noreturn]] void abandon(Stack* self, EntryPoint entry, void* argument) noexcept;

/// To that of a thread that has just begun.
void reset_floating_point() noexcept;

/// Lets a millisecond pass. Async-signal-safe.
void nap() noexcept;

/// Installs the handlers. Once per process: later calls have no effect. A program whose own
/// handlers are installed later replaces these. Any thread.
void watch_faults(FaultWatcher watcher);

/// The calling thread's alternate stack, for as long as this lives. A thread that has one already
/// (of a sanitizer, for example) keeps that; where there is no memory for one, the thread goes
/// without, and its stack overflows are not told.
class FaultStack {
 public:
  FaultStack() noexcept;
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;
  ~FaultStack();

 private:
  void* memory_ = nullptr;
};

/// For a thread that is lent to us for a while: gives it a FaultStack, for as long as it lives, and
/// takes its state for what it began with. Costs two system calls, but for the first time.
void give_thread_fault_stack() noexcept;

/// A line for stderr, put together and written without allocating. Too long a line is cut.
class SignalSafeText {
 public:
  SignalSafeText& operator<<(const char* text) noexcept;
  SignalSafeText& operator<<(std::uint64_t number) noexcept;
  SignalSafeText& append(const char* text, std::size_t length) noexcept;
  SignalSafeText& hexadecimal(std::uint64_t number) noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return {text_, length_}; }
  /// Ends the line, and writes it in one piece.
  void write_to_stderr() noexcept;

 private:
  char text_[1000] = {};
  std::size_t length_ = 0;
};

}  // namespace bulkhead::machine
