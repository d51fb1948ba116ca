// C12: links and monitors between actors of two runtimes. What was wrong: the news of an end to an
// actor of a runtime that was being shut down was dropped, and its memory given back, although the
// actor lived and was still tied to it.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <thread>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using namespace std::chrono_literals;

struct Tie {
  bulkhead::Pid to;
};

/// Ties itself, and then keeps its core until it may go on.
class Busy {
 public:
  Busy(std::atomic<bool>* tied, const support::Event* go_on) : tied_(tied), go_on_(go_on) {}
  void receive(Tie tie) {
    this_actor::link(tie.to);
    this_actor::monitor(tie.to);
    *tied_ = true;
    go_on_->wait();
  }
  void receive(bulkhead::Down /*down*/) {}

 private:
  std::atomic<bool>* tied_;
  const support::Event* go_on_;
};
struct Other {
  void receive(Tie tie) { this_actor::link(tie.to); }
};

class LinksAcrossRuntimes : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(LinksAcrossRuntimes);

TEST_P(LinksAcrossRuntimes, hold_while_one_of_them_shuts_down) {
  bulkhead::Config settings = config();
  settings.hand_over_after = bulkhead::kForever;
  bulkhead::Runtime stays(settings);
  bulkhead::Runtime ends(settings);
  stays.start();
  ends.start();
  std::atomic<bool> tied{false};
  support::Event go_on;
  const auto other = stays.spawn<Other>();
  ends.spawn<Busy>(&tied, &go_on).send(Tie{other.pid()});
  ASSERT_TRUE(support::eventually([&] { return tied.load(); }));
  std::thread shutdown([&] { ends.shutdown(0ms); });
  ASSERT_TRUE(support::eventually([&] { return !ends.running(); }));
  bulkhead::kill(other.pid());
  // Whoever took the memory of its news again would write into it.
  for (int i = 0; i < 200; ++i) {
    const auto first = stays.spawn<Other>();
    first.send(Tie{stays.spawn<Other>().pid()});
  }
  EXPECT_TRUE(stays.wait_for_idle(support::kDeadline));
  go_on.set();
  shutdown.join();
  for (const bulkhead::Pid pid : stays.actors()) bulkhead::kill(pid);
  EXPECT_TRUE(stays.wait_for_end(support::kDeadline));
}

}  // namespace
