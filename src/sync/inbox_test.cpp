#include "sync/inbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace bulkhead::sync {
namespace {

struct Node {
  Node* next = nullptr;
  int sender = 0;
  int number = 0;
};

using TestInbox = Inbox<RealSync, Node>;

std::vector<int> numbers(Node* first) {
  std::vector<int> all;
  for (; first != nullptr; first = first->next) all.push_back(first->number);
  return all;
}

TEST(Inbox, is_quiet_and_empty_at_first) {
  TestInbox inbox;
  EXPECT_FALSE(inbox.has_mail());
  EXPECT_EQ(inbox.settle(), nullptr);
}

// I1
TEST(Inbox, its_first_push_must_notify_and_the_later_ones_need_not) {
  TestInbox inbox;
  Node nodes[3];
  EXPECT_EQ(inbox.push_remote(&nodes[0]), Pushed::kMustNotify);
  EXPECT_EQ(inbox.push_remote(&nodes[1]), Pushed::kQueued);
  EXPECT_TRUE(inbox.has_mail());
  EXPECT_NE(inbox.take(), nullptr);
  EXPECT_EQ(inbox.push_remote(&nodes[2]), Pushed::kQueued) << "the right has not been given up";
  EXPECT_NE(inbox.settle(), nullptr);
  EXPECT_EQ(inbox.push_remote(&nodes[0]), Pushed::kMustNotify);
}

// I4
TEST(Inbox, hands_over_in_the_order_of_the_pushes) {
  TestInbox inbox;
  std::vector<Node> nodes(6);
  for (int i = 0; i < 6; ++i) nodes[static_cast<std::size_t>(i)].number = i;
  for (std::size_t i = 0; i < 3; ++i) static_cast<void>(inbox.push_remote(&nodes[i]));
  EXPECT_EQ(numbers(inbox.take()), (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(inbox.has_mail());
  for (std::size_t i = 3; i < 6; ++i) static_cast<void>(inbox.push_remote(&nodes[i]));
  EXPECT_EQ(numbers(inbox.settle()), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(inbox.settle(), nullptr);
}

// I2
TEST(Inbox, its_right_can_be_claimed_when_nobody_has_it) {
  TestInbox inbox;
  Node node;
  EXPECT_TRUE(inbox.claim_right());
  EXPECT_FALSE(inbox.claim_right());
  EXPECT_EQ(inbox.push_remote(&node), Pushed::kQueued);
  EXPECT_FALSE(inbox.claim_right());
  EXPECT_EQ(inbox.settle(), &node);
  EXPECT_TRUE(inbox.claim_right());
}

// Memory fresh from the kernel is an inbox.
TEST(Inbox, is_all_zeros_at_first) {
  alignas(TestInbox) unsigned char zeros[sizeof(TestInbox)] = {};
  auto* inbox = reinterpret_cast<TestInbox*>(zeros);
  Node node;
  EXPECT_FALSE(inbox->has_mail());
  EXPECT_EQ(inbox->push_remote(&node), Pushed::kMustNotify);
  EXPECT_EQ(inbox->settle(), &node);
}

// All of it, on threads: order per sender, nothing lost, one notification per right.
TEST(Inbox, keeps_the_order_of_many_senders) {
  constexpr int kSenders = 3;
  constexpr int kEach = 20'000;
  TestInbox inbox;
  std::atomic<int> notified{0};
  std::vector<std::vector<Node>> nodes(kSenders, std::vector<Node>(kEach));
  std::vector<std::thread> senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.emplace_back([&, s] {
      for (int i = 0; i < kEach; ++i) {
        Node& node = nodes[static_cast<std::size_t>(s)][static_cast<std::size_t>(i)];
        node.sender = s;
        node.number = i;
        if (inbox.push_remote(&node) == Pushed::kMustNotify) ++notified;
      }
    });
  }
  int next[kSenders] = {};
  int handled = 0;
  int settled = 0;
  while (handled < kSenders * kEach) {
    if (notified <= settled) continue;  // nobody has told us
    if (handled % 3 == 0 && inbox.has_mail()) {
      for (Node* node = inbox.take(); node != nullptr; node = node->next, ++handled) {
        EXPECT_EQ(node->number, next[node->sender]++);
      }
    }
    Node* node = inbox.settle();
    ++settled;
    for (; node != nullptr; ++handled) {
      Node* following = node->next;
      EXPECT_EQ(node->number, next[node->sender]++);
      node = following;
    }
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_FALSE(inbox.has_mail());
  EXPECT_GE(notified, settled);
  EXPECT_LE(notified, settled + 1);
}

}  // namespace
}  // namespace bulkhead::sync
