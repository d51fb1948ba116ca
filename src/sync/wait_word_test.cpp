#include "sync/wait_word.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sync/parker.hpp"

namespace bulkhead::sync {
namespace {

TEST(WaitWord, a_wait_can_be_claimed_once) {
  WaitWord<RealSync> word;
  EXPECT_FALSE(word.armed());
  EXPECT_FALSE(word.claim_any());
  const auto epoch = word.begin();
  EXPECT_TRUE(word.armed());
  EXPECT_TRUE(word.claim(epoch));
  EXPECT_FALSE(word.armed());
  EXPECT_FALSE(word.claim(epoch));
  EXPECT_FALSE(word.claim_any());
}

// W2
TEST(WaitWord, a_claim_of_another_wait_fails) {
  WaitWord<RealSync> word;
  const auto first = word.begin();
  EXPECT_TRUE(word.claim(first));
  const auto second = word.begin();
  EXPECT_GT(second, first);
  EXPECT_FALSE(word.claim(first));
  EXPECT_FALSE(word.claim(second + 1));
  EXPECT_TRUE(word.armed());
  EXPECT_TRUE(word.claim(second));
}

// B18: also when these have begun anew.
TEST(WaitWord, is_claimed_by_the_lowest_bits_of_its_epoch) {
  constexpr unsigned kBits = 3;
  WaitWord<RealSync> word;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t lowest = word.begin() % 8;
    EXPECT_FALSE(word.claim_lowest((lowest + 7) % 8, kBits));
    EXPECT_FALSE(word.claim_lowest((lowest + 1) % 8, kBits));
    EXPECT_TRUE(word.claim_lowest(lowest, kBits));
    EXPECT_FALSE(word.claim_lowest(lowest, kBits));
  }
}

TEST(WaitWord, a_wait_that_was_given_up_is_not_taken_for_the_next) {
  WaitWord<RealSync> word;
  const auto first = word.begin();
  const auto second = word.begin();  // the first was never parked for
  EXPECT_FALSE(word.claim(first));
  EXPECT_TRUE(word.claim_any());
  EXPECT_FALSE(word.claim(second));
}

// W3: of many who know the epoch one gets it, and each wait is resumed once.
TEST(WaitWord, one_of_many_claimers_gets_each_wait) {
  constexpr std::uint64_t kWaits = 5000;
  WaitWord<RealSync> word;
  Parker<RealSync> parker;
  std::atomic<std::uint64_t> epoch{0};
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> claimers;
  for (int t = 0; t < 3; ++t) {
    claimers.emplace_back([&, t] {
      while (!done) {
        if (t == 0 ? word.claim_any() : word.claim(epoch)) {
          ++claimed;
          parker.unpark();
        }
      }
    });
  }
  for (std::uint64_t i = 1; i <= kWaits; ++i) {
    epoch = word.begin();
    parker.park();
    ASSERT_EQ(claimed, i);
    ASSERT_FALSE(word.armed());
  }
  done = true;
  for (std::thread& claimer : claimers) claimer.join();
}

}  // namespace
}  // namespace bulkhead::sync
