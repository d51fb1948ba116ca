// Stacks for model threads: all of them run on one thread of the system, one at a time, and change
// over at every modelled operation.
#pragma once

#include <cstddef>

#include "machine/switch.hpp"

namespace bulkhead::model {

class Fiber {
 public:
  using Task = void (*)(void* argument);

  /// Stands for the stack of the calling thread. `change` from it before anything else.
  Fiber() noexcept;
  /// A stack of its own.
  explicit Fiber(std::size_t bytes);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// What the fiber does when it is next changed to. The task must change away at its end; when it
  /// is changed to again, it returns, and the next task begins.
  void assign(Task task, void* argument) noexcept {
    task_ = task;
    argument_ = argument;
  }

  /// Leaves `from`, which runs, and goes on in `to`. Returns when somebody changes to `from`.
  static void change(Fiber& from, Fiber& to);

  /// For a fiber that stopped in the middle of its task and is never changed to again: what its
  /// frames own is not lost in the eyes of a leak checker.
  void keep_for_good() noexcept;

 private:
  static void enter(void* self);
  void arrived();

  machine::StackPointer saved_ = nullptr;
  Task task_ = nullptr;
  void* argument_ = nullptr;
  std::byte* mapping_ = nullptr;
  std::byte* bottom_ = nullptr;
  std::size_t size_ = 0;
  bool started_ = false;
  // What the C++ runtime knows of exceptions in flight: a thread may change over in a handler.
  void* exceptions_[2] = {nullptr, nullptr};
  void* sanitizer_ = nullptr;
};

/// While it lives, a leak checker does not follow what is allocated: threads that are stopped for
/// good never free what they own.
class LeaksAllowed {
 public:
  LeaksAllowed() noexcept;
  LeaksAllowed(const LeaksAllowed&) = delete;
  LeaksAllowed& operator=(const LeaksAllowed&) = delete;
  ~LeaksAllowed();
};

}  // namespace bulkhead::model
