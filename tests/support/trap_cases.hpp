/// What isolated actors may do that ends them by a trap: the faults of the crash matrix. Its places
/// are the tests.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

// What assert() calls, which <cassert> does not declare where NDEBUG is defined.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned int line,
                              const char* function) noexcept __attribute__((__noreturn__));

namespace support {

inline int* volatile nowhere = nullptr;
inline volatile int zero = 0;

// (Where UndefinedBehaviorSanitizer looks it would end the process first.)
__attribute__((no_sanitize("undefined"))) inline void touch_null() { *nowhere = 1; }
inline void* const no_mans_page =
    mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
inline void touch_nothing() { *static_cast<volatile int*>(no_mans_page) = 1; }
inline void touch_no_address() {
  *reinterpret_cast<volatile int*>(std::uintptr_t{0x8000'0000'0000'0000}) = 1;
}
// Of a file that ends before.
inline void* const page_behind_a_file = [] {
  const int file = memfd_create("empty", 0);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page;
}();
inline void touch_behind_a_file() { *static_cast<volatile int*>(page_behind_a_file) = 1; }
inline void call_null() {
  void (*volatile function)() = nullptr;
  function();
}
// (What it returns is used, so that it is no loop.)
[[gnu::noinline]] inline int recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  const int deeper = depth == -1 ? 0 : recurse(depth + 1);
  return deeper + frame[0];
}
inline void overflow_stack() { zero = recurse(0) * 0; }
__attribute__((no_sanitize("undefined"))) inline void divide() { zero = 17 / zero; }
inline void break_off() { __builtin_trap(); }

inline void abort_it() { std::abort(); }
inline void exit_from_it() { std::exit(7); }
inline void just_throw() { throw std::runtime_error("not here"); }
[[gnu::noinline]] inline void may_not_throw() noexcept { just_throw(); }
struct ThrowsAtItsEnd {
  ~ThrowsAtItsEnd() { just_throw(); }
};
inline void destroy_one_that_throws() { const ThrowsAtItsEnd one; }
inline void terminate_it() { std::terminate(); }
[[gnu::noinline]] inline void fail_assertion() {
  __assert_fail("the sky is blue", "sky.cpp", 17, "look");
}
inline void fail_library_assertion() {
  std::vector<int> few(1);
  volatile std::size_t index = 7;
  zero = few[index] * 0;
}
// What stands in the place of a pure virtual function. (Of a class the optimiser would see more.)
inline void call_pure() { abi::__cxa_pure_virtual(); }
inline void start_thread() {
  std::thread([] {}).join();
}
inline void throw_bad_alloc() { throw std::bad_alloc(); }
inline void use_up_the_heap() {
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (;;) blocks.push_back(std::make_unique<std::byte[]>(100'000));
}
// (By way of a variable that the compiler does not look through.)
inline char* volatile block = nullptr;
inline void delete_twice() {
  block = new char[24];
  delete[] block;
  delete[] block;
}
inline void write_behind_blocks() {
  char* volatile blocks[8];
  for (auto& each : blocks) each = new char[24];
  for (auto& each : blocks) std::memset(each + 24, 'x', 16);  // where the next one begins
  for (auto& each : blocks) delete[] each;
}

inline bool machine_is(std::string_view name) {
  utsname names{};
  return uname(&names) == 0 && name == names.machine;
}

struct TrapCase {
  const char* name;
  void (*fault)();
  bulkhead::TrapKind kind;
  const char* message;  // part of it
};

inline std::vector<TrapCase> all_trap_cases() {
  using bulkhead::TrapKind;
  std::vector<TrapCase> cases = {
      // each with what its message says
      {"null access", &touch_null, TrapKind::kAccess, "near the null pointer, at address 0x0"},
      {"wild access", &touch_nothing, TrapKind::kAccess, "SIGSEGV, at address 0x"},
      {"bus error", &touch_behind_a_file, TrapKind::kAccess, "SIGBUS, at address 0x"},
      {"call of null", &call_null, TrapKind::kAccess, "at address 0x0"},
      {"stack overflow", &overflow_stack, TrapKind::kStackOverflow, "its stack has"},
      {"division", &divide, TrapKind::kArithmetic, "an integer division by zero"},
      {"no instruction", &break_off, TrapKind::kInstruction, "SIG"},
      {"abort", &abort_it, TrapKind::kAbort, "abort was called"},
      {"exit", &exit_from_it, TrapKind::kAbort, "exit was called"},
      {"noexcept", &may_not_throw, TrapKind::kTerminate, "not here"},
      {"throwing destructor", &destroy_one_that_throws, TrapKind::kTerminate, "not here"},
      {"terminate", &terminate_it, TrapKind::kTerminate, "std::terminate was called"},
      {"assertion", &fail_assertion, TrapKind::kAssertion,
       "`the sky is blue' is not so, at sky.cpp:17, in look"},
      {"bad index", &fail_library_assertion, TrapKind::kAssertion, "__n < this->size()"},
      {"pure virtual call", &call_pure, TrapKind::kTerminate, ""},
      {"memory", &throw_bad_alloc, TrapKind::kMemory, "std::bad_alloc"},
  };
  if (bulkhead::has_heaps()) {
    // (Sanitizers have no record of such addresses, and start threads themselves.)
    cases.push_back({"thread", &start_thread, TrapKind::kThread, "start a thread"});
    cases.push_back({"no address", &touch_no_address, TrapKind::kAccess, "that cannot be"});
    cases.push_back({"heap limit", &use_up_the_heap, TrapKind::kMemory, "std::bad_alloc"});
    cases.push_back({"double delete", &delete_twice, TrapKind::kHeap, "freed twice"});
    cases.push_back({"overrun", &write_behind_blocks, TrapKind::kHeap, ""});
  }
  // There, 17 / 0 is 0, and the uppermost byte is no part of an address.
  if (machine_is("aarch64")) {
    std::erase_if(cases, [](const TrapCase& each) {
      return each.fault == &divide || each.fault == &touch_no_address;
    });
  }
  return cases;
}
inline const std::vector<TrapCase> kCases = all_trap_cases();

inline void expect(const TrapCase& expected, const bulkhead::Exit& exit) {
  SCOPED_TRACE(expected.name);
  EXPECT_EQ(exit.kind(), bulkhead::Exit::Kind::kTrapped);
  EXPECT_EQ(to_string(exit.trap()), to_string(expected.kind));
  EXPECT_NE(exit.message().find(expected.message), std::string_view::npos) << exit.message();
}

}  // namespace support
