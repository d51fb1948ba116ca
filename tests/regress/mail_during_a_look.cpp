// C2, C6: a message that comes while its receiver is made to give way in the middle of looking for
// it. What was wrong: a select by on_message looked through the queue, then gave way, and then
// took all that was there for what it had looked at; so it slept beside its message.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <optional>

#include "support/process.hpp"
#include "support/stuck.hpp"
#include "support/wait.hpp"

namespace {

using namespace std::chrono_literals;

struct Go {};
struct Number {
  int value;
};
using Box = bulkhead::Mailbox<Number>;

TEST(MailDuringALook, is_seen) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;
  bulkhead::Runtime runtime(config);
  runtime.start();
  struct Sender {
    bulkhead::Address<Box> to;
    explicit Sender(bulkhead::Address<Box> receiver) : to(receiver) {}
    void receive(Go /*message*/) { to.send(Number{7}); }
  };
  std::optional<int> seen;
  runtime.spawn<Box>([&](Box& mailbox) {
    const auto sender = bulkhead::spawn<Sender>(bulkhead::this_actor::address(&mailbox));
    sender.send(Go{});                                       // it is ready, and waits for this core
    EXPECT_FALSE(mailbox.next_for<Number>(0s).has_value());  // its time begins to be counted
    support::burn(config.time_slice * 3);
    bulkhead::select_for(5s, bulkhead::on_message(mailbox, [&](Number n) { seen = n.value; }));
    bulkhead::stop(sender);
  });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(seen, 7);
}

}  // namespace
