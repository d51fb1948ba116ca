/// Waiting for a condition, with a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace support {

using Clock = std::chrono::steady_clock;

/// What no wait of a test exceeds unless the test has failed. Sanitizers and shared machines are
/// slow.
inline constexpr std::chrono::seconds kDeadline{60};

/// Waits until `condition()` holds; false when the deadline passes before.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, Clock::duration deadline = kDeadline) {
  const auto end = Clock::now() + deadline;
  for (int tries = 0; !condition(); ++tries) {
    if (Clock::now() > end) return condition();
    if (tries < 100) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return true;
}

/// Something that happens once, for threads and for handlers that are to hold their core meanwhile.
class Event {
 public:
  void set() { happened_.store(true, std::memory_order_release); }
  [[nodiscard]] bool happened() const { return happened_.load(std::memory_order_acquire); }
  /// False when the deadline passes before.
  bool wait() const {
    return eventually([this] { return happened(); });
  }

 private:
  std::atomic<bool> happened_{false};
};

/// Keeps the calling thread busy.
inline void burn(Clock::duration time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

}  // namespace support
