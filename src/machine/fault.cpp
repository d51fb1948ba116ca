#include "machine/fault.hpp"

#include <fenv.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "machine/fiber.hpp"
#include "machine/stack_trace.hpp"

namespace bulkhead::machine {

namespace {

constexpr std::size_t kFaultStackBytes = 64 * 1024;
constexpr std::size_t kFaultGuardBytes = 4096;
// (What a compiler puts where nothing must come is SIGILL on x86-64, and SIGTRAP on AArch64.)
constexpr int kWatched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

FaultWatcher the_watcher = nullptr;
struct sigaction earlier[NSIG];

// What a thread with a FaultStack began with.
struct Beginning {
  sigset_t mask;
  fenv_t floating_point;
};
constinit thread_local Beginning beginning [[gnu::tls_model("initial-exec")]] = {};
// Where a walk that faults goes on; null while there is none. (F4)
constinit thread_local sigjmp_buf* walking [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local bool in_handler [[gnu::tls_model("initial-exec")]] = false;

// By kill, raise and the like, not by a fault of the thread's own.
bool was_sent(int code) noexcept { return code <= 0; }

// Lets the signal do what it would have done without us. A fault happens again, at the same place,
// when the handler returns; a signal that was sent is sent again, and so is that of a breakpoint,
// behind which the thread may go on.
void take_default_action(int signal, int code) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (was_sent(code) || signal == SIGTRAP) {
    syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), signal);
  }
}

void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const struct sigaction& before = earlier[signal];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL) {
    take_default_action(signal, info->si_code);
  } else if (before.sa_handler == SIG_IGN) {
    // What was sent is ignored; a fault cannot be.
    if (!was_sent(info->si_code)) take_default_action(signal, info->si_code);
  } else {
    before.sa_handler(signal);
  }
}

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  if (in_handler) {
    if (walking != nullptr && !was_sent(info->si_code)) siglongjmp(*walking, 1);
    take_default_action(signal, info->si_code);
    return;
  }
  in_handler = true;
  void* address = was_sent(info->si_code) ? nullptr : info->si_addr;
  const Fault fault{signal, info->si_code, address, static_cast<ucontext_t*>(context)};
  const bool seen_to = the_watcher(fault);
  in_handler = false;
  if (!seen_to) pass_on(signal, info, context);
  errno = error;
}

#if defined(__x86_64__)

void* code_address(const ucontext_t& at) noexcept {
  return reinterpret_cast<void*>(at.uc_mcontext.gregs[REG_RIP]);
}

void set_registers(ucontext_t& at, StackPointer top, EntryPoint entry, void* argument) noexcept {
  constexpr greg_t kDirection = 0x400;
  constexpr greg_t kSingleStep = 0x100;
  constexpr greg_t kAlignmentCheck = 0x40000;
  auto& registers = at.uc_mcontext.gregs;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&bulkhead_restart);
  registers[REG_RSP] = reinterpret_cast<greg_t>(top);
  registers[REG_RDI] = reinterpret_cast<greg_t>(top);
  registers[REG_RSI] = reinterpret_cast<greg_t>(entry);
  registers[REG_RDX] = reinterpret_cast<greg_t>(argument);
  registers[REG_EFL] &= ~(kDirection | kSingleStep | kAlignmentCheck);
}

#else

void* code_address(const ucontext_t& at) noexcept {
  return reinterpret_cast<void*>(at.uc_mcontext.pc);
}

void set_registers(ucontext_t& at, StackPointer top, EntryPoint entry, void* argument) noexcept {
  at.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&bulkhead_restart);
  at.uc_mcontext.sp = reinterpret_cast<std::uintptr_t>(top);
  at.uc_mcontext.regs[0] = reinterpret_cast<std::uintptr_t>(top);
  at.uc_mcontext.regs[1] = reinterpret_cast<std::uintptr_t>(entry);
  at.uc_mcontext.regs[2] = reinterpret_cast<std::uintptr_t>(argument);
}

#endif

}  // namespace

const char* name_of_signal(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "a signal";
  }
}

FaultKind kind_of_fault(int signal, int code, const void* address, const Stack* running) noexcept {
  if (signal == SIGABRT) return FaultKind::kAbort;  // abort sends it
  if (was_sent(code)) return FaultKind::kSent;
  if (signal == SIGFPE) return FaultKind::kArithmetic;
  if (signal == SIGILL || signal == SIGTRAP) return FaultKind::kInstruction;
  if (running->bottom != nullptr) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto bottom = reinterpret_cast<std::uintptr_t>(running->bottom);
    if (at < bottom && at >= bottom - guard_bytes()) return FaultKind::kStackOverflow;
  }
  return FaultKind::kAccess;
}

