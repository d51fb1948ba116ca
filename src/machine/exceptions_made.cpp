#include "machine/exceptions_made.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <exception>

#include "machine/interposed.hpp"

namespace bulkhead::machine {

namespace {

const ExceptionWatcher* the_watcher = nullptr;

using Dependent = abi::__cxa_dependent_exception;

void give(void* exception) noexcept {
  static constinit Next<void(void*)> next("__cxa_free_exception");
  next.get()(exception);
}
void give_dependent(Dependent* exception) noexcept {
  static constinit Next<void(Dependent*)> next("__cxa_free_dependent_exception");
  next.get()(exception);
}

}  // namespace

void watch_exceptions(const ExceptionWatcher& watcher) noexcept { the_watcher = &watcher; }

void give_back_exception(void* exception, bool is_dependent) noexcept {
  if (is_dependent) {
    give_dependent(static_cast<Dependent*>(exception));
  } else {
    give(exception);
  }
}

}  // namespace bulkhead::machine

using namespace bulkhead::machine;  // NOLINT: for the definitions below

namespace __cxxabiv1 {

extern "C" {

[[gnu::weak]] void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  static constinit Next<void*(std::size_t)> next("__cxa_allocate_exception");
  void* exception = next.get()(bytes);
  if (the_watcher != nullptr) the_watcher->made(exception, false);
  return exception;
}

[[gnu::weak]] void __cxa_free_exception(void* exception) noexcept {
  if (the_watcher != nullptr) the_watcher->gone(exception);
  give(exception);
}

[[gnu::weak]] __cxa_dependent_exception* __cxa_allocate_dependent_exception() noexcept {
  static constinit Next<__cxa_dependent_exception*()> next("__cxa_allocate_dependent_exception");
  __cxa_dependent_exception* exception = next.get()();
  if (the_watcher != nullptr) the_watcher->made(exception, true);
  return exception;
}

[[gnu::weak]] void __cxa_free_dependent_exception(__cxa_dependent_exception* exception) noexcept {
  if (the_watcher != nullptr) the_watcher->gone(exception);
  give_dependent(exception);
}

}  // extern "C"

}  // namespace __cxxabiv1
