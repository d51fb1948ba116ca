// B12, B13: asks whose answer comes as a message.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/requests_support.hpp"
#include "support/log.hpp"

namespace {

using namespace requests;
using namespace std::chrono_literals;

ON_ONE_AND_SEVERAL_CORES(Requests);

TEST_P(Requests, are_answered_once) {
  const auto server = runtime.spawn_with<Server>(on_core(1));
  runtime.spawn_with<Requester>(on_core(0), [server](Requester& mailbox) {
    const RequestRef square = request(mailbox, server, Square{7});
    const RequestRef touch = request(mailbox, server, Touch{});
    const RequestRef text = request(mailbox, server, Text{});
    const RequestRef values = request(mailbox, server, Values{});
    EXPECT_NE(square, touch);
    EXPECT_NE(square, text);
    EXPECT_NE(square, RequestRef());
    const auto number = mailbox.next<Response<int>>();
    EXPECT_EQ(number.request, square);
    EXPECT_EQ(number.result, 49);
    const auto touched = mailbox.next<Response<void>>();
    EXPECT_EQ(touched.request, touch);
    EXPECT_TRUE(touched.result.has_value());
    const auto words = mailbox.next<Response<std::string>>();
    EXPECT_EQ(words.request, text);
    EXPECT_EQ(words.result, kLong);
    const auto all = mailbox.next<Response<std::deque<int>>>();
    EXPECT_EQ(all.request, values);
    EXPECT_EQ(all.result, (std::deque<int>{1, 2, 3}));
    EXPECT_FALSE(mailbox.next_for(5ms, [](const auto&) {}));
    bulkhead::stop(server);
  });
  wait_for_end();
}

TEST_P(Requests, are_handled_by_a_class_meanwhile_others_are) {
  struct Other {};
  class Asker {
   public:
    Asker(Address<Server> server, support::Log<std::string>* log) : server_(server), log_(log) {}
    void started() {
      for (int i = 1; i <= 3; ++i) pending_[this_actor::request(this, server_, Keep{}, 1h)] = i;
      this_actor::address(this).send(Other{});
    }
    void receive(Other /*message*/) {
      log_->add("other");
      this_actor::request(this, server_, Release{5}, support::kDeadline);
    }
    void receive(const Response<int>& response) {
      EXPECT_EQ(response.result, 5);
      log_->add(std::to_string(pending_.at(response.request)));
    }
    void receive(const Response<std::size_t>& response) {
      EXPECT_EQ(response.result, 3u);
      log_->add("released");
      bulkhead::stop(server_);
      this_actor::stop();
    }

   private:
    Address<Server> server_;
    support::Log<std::string>* log_;
    std::map<RequestRef, int> pending_;
  };
  support::Log<std::string> log;
  const auto server = runtime.spawn_with<Server>(on_core(1));
  runtime.spawn_with<Asker>(on_core(0), server, &log);
  wait_for_end();
  EXPECT_EQ(log.entries(), (std::vector<std::string>{"other", "1", "2", "3", "released"}));
}

TEST_P(Requests, to_full_mailboxes_fail) {
  runtime.spawn_with<Requester>(on_core(0), [options = on_core(1)](Requester& mailbox) {
    bulkhead::SpawnOptions bounded = options;
    bounded.mailbox_bound = 1;
    support::Event go;
    const auto server = bulkhead::spawn_with<Mailbox<Keep>>(bounded, [&go](Mailbox<Keep>& mine) {
      while (!go.happened()) this_actor::sleep_for(1ms);
      mine.next([](Keep, Reply<int> reply) { reply(3); });
    });
    const RequestRef first = this_actor::request(&mailbox, server, Keep{});
    const RequestRef second = this_actor::request(&mailbox, server, Keep{});
    const auto full = mailbox.next<Response<int>>();
    EXPECT_EQ(full.request, second);
    EXPECT_EQ(full.result, std::unexpected(AskError::kFull));
    go.set();
    const auto answer = mailbox.next<Response<int>>();
    EXPECT_EQ(answer.request, first);
    EXPECT_EQ(answer.result, 3);
  });
  wait_for_end();
}

TEST_P(Requests, may_go_to_oneself) {
  class Self {
   public:
    void started() {
      const auto me = this_actor::address(this);
      this_actor::request(this, me, Square{3}, 1s);
      this_actor::request(me, me, Square{4}, bulkhead::kForever);
      this_actor::request(me, me, Square{5}, std::chrono::hours(24 * 365 * 291));
    }
    int receive(Square square) { return square.number * square.number; }
    void receive(const Response<int>& response) {
      sum_ += response.result.value_or(1000);
      if (++count_ < 3) return;
      EXPECT_EQ(sum_, 50);
      this_actor::stop();
    }

   private:
    int count_ = 0;
    int sum_ = 0;
  };
  for (std::size_t i = 0; i < cores(); ++i) runtime.spawn_with<Self>(on_core(i));
  wait_for_end();
}

// B13, and the order.
struct Count {
  int to;
  Address<Requester> whom;
  using Answer = int;
};
TEST_P(Requests, are_answered_behind_what_was_sent_before_into_full_mailboxes_too) {
  class Counter {
   public:
    void receive(Count count, Reply<int> reply) {
      for (int i = 0; i < count.to; ++i) count.whom.send(i);
      reply(-1);
      count.whom.send(-2);
    }
  };
  const auto counter = runtime.spawn_with<Counter>(on_core(1));
  for (const bool bounded : {false, true}) {
    bulkhead::SpawnOptions options = on_core(0);
    if (bounded) options.mailbox_bound = 3;
    runtime.spawn_with<Requester>(options, [counter, bounded](Requester& mailbox) {
      for (int round = 0; round < 20; ++round) {
        this_actor::request(&mailbox, counter, Count{10, mailbox.address()}, 1h);
        if (round % 2 == 0) this_actor::sleep_for(1ms);
        std::vector<int> seen;
        while (seen.empty() || seen.back() != -1) {
          mailbox.next([&seen](int number) { seen.push_back(number); },
                       [&seen](const Response<int>& response) {
                         seen.push_back(response.result.value_or(-5));
                       });
        }
        if (!bounded) {
          EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1}));
          EXPECT_EQ(mailbox.next<int>(), -2);
        } else {
          EXPECT_TRUE(std::ranges::is_sorted(seen.begin(), seen.end() - 1));
          while (mailbox.next_for<int>(2ms)) continue;
        }
      }
    });
  }
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 1; }));
  bulkhead::stop(counter);
  wait_for_end();
}

