// The scheduler threads of the peer "Boost.Fiber".
#pragma once

#include <atomic>
#include <boost/fiber/all.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace boost_fiber {

namespace fibers = boost::fibers;

/// Waits until all scheduler threads are there: the work_stealing scheduler must not look for work
/// before.
class Gathering {
 public:
  explicit Gathering(unsigned expected) : missing_(expected) {}
  void arrive_and_wait() {
    missing_.fetch_sub(1);
    while (missing_.load() != 0) std::this_thread::yield();
  }

 private:
  std::atomic<unsigned> missing_;
};

/// The scheduler threads besides the calling one, which becomes the first.
class Cores {
 public:
  explicit Cores(unsigned count) : gathering_(count) {
    if (count == 1) return;
    for (unsigned i = 1; i < count; ++i) threads_.emplace_back([this, count] { work(count); });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
    gathering_.arrive_and_wait();
  }
  ~Cores() {
    {
      const std::lock_guard<fibers::mutex> lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

 private:
  void work(unsigned count) {
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count);
    gathering_.arrive_and_wait();
    std::unique_lock<fibers::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }

  Gathering gathering_;
  fibers::mutex mutex_;
  fibers::condition_variable changed_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace boost_fiber
