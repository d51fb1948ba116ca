// D3: the timer that the watch over stuck handlers sleeps on.
#include "machine/wake_timer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace bulkhead::machine {
namespace {

TEST(WakeTimer, ends_a_wait_when_its_time_has_come_and_not_before) {
  WakeTimer timer;
  const Nanoseconds begun = now();
  timer.set(3 * kMillisecond);
  timer.wait();
  EXPECT_GE(now() - begun, 3 * kMillisecond);
}

TEST(WakeTimer, that_has_fired_ends_the_next_wait_at_once) {
  WakeTimer timer;
  timer.set(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  timer.wait();
}

TEST(WakeTimer, can_be_set_anew_by_another_thread) {
  WakeTimer timer;
  timer.set(3600 * 1000 * kMillisecond);
  std::thread other([&timer] { timer.set(0); });
  timer.wait();
  other.join();
}

}  // namespace
}  // namespace bulkhead::machine
