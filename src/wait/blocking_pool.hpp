// The threads that do what blocks (bulkhead/blocking.hpp): at most a certain number, started when
// there is work and none is free, ended when they have had nothing to do for a while.
//
// Rules
//  B1  A job is its waiter's and, from when it is queued, the pool's. Under the lock each lets go
//      of its share, and the last destroys the job, outside the lock. So a thread never touches the
//      frame of an actor that has left, and the late result goes with the job.
//  B2  A job that is still queued when its waiter leaves is taken out, and never begun.
//  B3  No thread is left when no runtime runs: then those that are idle are ended and joined. Those
//      that are at a job are waited for, a little; a job that takes longer is told on stderr, once,
//      and its thread ends after it, or serves those who have come meanwhile.
//  B4  The pool is never destroyed: such a thread may outlive main.
#pragma once

#include <chrono>
#include <list>

#include "bulkhead/blocking.hpp"
#include "machine/clock.hpp"
#include "machine/process_wide.hpp"
#include "sync/mutex.hpp"
#include "sync/thread.hpp"

namespace bulkhead::wait {

class BlockingPool {
 public:
  [[nodiscard]] static BlockingPool& process();

  /// Queues a job; it then has two owners. Throws std::runtime_error when there is no thread.
  void submit(core::BlockingJob& job);
  void let_go(core::BlockingJob& job) noexcept;

  void set_limits(const BlockingLimits& limits);
  [[nodiscard]] BlockingLimits limits() const;

  /// Ends all threads; waits for those that are at work, for at most `patience`.
  void retire(std::chrono::milliseconds patience) noexcept;

 private:
  using Threads = std::list<sync::Thread>;

  template <class T>
  friend T& machine::process_wide();
  /// `parents`: of the process that was forked. Throws std::bad_alloc.
  explicit BlockingPool(const BlockingPool* parents);
  void start_thread();
  void work(Threads::iterator mine, unsigned round) noexcept;
  [[nodiscard]] bool wait_for_work(sync::UniqueGuard& guard, unsigned round);
  void leave(unsigned round) noexcept;
  void run_first(sync::UniqueGuard& guard) noexcept;
  void remove(core::BlockingJob& job) noexcept;

  mutable sync::Mutex lock_;
  sync::Condition work_;
  sync::Condition ended_;
  core::BlockingJob* first_ = nullptr;
  core::BlockingJob* last_ = nullptr;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  Threads threads_;
  Threads past_;           // have ended, or are about to, and are yet to be joined
  unsigned round_ = 0;     // grows when all threads are to end
  std::size_t fresh_ = 0;  // threads that were started, or have taken work, since
  // Threads that have been told to be left behind, of rounds before that one.
  std::size_t given_up_ = 0;
  unsigned given_up_before_ = 0;
  BlockingLimits limits_;
};

}  // namespace bulkhead::wait
