// B12: requests that are not answered, or too late, since somebody has ended, or time was up.
#include <atomic>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/requests_support.hpp"
#include "support/live.hpp"
#include "support/log.hpp"
#include "support/seed.hpp"

namespace {

using namespace requests;
using support::Live;
using namespace std::chrono_literals;

class RequestsEnding : public Requests {};
ON_ONE_AND_SEVERAL_CORES(RequestsEnding);

TEST_P(RequestsEnding, that_time_out_refuse_the_late_reply) {
  std::atomic<int> refused{0};
  const auto server = runtime.spawn_with<Server>(on_core(1), &refused);
  runtime.spawn_with<Requester>(on_core(0), [server](Requester& mailbox) {
    for (const auto timeout : {0ms, 1ms, 5ms}) {
      const auto begun = support::Clock::now();
      const RequestRef made = request(mailbox, server, Keep{}, timeout);
      const auto response = mailbox.next<Response<int>>();
      EXPECT_EQ(response.request, made);
      EXPECT_EQ(response.result, std::unexpected(AskError::kTimedOut));
      EXPECT_GE(support::Clock::now() - begun, timeout);
    }
    static_cast<void>(server.ask(Square{1}));  // it has them all
    EXPECT_EQ(server.ask(Release{1}), 3u);
    EXPECT_FALSE(mailbox.next_for(5ms, [](const auto&) {}));
    bulkhead::stop(server);
  });
  wait_for_end();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kLateReply), 3u);
}

TEST_P(RequestsEnding, of_those_who_end_fail) {
  runtime.spawn_with<Requester>(on_core(0), [options = on_core(1)](Requester& mailbox) {
    const auto error_of = [&](RequestRef made) {
      const auto response = mailbox.next<Response<int>>();
      EXPECT_EQ(response.request, made);
      return response.result.has_value() ? AskError::kSelf : response.result.error();
    };
    auto server = bulkhead::spawn_with<Server>(options);
    EXPECT_EQ(error_of(request(mailbox, server, Forget{})), AskError::kNoReply);
    EXPECT_EQ(error_of(request(mailbox, server, Fail{})), AskError::kDied);
    while (server.send(Touch{}) != bulkhead::Delivery::kGone) this_actor::sleep_for(100us);
    EXPECT_EQ(error_of(request(mailbox, server, Square{1})), AskError::kGone);
    EXPECT_EQ(error_of(request(mailbox, Address<Server>(), Square{1})), AskError::kGone);
    server = bulkhead::spawn_with<Server>(options);
    const RequestRef kept = request(mailbox, server, Keep{});
    bulkhead::stop(server);
    const RequestRef behind = request(mailbox, server, Square{1});
    std::map<RequestRef, AskError> errors;  // one that is refused at once may overtake
    for (int i = 0; i < 2; ++i) {
      const auto response = mailbox.next<Response<int>>();
      ASSERT_FALSE(response.result.has_value());
      errors[response.request] = response.result.error();
    }
    EXPECT_EQ(errors.at(kept), AskError::kDied);
    const AskError error = errors.at(behind);
    EXPECT_TRUE(error == AskError::kDied || error == AskError::kGone);
  });
  wait_for_end();
}

struct Cargo {
  using Answer = Live;
};
// Keeps what it is asked, and answers from wherever.
class Keeper {
 public:
  explicit Keeper(support::Log<bool>* answered) : answered_(answered) {}
  void receive(Cargo /*message*/, Reply<Live> reply) { kept_.push_back(std::move(reply)); }
  void receive(Release /*release*/) {
    for (Reply<Live>& reply : std::exchange(kept_, {})) answered_->add(reply(5));
  }

 private:
  support::Log<bool>* answered_;
  std::vector<Reply<Live>> kept_;
};

