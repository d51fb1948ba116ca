// C6: of the arms of a select that are ready at the same moment, the one declared first is chosen.
// What was wrong: a close that made several arms ready chose one that receives, wherever it stood.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstddef>
#include <expected>
#include <thread>

#include "support/on_cores.hpp"

namespace {

using bulkhead::ChannelError;
using bulkhead::on_receive;
using bulkhead::on_send;

constexpr std::size_t kNone = 9;

class ClosesThatMakeSeveralArmsReady : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(ClosesThatMakeSeveralArmsReady);

/// Waits on both sides of a rendezvous; says which arm was chosen, and checks that it was told why.
std::size_t wait_on_both_sides(const bulkhead::Channel<int>& channel) {
  int value = 1;
  std::size_t closed = kNone;
  const std::size_t chosen =
      bulkhead::select(on_send(channel.sender, value,
                               [&](std::expected<void, ChannelError> sent) {
                                 if (!sent && sent.error() == ChannelError::kClosed) closed = 0;
                               }),
                       on_receive(channel.receiver, [&](std::expected<int, ChannelError> received) {
                         if (!received && received.error() == ChannelError::kClosed) closed = 1;
                       }));
  return closed == chosen && value == 1 ? chosen : kNone;
}

TEST_P(ClosesThatMakeSeveralArmsReady, choose_the_one_declared_first) {
  const auto channel = bulkhead::make_channel<int>(0);
  auto waiter =
      runtime.spawn_joinable_with(pinned_to(1), [channel] { return wait_on_both_sides(channel); });
  runtime.spawn_with(pinned_to(1), [sender = channel.sender] { sender.close(); });
  EXPECT_EQ(waiter.join(), 0u);
}

TEST_P(ClosesThatMakeSeveralArmsReady, also_in_threads_outside) {
  const auto channel = bulkhead::make_channel<int>(0);
  std::atomic<std::size_t> chosen{kNone};
  std::thread outside([&] { chosen = wait_on_both_sides(channel); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // wrong only if it waits already
  channel.sender.close();
  outside.join();
  EXPECT_EQ(chosen, 0u);
}

}  // namespace
