// Functions that this library defines in front of those of the C and C++ libraries, weakly: a
// program that is linked with it takes these definitions, and so do the shared libraries that it
// uses. Each leads to the one behind it.
#pragma once

#include <dlfcn.h>

namespace bulkhead::machine {

/// The next definition of a function after this library's. A constinit variable: one with a guard
/// would ask for the guard's own function. Allocates and locks nothing but for the first time.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) noexcept : name_(name) {}

  /// Null where there is none, as in a program without shared libraries.
  [[nodiscard]] Function* get() noexcept {
    Function* found = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (found == nullptr) [[unlikely]] {
      found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      __atomic_store_n(&found_, found, __ATOMIC_RELAXED);
    }
    return found;
  }

 private:
  const char* name_;
  Function* found_ = nullptr;
};

}  // namespace bulkhead::machine
