// Compiled, not run, by bench/compare: the two-actor program as threads with a mutex and a
// condition variable.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

class Mailbox {
 public:
  void send(int message) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(message);
    }
    not_empty_.notify_one();
  }

  int receive() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !queue_.empty(); });
    const int message = queue_.front();
    queue_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<int> queue_;
};

int main() {
  Mailbox to_ping;
  Mailbox to_pong;
  int last = 0;
  std::thread pong([&] {
    for (int i = 0; i < 10; ++i) to_ping.send(to_pong.receive() + 1);
  });
  std::thread ping([&] {
    for (int i = 0; i < 10; ++i) {
      to_pong.send(last);
      last = to_ping.receive();
    }
  });
  ping.join();
  pong.join();
  return last == 10 ? 0 : 1;
}