TEST_P(RequestsEnding, of_those_who_have_ended_are_refused_to_the_replier) {
  support::Log<bool> answered;
  const auto keeper = runtime.spawn_with<Keeper>(on_core(1), &answered);
  using Short = Mailbox<Response<Live>>;
  for (const bool fails : {false, true}) {
    runtime.spawn_with<Short>(on_core(0), [keeper, fails](Short& mailbox) {
      for (int i = 0; i < 5; ++i) this_actor::request(&mailbox, keeper, Cargo{}, 1h);
      if (fails) bulkhead::panic("failed");
    });
  }
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 1; }));
  keeper.send(Release{});
  wait_for_idle();
  EXPECT_EQ(answered.entries(), std::vector<bool>(10, false));
  EXPECT_EQ(Live::alive(), 0);
  bulkhead::stop(keeper);
  wait_for_end();
}

TEST_P(RequestsEnding, lose_no_answer_that_nobody_handles) {
  support::Log<bool> answered;
  const auto keeper = runtime.spawn_with<Keeper>(on_core(1), &answered);
  using Short = Mailbox<Response<Live>>;
  runtime.spawn_with<Short>(on_core(0), [keeper, &answered](Short& mailbox) {
    for (int i = 0; i < 5; ++i) this_actor::request(&mailbox, keeper, Cargo{}, 1h);
    keeper.send(Release{});
    while (answered.size() < 5) this_actor::sleep_for(1ms);
  });
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 1; }));
  wait_for_idle();
  EXPECT_EQ(answered.entries(), std::vector<bool>(5, true));
  EXPECT_EQ(Live::alive(), 0);
  bulkhead::stop(keeper);
  wait_for_end();
}

TEST_P(RequestsEnding, in_destructors_are_not_made) {
  class Ending {
   public:
    explicit Ending(Address<Server> server) : server_(server) {}
    ~Ending() {
      const Address<Ending> me(this_actor::pid());
      EXPECT_EQ(this_actor::request(me, server_, Square{1}, 1s), RequestRef());
      bulkhead::stop(server_);
    }
    void started() { this_actor::stop(); }
    void receive(const Response<int>& /*response*/) { ADD_FAILURE(); }

   private:
    Address<Server> server_;
  };
  const auto server = runtime.spawn_with<Server>(on_core(1));
  runtime.spawn_with<Ending>(on_core(0), server);
  wait_for_end();
}

TEST_P(RequestsEnding, of_those_who_trap_fail_and_theirs_are_forgotten) {
  class Trapping {
   public:
    explicit Trapping(Address<Server> server) : server_(server) {}
    int receive(Square /*message*/) {
      this_actor::request(this, server_, Keep{}, 1h);
      __builtin_trap();
    }
    void receive(const Response<int>& /*response*/) {}

   private:
    Address<Server> server_;
  };
  std::atomic<int> refused{0};
  const auto server = runtime.spawn_with<Server>(on_core(1), &refused);
  const auto trapping = runtime.spawn_with<Trapping>(isolated(on_core(1)), server);
  runtime.spawn_with<Requester>(on_core(0), [trapping, server](Requester& mailbox) {
    this_actor::request(&mailbox, trapping, Square{1}, support::kDeadline);
    EXPECT_EQ(mailbox.next<Response<int>>().result, std::unexpected(AskError::kDied));
    while (trapping.send(Square{1}) != bulkhead::Delivery::kGone) this_actor::sleep_for(100us);
    EXPECT_EQ(server.ask(Release{1}), 1u);
    bulkhead::stop(server);
  });
  wait_for_end();
  EXPECT_EQ(refused, 1);
}

