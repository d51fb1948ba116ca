// C14: messages that go before others, in any actor's class, and messages that are handled out of
// turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/door.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Down;
using bulkhead::kForever;
using bulkhead::Pid;
using bulkhead::Priority;
using support::Door;
using support::eventually;
using namespace std::chrono_literals;

struct Plain {
  int n;
};
struct Info {
  int n;
};
struct Wide {  // more than fits in two words
  int n;
  std::string text;
};
struct Question {
  int n;
};
struct Work {
  Address<Door> door;
  Pid watched;
};
struct Drain {};

class Busy {
 public:
  template <class M>
  static constexpr Priority kPriority =
      std::is_same_v<M, Down>                              ? Priority::kSignal
      : std::is_same_v<M, Question>                        ? Priority::kSystem
      : std::is_same_v<M, Info> || std::is_same_v<M, Wide> ? Priority::kInfo
                                                           : Priority::kOrdinary;

  explicit Busy(support::Log<std::string>* log) : log_(log) {}
  void receive(Plain message) { log_->add("plain" + std::to_string(message.n)); }
  void receive(Info message) { log_->add("info" + std::to_string(message.n)); }
  void receive(Wide message) { log_->add("wide" + std::to_string(message.n)); }
  int receive(Question message) {
    log_->add("question" + std::to_string(message.n));
    return message.n;
  }
  void receive(Down /*down*/) { log_->add("down"); }
  void receive(Work message) {
    static_cast<void>(message.door.ask(Door::Pass{}, kForever));
    if (message.watched) this_actor::monitor(message.watched);  // that is no more: a Down comes
    log_->add("worked");
  }
  // Handles questions only, in the middle of this handler, until one says 0.
  void receive(Drain /*message*/) {
    log_->add("draining");
    bool more = true;
    while (more) {
      ASSERT_TRUE(this_actor::handle_for(this, kForever, [&](this_actor::Waiting<Busy> waiting) {
        return waiting.priority() == Priority::kSystem;
      }));
      more = log_->entries().back() != "question0";
    }
    log_->add("drained");
  }

 private:
  support::Log<std::string>* log_;
};

class Priorities : public support::Running {
 protected:
  Priorities() : door(runtime.spawn<Door>()), busy(runtime.spawn_with<Busy>(on_core(1), &log)) {}

  void keep_busy(Pid watched = {}) {
    busy.send(Work{door, watched});
    ASSERT_TRUE(eventually([this] { return door.ask(Door::Waiting{}) == 1u; }));
  }
  [[nodiscard]] std::string line() const {
    std::string all;
    for (const std::string& entry : log.entries()) all += (all.empty() ? "" : " ") + entry;
    return all;
  }

  support::Log<std::string> log;
  Address<Door> door;
  Address<Busy> busy;
};
ON_ONE_AND_SEVERAL_CORES(Priorities);

TEST_P(Priorities, go_first_and_in_order_among_themselves) {
  keep_busy();
  busy.send(Plain{1});
  busy.send(Info{1});
  busy.send(Wide{2, "some text that takes memory of its own"});
  busy.send(Plain{2});
  busy.send(Info{3});
  busy.port<Info>().send(Info{4});
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(line(), "worked info1 wide2 info3 info4 plain1 plain2");
}

TEST_P(Priorities, an_end_goes_before_infos) {
  const Pid dead = runtime.spawn([] {});
  wait_for_idle();
  keep_busy(dead);
  busy.send(Plain{1});
  busy.send(Info{1});
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(line(), "worked down info1 plain1");
}

TEST_P(Priorities, messages_of_timers_have_them_too) {
  keep_busy();
  busy.send(Plain{1});
  support::Event fired;
  runtime.spawn_with(on_core(2), [busy = busy, &fired] {
    bulkhead::send_after(0ms, busy, Info{9});
    this_actor::sleep_for(5ms);
    fired.set();
  });
  ASSERT_TRUE(fired.wait());
  door.send(Door::Open{});
  wait_for_idle();
  EXPECT_EQ(line(), "worked info9 plain1");
}

TEST_P(Priorities, what_is_wanted_out_of_turn_is_found_in_front_of_what_was_looked_at) {
  busy.send(Drain{});
  ASSERT_TRUE(eventually([this] { return line() == "draining"; }));
  for (int i = 1; i <= 3; ++i) busy.send(Plain{i});
  EXPECT_EQ(busy.ask(Question{2}, kForever), 2);
  busy.send(Info{1});
  EXPECT_EQ(busy.ask(Question{1}, kForever), 1);
  EXPECT_EQ(busy.ask(Question{0}, kForever), 0);
  wait_for_idle();
  EXPECT_EQ(line(), "draining question2 question1 question0 drained info1 plain1 plain2 plain3");
}

// Filing does not search: a hundred thousand in front of as many take as long as they would behind.
TEST_P(Priorities, very_many_are_filed_at_once) {
  keep_busy();
  constexpr int kMany = 50'000;
  for (int i = 0; i < kMany; ++i) {
    busy.send(Plain{i});
    busy.send(Info{i});
  }
  door.send(Door::Open{});
  wait_for_idle();
  const auto all = log.entries();
  ASSERT_EQ(all.size(), 2u * kMany + 1);
  EXPECT_EQ(all[1], "info0");
  EXPECT_EQ(all[kMany], "info" + std::to_string(kMany - 1));
  EXPECT_EQ(all[kMany + 1], "plain0");
  EXPECT_EQ(all.back(), "plain" + std::to_string(kMany - 1));
}

