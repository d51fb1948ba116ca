#include "machine/last_calls.hpp"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/sanitizers.hpp"

namespace bulkhead::machine {

namespace {

constexpr std::size_t kMostText = 240;
LastCallWatcher the_watcher = nullptr;

void ask(LastCall call, const char* what) noexcept {
  if (the_watcher != nullptr) the_watcher(call, what);
}

// The C library's own; null where there is none, as in a program without shared libraries.
template <class Function>
Function next(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void watch_last_calls(LastCallWatcher watcher) noexcept { the_watcher = watcher; }

}  // namespace bulkhead::machine

using namespace bulkhead::machine;  // NOLINT: for the definitions below

extern "C" {

[[gnu::weak, noreturn]] void abort() noexcept {
  ask(LastCall::kAbort, "abort was called");
  if (const auto real = next<void (*)()>("abort"); real != nullptr) real();
  std::signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
  _exit(127);
}

[[gnu::weak, noreturn]] void __assert_fail(const char* assertion, const char* file,
                                           unsigned int line, const char* function) noexcept {
  char what[kMostText];
  std::snprintf(what, sizeof what, "`%s' is not so, at %s:%u, in %s", assertion, file, line,
                function != nullptr ? function : "?");
  ask(LastCall::kAssertion, what);
  using Fail = void (*)(const char*, const char*, unsigned int, const char*);
  if (const auto real = next<Fail>("__assert_fail"); real != nullptr) {
    real(assertion, file, line, function);
  }
  std::fprintf(stderr, "%s\n", what);
  abort();
}

// Where the standard library is told to check its callers (_GLIBCXX_ASSERTIONS).
[[noreturn]] void library_assertion_failed(const char* file, int line, const char* function,
                                           const char* condition) noexcept
    asm("_ZSt21__glibcxx_assert_failPKciS0_S0_");
[[noreturn]] void library_assertion_failed(const char* file, int line, const char* function,
                                           const char* condition) noexcept {
  char what[kMostText];
  std::snprintf(what, sizeof what, "`%s' is not so, at %s:%d, in %s",
                condition != nullptr ? condition : "?", file, line, function);
  ask(LastCall::kAssertion, what);
  using Fail = void (*)(const char*, int, const char*, const char*);
  if (const auto real = next<Fail>("_ZSt21__glibcxx_assert_failPKciS0_S0_"); real != nullptr) {
    real(file, line, function, condition);
  }
  std::fprintf(stderr, "%s\n", what);
  abort();
}

// Sanitizers have a function of their own by that name.
#if !defined(BULKHEAD_ASAN) && !defined(BULKHEAD_TSAN)
[[gnu::weak]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 void* (*run)(void*), void* argument) noexcept {
  ask(LastCall::kThread, "it wanted to start a thread, which could outlive it");
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = next<Create>("pthread_create");
  return real(thread, attributes, run, argument);
}
#endif

}  // extern "C"
