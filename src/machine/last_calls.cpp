#include "machine/last_calls.hpp"

#include <assert.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/sanitizers.hpp"
#include "machine/interposed.hpp"

namespace bulkhead::machine {

namespace {

constexpr std::size_t kMostText = 240;
LastCallWatcher the_watcher = nullptr;

void ask(LastCall call, const char* what) noexcept {
  if (the_watcher != nullptr) the_watcher(call, what);
}

void really_abort() noexcept {
  static constinit Next<void()> next("abort");
  if (next.get() != nullptr) next.get()();
}

}  // namespace

void watch_last_calls(LastCallWatcher watcher) noexcept { the_watcher = watcher; }

void abort_process() noexcept {
  std::signal(SIGABRT, SIG_DFL);
  really_abort();
  raise(SIGABRT);
  _exit(127);
}

}  // namespace bulkhead::machine

using namespace bulkhead::machine;  // NOLINT: for the definitions below

extern "C" {

[[gnu::weak, gnu::noreturn]] void abort() noexcept {
  ask(LastCall::kAbort, "abort was called");
  really_abort();
  abort_process();
}

[[gnu::weak, gnu::noreturn]] void exit(int status) noexcept {
  ask(LastCall::kExit, "exit was called");
  static constinit Next<void(int)> next("exit");
  if (next.get() != nullptr) next.get()(status);
  _exit(status);
}

[[gnu::weak, gnu::noreturn]] void __assert_fail(const char* assertion, const char* file,
                                                unsigned int line, const char* function) noexcept {
  char what[kMostText];
  std::snprintf(what, sizeof what, "`%s' is not so, at %s:%u, in %s", assertion, file, line,
                function != nullptr ? function : "?");
  ask(LastCall::kAssertion, what);
  static constinit Next<void(const char*, const char*, unsigned int, const char*)> next(
      "__assert_fail");
  if (next.get() != nullptr) next.get()(assertion, file, line, function);
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
  static constinit Next<void(const char*, int, const char*, const char*)> next(
      "_ZSt21__glibcxx_assert_failPKciS0_S0_");
  if (next.get() != nullptr) next.get()(file, line, function, condition);
  std::fprintf(stderr, "%s\n", what);
  abort();
}

// Sanitizers have a function of their own by that name.
#if !defined(BULKHEAD_ASAN) && !defined(BULKHEAD_TSAN)
[[gnu::weak]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 void* (*run)(void*), void* argument) noexcept {
  ask(LastCall::kThread, "it wanted to start a thread, which could outlive it");
  static constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next(
      "pthread_create");
  return next.get()(thread, attributes, run, argument);
}
#endif

}  // extern "C"
