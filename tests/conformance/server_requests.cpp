// C14: requests whose answers are fetched later. Tests are named after the cases of OTP's
// gen_server_SUITE whose behaviour they check.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "support/served.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::AskError;
using bulkhead::Exit;
using bulkhead::IfLate;
using bulkhead::Request;
using bulkhead::RequestSet;
using bulkhead::ServerRef;
using support::Add;
using support::Answer;
using support::Ask;
using support::Break;
using support::BreakLater;
using support::EndSilently;
using support::EndWith;
using support::eventually;
using support::Get;
using support::Note;
using support::Till;
using namespace std::chrono_literals;

class ServerRequests : public support::Served {};
ON_ONE_AND_SEVERAL_CORES(ServerRequests);

TEST_P(ServerRequests, send_request) {
  const auto server = till(5);
  auto request = server.send_request(Get{});
  EXPECT_TRUE(request.pending());
  EXPECT_EQ(request.wait(), 5);
  EXPECT_FALSE(request.pending());
  EXPECT_THROW(static_cast<void>(request.wait()), std::logic_error);
  EXPECT_THROW(static_cast<void>(request.check()), std::logic_error);
  EXPECT_THROW(static_cast<void>(Request<int>().wait()), std::logic_error);
  EXPECT_TRUE(server.send_request(Note{"word"}).wait().has_value());
  run([&] { EXPECT_EQ(server.send_request(Get{}).wait(), 5); });
}

TEST_P(ServerRequests, send_request_check) {
  const auto server = till();
  auto request = server.send_request(Ask{});
  EXPECT_EQ(server.call(Get{}), 0);
  EXPECT_FALSE(request.check().has_value());
  server.cast(Answer{6});
  std::optional<bulkhead::CallResult<int>> answer;
  EXPECT_TRUE(eventually([&] { return (answer = request.check()).has_value(); }));
  EXPECT_EQ(*answer, 6);
}

// gen_server:wait_response keeps the request when time is up, receive_response abandons it (OTP
// 25).
TEST_P(ServerRequests, send_request_timeout) {
  const auto server = till();
  auto kept = server.send_request(Ask{});
  EXPECT_EQ(kept.wait_for(5ms, IfLate::kKeep).error(), AskError::kTimedOut);
  EXPECT_TRUE(kept.pending());
  auto abandoned = server.send_request(Ask{});
  EXPECT_EQ(abandoned.wait_for(5ms, IfLate::kAbandon).error(), AskError::kTimedOut);
  EXPECT_FALSE(abandoned.pending());
  server.cast(Answer{2});  // handled all the same
  EXPECT_EQ(kept.wait(), 2);
  EXPECT_EQ(server.call(Get{}), 0);
}

TEST_P(ServerRequests, send_request_to_one_that_fails) {
  auto error = till().send_request(Break{}).wait().error();
  EXPECT_EQ(error, AskError::kDied);
  EXPECT_EQ(to_string(error.exit), "panic: broken (std::runtime_error)");
  error = till().send_request(BreakLater{}).wait().error();
  EXPECT_EQ(to_string(error.exit), "panic: broken later (std::runtime_error)");
  error = till().send_request(EndSilently{Exit::custom("why")}).wait().error();
  EXPECT_EQ(error.exit, Exit::custom("why"));
  const auto server = till(3);
  auto waits = server.send_request(Ask{});
  EXPECT_EQ(server.send_request(EndWith{Exit::custom("so")}).wait(), 3);
  EXPECT_EQ(waits.wait().error().exit, Exit::custom("so"));
  EXPECT_EQ(server.send_request(Get{}).wait().error(), AskError::kGone);
  EXPECT_EQ(ServerRef<Till>().send_request(Get{}).wait().error(), AskError::kGone);
}

struct AskMyself {};
struct Narcissus : bulkhead::GenServer {
  AskError handle_call(AskMyself /*message*/) {
    const ServerRef<Narcissus> self(this_actor::pid());
    return self.send_request(AskMyself{}).wait().error().error;
  }
};

TEST_P(ServerRequests, send_request_to_self) {
  EXPECT_EQ(serve<Narcissus>({}).call(AskMyself{}), AskError::kSelf);
}

TEST_P(ServerRequests, send_request_reqids) {
  const auto one = till(1);
  const auto two = till(2);
  RequestSet<int, std::string> set;
  EXPECT_FALSE(set.wait_for(bulkhead::kForever).has_value());  // there is none
  set.add(one.send_request(Ask{}), "slow");
  set.add(two.send_request(Get{}), "quick");
  set.add(till(3).send_request(Break{}), "broken");
  EXPECT_EQ(set.size(), 3u);
  std::set<std::string> labels;
  for (int i = 0; i < 2; ++i) {
    auto answer = set.wait_for(support::kDeadline);
    ASSERT_TRUE(answer.has_value());
    labels.insert(answer->label);
    if (answer->label == "quick") {
      EXPECT_EQ(answer->result, 2);
    } else {
      EXPECT_EQ(answer->result.error(), AskError::kDied);
    }
  }
  EXPECT_EQ(labels, (std::set<std::string>{"quick", "broken"}));
  EXPECT_FALSE(set.check().has_value());
  EXPECT_FALSE(set.wait_for(5ms).has_value());
  EXPECT_EQ(set.size(), 1u);
  one.cast(Answer{7});
  run([&] {
    auto last = set.wait_for(support::kDeadline);
    ASSERT_TRUE(last.has_value());
    EXPECT_EQ(last->label, "slow");
    EXPECT_EQ(last->result, 7);
  });
  EXPECT_TRUE(set.empty());
  set.add(one.send_request(Ask{}), "late");
  EXPECT_FALSE(set.wait_for(1ms, IfLate::kAbandon).has_value());
  EXPECT_TRUE(set.empty());
  EXPECT_THROW(set.add(Request<int>(), "none"), std::logic_error);
}

// Requests that are let go leave nothing behind.
TEST_P(ServerRequests, many_that_are_abandoned) {
  const auto server = till();
  for (int i = 0; i < 1000; ++i) static_cast<void>(server.send_request(Ask{}));
  server.cast(Answer{1});
  EXPECT_EQ(server.call(Get{}), 0);
  auto statistics = bulkhead::sys::statistics(server);
  EXPECT_EQ(statistics->calls, 1001u);
}

}  // namespace