// Any mixture of messages, some of them taken out of turn, against a sorted list.
template <int kLevel>
struct Numbered {
  int n;
};
struct Place {
  int level;  // counted down, so that they are sorted as they are handled
  int n;
  friend auto operator<=>(const Place&, const Place&) = default;
};
struct TakeOut {
  Address<Door> door;
  std::vector<int> wanted;
  std::vector<Place> later;
};

class Sorted {
 public:
  template <class M>
  static constexpr Priority kPriority = std::is_same_v<M, Numbered<3>>   ? Priority::kSignal
                                        : std::is_same_v<M, Numbered<2>> ? Priority::kSystem
                                        : std::is_same_v<M, Numbered<1>> ? Priority::kInfo
                                                                         : Priority::kOrdinary;

  explicit Sorted(support::Log<int>* log) : log_(log) {}
  void receive(Numbered<0> message) { log_->add(message.n); }
  void receive(Numbered<1> message) { log_->add(message.n); }
  void receive(Numbered<2> message) { log_->add(message.n); }
  void receive(Numbered<3> message) { log_->add(message.n); }
  void receive(TakeOut message) {
    static_cast<void>(message.door.ask(Door::Pass{}, kForever));
    for (const int wanted : message.wanted) {
      EXPECT_TRUE(this_actor::handle_for(this, 0ms, [wanted](this_actor::Waiting<Sorted> waiting) {
        return number<0>(waiting) == wanted || number<1>(waiting) == wanted ||
               number<2>(waiting) == wanted || number<3>(waiting) == wanted;
      }));
    }
    for (const Place& place : message.later) send(this_actor::address(this), place);
  }
  static void send(Address<Sorted> to, Place place) {
    if (place.level == 0) to.send(Numbered<3>{place.n});
    if (place.level == 1) to.send(Numbered<2>{place.n});
    if (place.level == 2) to.send(Numbered<1>{place.n});
    if (place.level == 3) to.send(Numbered<0>{place.n});
  }

 private:
  template <int kLevel>
  static int number(this_actor::Waiting<Sorted> waiting) {
    const auto* message = waiting.as<Numbered<kLevel>>();
    return message != nullptr ? message->n : -1;
  }
  support::Log<int>* log_;
};

// With a least priority, what is lower is not looked at, however much of it waits.
struct Go {
  Address<Door> door;
};
class Picky {
 public:
  template <class M>
  static constexpr Priority kPriority =
      std::is_same_v<M, Numbered<2>> ? Priority::kSystem : Priority::kOrdinary;

  explicit Picky(support::Log<int>* log) : log_(log) {}
  void receive(Numbered<0> message) { log_->add(message.n); }
  void receive(Numbered<2> message) { log_->add(message.n); }
  void receive(Go message) {
    static_cast<void>(message.door.ask(Door::Pass{}, kForever));
    int looks = 0;
    const auto any = [&looks](this_actor::Waiting<Picky>) { return ++looks != 0; };
    EXPECT_FALSE(this_actor::handle_for(this, 0ms, any, Priority::kSystem));
    EXPECT_EQ(looks, 0);
    bulkhead::spawn([self = this_actor::address(this)] { self.send(Numbered<2>{-1}); });
    EXPECT_TRUE(this_actor::handle_for(this, kForever, any, Priority::kSystem));
    EXPECT_EQ(looks, 1);
    EXPECT_FALSE(this_actor::handle_for(this, 0ms, any, Priority::kSystem));
    EXPECT_TRUE(this_actor::handle_for(this, 0ms, any));
    EXPECT_EQ(looks, 2);
  }

 private:
  support::Log<int>* log_;
};

TEST_P(Priorities, those_below_the_least_are_not_looked_at) {
  support::Log<int> handled;
  const auto picky = runtime.spawn_with<Picky>(on_core(1), &handled);
  picky.send(Go{door});
  for (int n = 0; n < 100; ++n) picky.send(Numbered<0>{n});
  door.send(Door::Open{});
  wait_for_idle();
  const auto all = handled.entries();
  ASSERT_EQ(all.size(), 101u);
  EXPECT_EQ(all[0], -1);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(all[static_cast<std::size_t>(n) + 1], n);
}

TEST_P(Priorities, any_mixture_is_sorted) {
  std::mt19937_64 random(support::seed_of_test());
  for (int round = 0; round < 200; ++round) {
    support::Log<int> handled;
    const auto gate = runtime.spawn<Door>();
    const auto sorted = runtime.spawn_with<Sorted>(on_core(1), &handled);
    const int many = static_cast<int>(random() % 30);
    std::vector<Place> all;
    std::vector<Place> later;
    std::vector<int> wanted;
    for (int n = 0; n < many; ++n) {
      all.push_back({static_cast<int>(random() % 4), n});
      if (random() % 4 == 0) wanted.push_back(n);
      if (random() % 4 == 0) later.push_back({static_cast<int>(random() % 4), 100 + n});
    }
    std::shuffle(wanted.begin(), wanted.end(), random);
    sorted.send(TakeOut{gate, wanted, later});
    ASSERT_TRUE(eventually([&] { return gate.ask(Door::Waiting{}) == 1u; }));
    for (const Place& place : all) Sorted::send(sorted, place);
    gate.send(Door::Open{});
    wait_for_idle();
    std::vector<int> expected = wanted;
    all.insert(all.end(), later.begin(), later.end());
    std::sort(all.begin(), all.end());
    for (const Place& place : all) {
      if (std::find(wanted.begin(), wanted.end(), place.n) == wanted.end()) {
        expected.push_back(place.n);
      }
    }
    ASSERT_EQ(handled.entries(), expected);
    bulkhead::kill(sorted);
    bulkhead::kill(gate);
  }
}

}  // namespace