bool has_no_address(const Fault& fault) noexcept {
  return fault.signal == SIGSEGV && fault.code == SI_KERNEL;
}

// The frames of the handler itself end where the code stood.
std::size_t walk_from(const Fault& fault, std::span<void*> into) noexcept {
  constexpr std::size_t kHandlersFrames = 8;
  void* frames[64];
  volatile std::size_t count = 0;  // it is read after a jump
  void* const at = code_address(*fault.at);
  sigjmp_buf back;
  if (sigsetjmp(back, 0) == 0) {
    walking = &back;
    const std::size_t most = std::min(into.size() + kHandlersFrames, std::size(frames));
    count = walk_stack(std::span(frames).first(most));
  }
  walking = nullptr;
  const auto end = frames + count;
  const auto first = std::find(frames, end, at);
  if (first == end) {  // no code is there, or the stack was unreadable
    if (!into.empty()) into[0] = at;
    return into.empty() ? 0 : 1;
  }
  const std::size_t told = std::min(static_cast<std::size_t>(end - first), into.size());
  std::copy_n(first, told, into.begin());
  return told;
}

void go_on_in(const Fault& fault, Stack* on, EntryPoint entry, void* argument) noexcept {
  set_registers(*fault.at, on->top(), entry, argument);
  fault.at->uc_sigmask = beginning.mask;
}

void abandon(Stack* self, EntryPoint entry, void* argument) noexcept {
  pthread_sigmask(SIG_SETMASK, &beginning.mask, nullptr);
  bulkhead_restart(self->top(), entry, argument);
}

void reset_floating_point() noexcept { fesetenv(&beginning.floating_point); }

void nap() noexcept {
  const timespec millisecond{0, 1'000'000};
  nanosleep(&millisecond, nullptr);
}

void watch_faults(FaultWatcher watcher) {
  static const bool installed = [&] {
    the_watcher = watcher;
    // All of them are known before any handler can run.
    for (const int signal : kWatched) sigaction(signal, nullptr, &earlier[signal]);
    for (const int signal : kWatched) {
      struct sigaction action {};
      action.sa_sigaction = &on_signal;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigemptyset(&action.sa_mask);
      sigaction(signal, &action, nullptr);
    }
    return true;
  }();
  static_cast<void>(installed);
}

namespace {

void note_beginning() noexcept {
  pthread_sigmask(SIG_SETMASK, nullptr, &beginning.mask);
  fegetenv(&beginning.floating_point);
}

}  // namespace

void give_thread_fault_stack() noexcept {
  static thread_local const FaultStack stack;
  note_beginning();
}

FaultStack::FaultStack() noexcept {
  note_beginning();
  stack_t now{};
  sigaltstack(nullptr, &now);
  if ((now.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kFaultGuardBytes + kFaultStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  mprotect(memory, kFaultGuardBytes, PROT_NONE);
  stack_t mine{};
  mine.ss_sp = static_cast<std::byte*>(memory) + kFaultGuardBytes;
  mine.ss_size = kFaultStackBytes;
  sigaltstack(&mine, nullptr);
  memory_ = memory;
}

FaultStack::~FaultStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kFaultGuardBytes + kFaultStackBytes);
}

SignalSafeText& SignalSafeText::append(const char* text, std::size_t length) noexcept {
  const std::size_t room = sizeof text_ - 1 - length_;  // one for the end of the line
  if (length > room) length = room;
  std::memcpy(text_ + length_, text, length);
  length_ += length;
  return *this;
}

SignalSafeText& SignalSafeText::operator<<(const char* text) noexcept {
  return append(text, std::strlen(text));
}

SignalSafeText& SignalSafeText::operator<<(std::uint64_t number) noexcept {
  char digits[20];
  char* first = digits + sizeof digits;
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return append(first, static_cast<std::size_t>(digits + sizeof digits - first));
}

SignalSafeText& SignalSafeText::hexadecimal(std::uint64_t number) noexcept {
  char digits[16];
  char* first = digits + sizeof digits;
  do {
    *--first = "0123456789abcdef"[number % 16];
    number /= 16;
  } while (number != 0);
  return append("0x", 2).append(first, static_cast<std::size_t>(digits + sizeof digits - first));
}

void SignalSafeText::write_to_stderr() noexcept {
  text_[length_++] = '\n';
  for (std::size_t done = 0; done < length_;) {
    const ssize_t written = write(STDERR_FILENO, text_ + done, length_ - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  length_ = 0;
}

}  // namespace bulkhead::machine
