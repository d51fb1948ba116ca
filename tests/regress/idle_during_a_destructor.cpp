// A17: an actor that ends is at work until its destructor has returned and its hook was told. What
// was wrong: its last message was counted as handled before, so that the runtime was idle too
// early.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using support::Live;
using namespace std::chrono_literals;

// How an actor comes to its end.
enum class End { kStop, kFailure, kStopInStarted, kFailureInStarted, kTimeout };

class Slow {
 public:
  Slow(End end, std::atomic<int>* destroyed) : end_(end), destroyed_(destroyed) {}
  ~Slow() {
    this_actor::sleep_for(3ms);
    this_actor::yield();
    ++*destroyed_;
  }
  void started() {
    if (end_ == End::kStopInStarted) this_actor::stop();
    if (end_ == End::kFailureInStarted) throw std::runtime_error("failed");
  }
  bulkhead::Timeout receive_timeout() const {
    return end_ == End::kTimeout ? bulkhead::Timeout(1ms) : bulkhead::kForever;
  }
  void receive(bulkhead::ReceiveTimeout /*timeout*/) { this_actor::stop(); }
  void receive(int /*message*/) {
    if (end_ == End::kStop) this_actor::stop();
    if (end_ == End::kFailure) throw std::runtime_error("failed");
  }

 private:
  End end_;
  std::atomic<int>* destroyed_;
  Live live_{1};
};

class IdleDuringADestructor : public support::OnCores {
 protected:
  IdleDuringADestructor() : runtime(with_hook()) { runtime.start(); }
  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_death = [this](const bulkhead::Death&) { ++told; };
    return config;
  }

  std::atomic<int> told{0};
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(IdleDuringADestructor);

TEST_P(IdleDuringADestructor, is_not_told) {
  int expected = 0;
  std::atomic<int> destroyed{0};
  for (const End end :
       {End::kStop, End::kFailure, End::kStopInStarted, End::kFailureInStarted, End::kTimeout}) {
    for (int round = 0; round < 10; ++round) {
      const auto slow = runtime.spawn_with<Slow>(on_core(1), end, &destroyed);
      slow.send(1);
      slow.send(2);
      ++expected;
      ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
      ASSERT_EQ(destroyed, expected) << static_cast<int>(end);
      ASSERT_EQ(told, expected);
      ASSERT_EQ(Live::alive(), 0);
      ASSERT_EQ(runtime.stats().actors(), 0u);
    }
  }
}

// A callable is destroyed too.
TEST_P(IdleDuringADestructor, of_a_capture_is_not_told) {
  struct Slowly {
    std::atomic<int>* destroyed;
    explicit Slowly(std::atomic<int>* counter) : destroyed(counter) {}
    Slowly(Slowly&& other) noexcept : destroyed(std::exchange(other.destroyed, nullptr)) {}
    ~Slowly() {
      if (destroyed == nullptr) return;
      this_actor::sleep_for(3ms);
      ++*destroyed;
    }
  };
  std::atomic<int> destroyed{0};
  for (int round = 1; round <= 20; ++round) {
    runtime.spawn_with(on_core(1), [slowly = Slowly(&destroyed)] {});
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    ASSERT_EQ(destroyed, round);
  }
}

}  // namespace