TEST_P(Requests, by_others_are_refused) {
  const auto server = runtime.spawn_with<Server>(on_core(1));
  const Address<Requester> nobody;
  EXPECT_THROW(this_actor::request(nobody, server, Square{1}, 1s), std::logic_error);
  runtime.spawn([server, nobody] {
    EXPECT_THROW(this_actor::request(nobody, server, Square{1}, 1s), std::logic_error);
    bulkhead::stop(server);
  });
  wait_for_end();
  EXPECT_EQ(runtime.stats().sent, runtime.stats().handled);
}

TEST_P(Requests, may_be_answered_by_threads_and_other_runtimes) {
  bulkhead::Runtime other(config());
  other.start();
  std::vector<std::thread> threads;
  struct Outsider {
    explicit Outsider(std::vector<std::thread>* its_threads) : threads(its_threads) {}
    void receive(Text /*message*/, Reply<std::string> reply) {
      threads->emplace_back([reply = std::move(reply)]() mutable { EXPECT_TRUE(reply(kLong)); });
    }
    std::vector<std::thread>* threads;
  };
  const auto outsider = runtime.spawn_with<Outsider>(pinned_to(0), &threads);
  const auto abroad = other.spawn<Server>();
  runtime.spawn_with<Requester>(on_core(1), [outsider, abroad](Requester& mailbox) {
    this_actor::request(&mailbox, outsider, Text{}, support::kDeadline);
    EXPECT_EQ(mailbox.next<Response<std::string>>().result, kLong);
    this_actor::request(&mailbox, abroad, Text{}, support::kDeadline);
    EXPECT_EQ(mailbox.next<Response<std::string>>().result, kLong);
    this_actor::request(&mailbox, abroad, Keep{}, 1ms);
    EXPECT_EQ(mailbox.next<Response<int>>().result, std::unexpected(AskError::kTimedOut));
    bulkhead::stop(outsider);
    bulkhead::stop(abroad);
  });
  wait_for_end();
  for (std::thread& thread : threads) thread.join();
}

// B4
TEST_P(Requests, cross_the_walls_around_isolated_actors) {
  for (const bool from : {false, true}) {
    for (const bool to : {false, true}) {
      const auto options = [](bool wall, bulkhead::SpawnOptions plain) {
        return wall ? isolated(plain) : plain;
      };
      const auto server = runtime.spawn_with<Server>(options(to, on_core(1)));
      class Asker {
       public:
        explicit Asker(Address<Server> server) : server_(server) {}
        void started() { this_actor::request(this, server_, Text{}, support::kDeadline); }
        void receive(Response<std::string> response) {
          EXPECT_EQ(response.result, std::string(100, 'x'));
          this_actor::request(this, server_, Square{5}, support::kDeadline);
        }
        void receive(const Response<int>& response) {
          if (response.result.has_value()) {
            EXPECT_EQ(response.result, 25);
            this_actor::request(this, server_, Fail{}, support::kDeadline);
            return;
          }
          EXPECT_EQ(response.result.error(), AskError::kDied);
          this_actor::stop();
        }

       private:
        Address<Server> server_;
      };
      runtime.spawn_with<Asker>(options(from, on_core(0)), server);
      wait_for_end();
    }
  }
  wait_for_idle();  // what was on its way to those who have ended has gone
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
}

}  // namespace