// Those of its lives before are not its own any more.
TEST_P(RequestsEnding, of_those_who_are_made_anew_are_forgotten) {
  class Anew {
   public:
    explicit Anew(Address<Server> server) : server_(server) {}
    void started() { mine_ = this_actor::request(this, server_, Keep{}, 1h); }
    int receive(Fail /*message*/) { throw std::runtime_error("failed"); }
    void receive(const Response<int>& response) {
      EXPECT_EQ(response.request, mine_);
      EXPECT_EQ(response.result, 9);
      bulkhead::stop(server_);
      this_actor::stop();
    }

   private:
    Address<Server> server_;
    RequestRef mine_;
  };
  std::atomic<int> refused{0};
  const auto server = runtime.spawn_with<Server>(on_core(1), &refused);
  bulkhead::SpawnOptions options = isolated(on_core(0));
  options.restart = bulkhead::RestartInPlace{};
  const auto anew = runtime.spawn_with<Anew>(options, server);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    anew.send(Fail{});
    ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors_restarted == round; }));
    wait_for_idle();
  }
  EXPECT_EQ(server.ask(Release{9}), 4u);
  wait_for_end();
  EXPECT_EQ(refused, 3);
}

// Answers, times and ends race: whoever lives gets one response for each request.
TEST_P(RequestsEnding, have_one_response_each_whatever_happens) {
  class Racing {
   public:
    explicit Racing(std::uint64_t seed) : random_(seed) {}
    void receive(Cargo /*message*/, Reply<Live> reply) {
      kept_.push_back(std::move(reply));
      if (random_.below(3) == 0) return;
      for (Reply<Live>& each : std::exchange(kept_, {})) static_cast<void>(each(7));
      if (random_.below(50) == 0) this_actor::stop();
    }

   private:
    support::Random random_;
    std::vector<Reply<Live>> kept_;
  };
  class Asking {
   public:
    Asking(std::uint64_t seed, bulkhead::SpawnOptions options, bool fails)
        : random_(seed), options_(options), fails_(fails) {}
    void started() {
      for (int i = 0; i < 5; ++i) ask();
    }
    void receive(const Response<Live>& response) {
      EXPECT_EQ(pending_.erase(response.request), 1u);
      EXPECT_TRUE(!response.result.has_value() || response.result->value() == 7);
      if (++count_ < 300) ask();
      if (fails_ && count_ == 200) bulkhead::panic("failed");
      if (pending_.empty()) this_actor::stop();
    }

   private:
    void ask() {
      if (random_.below(20) == 0) {
        target_ = bulkhead::spawn_with<Racing>(options_, std::uint64_t{random_.below(1000)});
      }
      const auto timeout = std::chrono::microseconds(random_.below(400));
      EXPECT_TRUE(pending_.emplace(this_actor::request(this, target_, Cargo{}, timeout), 0).second);
    }

    support::Random random_;
    bulkhead::SpawnOptions options_;
    bool fails_;
    Address<Racing> target_;
    std::map<RequestRef, int> pending_;
    int count_ = 0;
  };
  const std::uint64_t seed = support::seed_of_test();
  for (std::size_t i = 0; i < 4 * cores(); ++i) {
    runtime.spawn_with<Asking>(on_core(i), seed + i, on_core(i + 1), i % 2 == 0);
  }
  ASSERT_TRUE(support::eventually([&] {
    return runtime.stats().actors_failed == 2 * cores() && runtime.wait_for_idle(10ms) &&
           Live::alive() == 0;
  }));
  runtime.shutdown();
  EXPECT_EQ(Live::alive(), 0);
}

TEST_P(RequestsEnding, that_are_pending_end_with_the_runtime) {
  std::atomic<int> refused{0};
  const auto server = runtime.spawn_with<Server>(on_core(1), &refused);
  runtime.spawn_with<Requester>(on_core(0), [server](Requester& mailbox) {
    for (int i = 0; i < 100; ++i) request(mailbox, server, Keep{}, 1h);
    mailbox.next([](int) {});
  });
  wait_for_idle();
  runtime.shutdown();
  runtime.start();
  const auto again = runtime.spawn_with<Server>(on_core(1));
  runtime.spawn_with<Requester>(on_core(0), [again](Requester& mailbox) {
    request(mailbox, again, Square{2});
    EXPECT_EQ(mailbox.next<Response<int>>().result, 4);
    bulkhead::stop(again);
  });
  wait_for_end();
}

}  // namespace
