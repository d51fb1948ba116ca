#include "core/thrown.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <typeinfo>

#include "base/critical.hpp"
#include "core/exception_head.hpp"
#include "machine/fork.hpp"
#include "machine/stack_trace.hpp"

namespace bulkhead::core {

namespace {

// Of exceptions on their way; found by the address of the exception. When very many are, others
// lose theirs, such as those that somebody has caught after all.
class Noted {
 public:
  /// What is thrown again keeps where it was thrown first.
  void put(const void* exception, const ThrowTrace& trace, bool again) noexcept {
    const base::Critical critical("an exception is thrown");
    sync::Guard guard(lock_);
    std::size_t place = place_of(exception);
    if (place != kPlaces && again) return;
    if (place == kPlaces) place = place_of(nullptr);
    if (place == kPlaces) place = next_++ % kPlaces;
    exceptions_[place] = exception;
    traces_[place] = trace;
  }

  ThrowTrace take(const void* exception) noexcept {
    const base::Critical critical("an exception is read out");
    sync::Guard guard(lock_);
    const std::size_t place = place_of(exception);
    if (place == kPlaces) return {};
    exceptions_[place] = nullptr;
    return traces_[place];
  }

 private:
  static constexpr std::size_t kPlaces = 128;

  // kPlaces when there is none.
  [[nodiscard]] std::size_t place_of(const void* exception) const noexcept {
    return static_cast<std::size_t>(std::ranges::find(exceptions_, exception) -
                                    exceptions_.begin());
  }

  machine::ForkMutex lock_{machine::Nesting::kInner};
  std::size_t next_ = 0;  // that is taken when all are
  std::array<const void*, kPlaces> exceptions_{};
  std::array<ThrowTrace, kPlaces> traces_{};
};

Noted& noted() {
  static auto* made = new Noted;  // never destroyed: somebody may throw at the very end
  return *made;
}
// At the start of the program: not while something is thrown.
[[maybe_unused]] const Noted& made_early = noted();

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
    trace.count = machine::walk_stack(trace.frames);
    noted().put(*exception, trace, is_thrown_again(*thrown, *exception));
    return false;
  }
};

// By the name under which the compiler looks for the type_info of Leaving; made before all else.
extern Asked leaving_asked asm("_ZTIN8bulkhead4core7LeavingE");
[[gnu::used, gnu::init_priority(101)]] Asked leaving_asked("N8bulkhead4core7LeavingE");

ThrowTrace take_throw_trace(const std::exception_ptr& failure) noexcept {
  static_assert(sizeof failure == sizeof(void*), "it is the address of the exception");
  const void* exception = nullptr;
  std::memcpy(&exception, &failure, sizeof exception);  // NOLINT: as the assertion says
  return exception != nullptr ? noted().take(exception) : ThrowTrace{};
}

}  // namespace bulkhead::core
