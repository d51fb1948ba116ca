#include "core/thrown.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>
#include <typeinfo>

#include "base/critical.hpp"
#include "core/exception_head.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::core {

namespace {

// Of exceptions on their way; found by the address of the exception. One that finds its place taken
// takes it: who is late has no trace.
class Noted {
 public:
  /// What is thrown again keeps where it was thrown first.
  void put(const void* exception, const ThrowTrace& trace, bool again) noexcept {
    const base::Critical critical("an exception is thrown");
    sync::Guard guard(lock_);
    Entry& entry = at(exception);
    if (again && entry.exception == exception) return;
    entry.exception = exception;
    entry.trace = trace;
  }

  ThrowTrace take(const void* exception) noexcept {
    const base::Critical critical("an exception is read out");
    sync::Guard guard(lock_);
    Entry& entry = at(exception);
    if (entry.exception != exception) return {};
    entry.exception = nullptr;
    return entry.trace;
  }

 private:
  static constexpr std::size_t kPlaces = 128;

  struct Entry {
    const void* exception = nullptr;
    ThrowTrace trace;
  };

  Entry& at(const void* exception) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(exception);
    return entries_[(address >> 4) * 0x9e3779b97f4a7c15u >> 57];
  }

  sync::Mutex lock_;
  std::array<Entry, kPlaces> entries_{};
};

constinit Noted noted;

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) noexcept {
  auto& trace = *static_cast<ThrowTrace*>(argument);
  if (trace.count == ThrowTrace::kMost) return _URC_END_OF_STACK;
  trace.frames[trace.count++] = reinterpret_cast<void*>(_Unwind_GetIP(frame));
  return _URC_NO_REASON;
}

// Is it thrown by `throw;`? Of a pointer that is thrown one is not given the object.
bool is_thrown_again(const std::type_info& thrown, const void* exception) noexcept {
  return !thrown.__is_pointer_p() && static_cast<const ExceptionHead*>(exception)[-1].handlers < 0;
}

}  // namespace

// Not of the anonymous namespace: what is of such a type has no name outside.
class Asked : public std::type_info {
 public:
  explicit Asked(const char* name) noexcept : std::type_info(name) {}

  bool __do_catch(const std::type_info* thrown, void** exception,
                  unsigned /*outer*/) const override {
    // What is not of C++, such as the cancellation of a thread.
    if (*thrown == typeid(abi::__forced_unwind) || *thrown == typeid(abi::__foreign_exception))
      return false;
    ThrowTrace trace;
    _Unwind_Backtrace(&note_frame, &trace);
    noted.put(*exception, trace, is_thrown_again(*thrown, *exception));
    return false;
  }
};

// By the name under which the compiler looks for the type_info of Leaving; made before all else.
extern Asked leaving_asked asm("_ZTIN8bulkhead4core7LeavingE");
[[gnu::used, gnu::init_priority(101)]] Asked leaving_asked("N8bulkhead4core7LeavingE");

ThrowTrace take_throw_trace(const std::exception_ptr& failure) noexcept {
  static_assert(sizeof failure == sizeof(void*), "it is the address of the exception");
  const void* exception = nullptr;
  std::memcpy(&exception, &failure, sizeof exception);
  return exception != nullptr ? noted.take(exception) : ThrowTrace{};
}

}  // namespace bulkhead::core
