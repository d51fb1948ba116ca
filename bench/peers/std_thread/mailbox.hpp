// The mailboxes of the peer "std::thread", and the signal that starts its threads together.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace std_thread {

inline constexpr std::size_t kBound = 1024;

/// Unbounded, any number of senders, one receiver.
template <class T>
class Mailbox {
 public:
  void send(T message) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(message));
    }
    not_empty_.notify_one();
  }

  T receive() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !queue_.empty(); });
    T message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<T> queue_;
};

/// As Mailbox, but a sender waits while `kBound` messages are queued.
template <class T>
class BoundedMailbox {
 public:
  void send(T message) {
    {
      std::unique_lock lock(mutex_);
      not_full_.wait(lock, [this] { return queue_.size() < kBound; });
      queue_.push_back(std::move(message));
    }
    not_empty_.notify_one();
  }

  T receive() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !queue_.empty(); });
    T message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    not_full_.notify_one();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<T> queue_;
};

/// Lets threads be created before the clock starts.
class StartSignal {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return given_; });
  }
  void give() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

}  // namespace std_thread
