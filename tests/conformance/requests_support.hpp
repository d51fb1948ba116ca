/// What the tests of requests have in common.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/on_cores.hpp"

namespace requests {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Mailbox;
using bulkhead::Reply;
using bulkhead::RequestRef;
using bulkhead::Response;

class Requests : public support::Running {
 protected:
  static bulkhead::SpawnOptions isolated(bulkhead::SpawnOptions options) {
    options.isolated = bulkhead::Isolation{};
    return options;
  }
  void wait_for_end() { ASSERT_TRUE(runtime.wait_for_end(support::kDeadline)); }
};
inline const std::string kLong(100, 'x');

struct Square {
  int number;
};
struct Touch {};
struct Text {
  using Answer = std::string;
};
struct Keep {
  using Answer = int;
};
struct Release {
  int number;
};
struct Forget {
  using Answer = int;
};
struct Fail {};
struct Values {};

// Answers in all ways.
class Server {
 public:
  explicit Server(std::atomic<int>* refused = nullptr) : refused_(refused) {}
  int receive(Square square) { return square.number * square.number; }
  void receive(Touch /*message*/) {}
  void receive(Text /*message*/, Reply<std::string> reply) { reply(kLong); }
  void receive(Keep /*message*/, Reply<int> reply) { kept_.push_back(std::move(reply)); }
  void receive(Forget /*message*/, Reply<int> /*reply*/) {}
  std::size_t receive(Release release) {
    for (Reply<int>& reply : kept_) {
      if (!reply(release.number) && refused_ != nullptr) ++*refused_;
      EXPECT_FALSE(reply(release.number)) << "a second time";
    }
    return std::exchange(kept_, {}).size();
  }
  int receive(Fail /*message*/) { throw std::runtime_error("failed"); }
  std::deque<int> receive(Values /*message*/) { return {1, 2, 3}; }

 private:
  std::vector<Reply<int>> kept_;
  std::atomic<int>* refused_;
};

// A body that makes requests, in an actor with a mailbox for the responses.
using Requester =
    Mailbox<Response<int>, Response<std::string>, Response<void>, Response<std::deque<int>>, int>;
template <class M>
RequestRef request(const Requester& self, const Address<Server>& to, M message,
                   bulkhead::Timeout timeout = support::kDeadline) {
  return this_actor::request(&self, to, message, timeout);
}

}  // namespace requests
