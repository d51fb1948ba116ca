/// Preemption: how handlers that run long let others run. See Config for what happens by itself.
#pragma once

namespace bulkhead {

/// A point at which the calling actor may be made to give way: for loops that neither allocate nor
/// block. Lets the core's other actors run when this one has used its time slice up
/// (Config::time_slice); and unwinds the actor when it is to end, by an exception that is no
/// std::exception: `catch (...)` must rethrow it. Costs a few instructions otherwise, and does
/// nothing on threads outside, in hooks and inside NoPreempt.
void check();

/// While one exists, the calling actor does not give way: not at allocations, not at check(), and
/// not in code that is compiled for preemption; nor is it unwound there. What would block it, such
/// as an ask, sleep or this_actor::yield, throws std::logic_error. For a few lines that hold a lock
/// or use what belongs to the thread. A local variable; may be nested.
class NoPreempt {
 public:
  NoPreempt() noexcept;
  NoPreempt(const NoPreempt&) = delete;
  NoPreempt& operator=(const NoPreempt&) = delete;
  ~NoPreempt();

  static void* operator new(unsigned long) = delete;
  static void* operator new[](unsigned long) = delete;

 private:
  const char* outer_ = nullptr;
  unsigned char was_inside_;
};

}  // namespace bulkhead
