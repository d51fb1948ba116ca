// A12, A23: ports, addresses and pids that were never given an actor. What was wrong: a
// default-constructed port crashed the process when something was sent to it, or a timer fired.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/on_cores.hpp"

namespace {

using namespace std::chrono_literals;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::DropCause;
using bulkhead::Port;

struct Small {
  int number;
};
struct Owner {
  std::shared_ptr<const int> kept;
};

class Sink {
 public:
  int receive(Small message) { return message.number; }
  void receive(const Owner& /*message*/) {}
};

class SendsToNobody : public support::OnCores {
 protected:
  SendsToNobody() : runtime(with_hook()) { runtime.start(); }

  bulkhead::Config with_hook() {
    bulkhead::Config config = support::OnCores::config();
    config.on_dead_letter = [this](const bulkhead::DeadLetter& letter) {
      if (letter.receiver || letter.cause != DropCause::kGone) ++wrong;
      if (letter.message_type.ends_with("Small")) ++small;
      if (letter.message_type.ends_with("Owner")) ++owners;
    };
    return config;
  }

  // Six messages, three of each kind.
  void send_all() {
    if (Port<Small>().send(Small{1}) != Delivery::kGone) ++wrong;
    if (Port<Owner>().send(Owner{held}) != Delivery::kGone) ++wrong;
    if (Address<Sink>().send(Small{1}) != Delivery::kGone) ++wrong;
    if (Address<Sink>().send(Owner{held}) != Delivery::kGone) ++wrong;
    if (Address<Sink>().port<Small>().send(Small{1}) != Delivery::kGone) ++wrong;
    if (Port<Owner>(Address<Sink>()).send(Owner{held}) != Delivery::kGone) ++wrong;
  }

  // All that keep their message, or tell by their result alone.
  void try_all() {
    Owner owner{held};
    if (Port<Owner>().try_send(owner) != Delivery::kGone || owner.kept == nullptr) ++wrong;
    if (Address<Sink>().try_send(owner) != Delivery::kGone || owner.kept == nullptr) ++wrong;
    if (Address<Sink>().send_or_wait(owner, 1s) != Delivery::kGone || owner.kept == nullptr)
      ++wrong;
    if (bulkhead::request_stop(Address<Sink>()) != Delivery::kGone) ++wrong;
  }

  std::atomic<int> small{0};
  std::atomic<int> owners{0};
  std::atomic<int> wrong{0};
  std::shared_ptr<const int> held = std::make_shared<int>(1);
  bulkhead::Runtime runtime;
};
ON_ONE_AND_SEVERAL_CORES(SendsToNobody);

TEST_P(SendsToNobody, in_an_actor_are_refused_and_told) {
  runtime.spawn([this] {
    send_all();
    try_all();
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(small, 3);
  EXPECT_EQ(owners, 3);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runtime.stats().refused, 6u);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(SendsToNobody, on_a_thread_outside_are_strays) {
  const auto before = runtime.stats().strays;
  send_all();
  try_all();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runtime.stats().strays, before + 6);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(SendsToNobody, by_a_timer_are_dropped_when_it_fires) {
  runtime.spawn([this] {
    bulkhead::send_after(1ms, Port<Small>(), Small{1});
    bulkhead::send_after(1ms, Port<Owner>(), Owner{held});
    bulkhead::send_after(1ms, Address<Sink>(), Owner{held});
    const auto cancelled = bulkhead::send_after(1h, Port<Owner>(), Owner{held});
    bulkhead::send_after(1h, Port<Owner>(), Owner{held});  // ends with its actor
    bulkhead::this_actor::sleep_for(5ms);
    if (!bulkhead::cancel(cancelled)) ++wrong;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(small, 1);
  EXPECT_EQ(owners, 2);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(SendsToNobody, asks_and_stop_requests_fail_at_once) {
  const auto check = [this] {
    const auto answer = Address<Sink>().ask(Small{1}, bulkhead::kForever);
    if (answer || answer.error() != AskError::kGone) ++wrong;
    if (bulkhead::stop(Address<Sink>()) != Delivery::kGone) ++wrong;
    if (bulkhead::stop(bulkhead::Pid()) != Delivery::kGone) ++wrong;
    if (bulkhead::request_stop(bulkhead::Pid()) != Delivery::kGone) ++wrong;
  };
  check();
  runtime.spawn(check);
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(Port<Small>());
  EXPECT_EQ(Port<Small>(), Port<Small>());
}

}  // namespace
