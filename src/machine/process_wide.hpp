// One object for the whole process, which keeps threads: never destroyed, since they may outlive
// everything else. A child process that is forked has none of the threads, and maybe a lock that
// nobody lets go of: it begins with an object of its own.
#pragma once

#include <new>

#include "base/critical.hpp"
#include "machine/fork.hpp"

namespace bulkhead::machine {

/// `T` is made from a pointer to the parent process's, null for the first. Throws std::bad_alloc,
/// and what T's constructor throws. (Nothing in here ticks, or others would wait for an actor that
/// has given way while it makes the object.)
template <class T>
[[nodiscard]] T& process_wide() {
  const base::Critical critical("who makes what the process shares must not block");
  static T* one = nullptr;
  static const bool made = [] {
    one = new T(nullptr);
    const bool renewed = in_each_fork([] {
      const base::Critical in_fork("a fork must not block");
      one = new T(one);
    });
    if (!renewed) throw std::bad_alloc();
    return true;
  }();
  static_cast<void>(made);
  return *one;
}

}  // namespace bulkhead::machine
