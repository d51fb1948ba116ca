// The channels of channel.hpp under every interleaving, with the waits that run (wait_word.hpp) and
// the ways in which select.cpp and channel.cpp use them.
//
//   a_value_arrives_once   H2 to H4, S1 to S3: a select over two channels, with a time limit, while
//       values come into both: each is received once or still there, and nothing wakes a later wait
//   a_rendezvous_agrees    H1, H3: a sender and a receiver that both may give up: sent if and only
//       if received
//   nobody_serves_himself  H5: two selects that both send and receive on one channel serve each
//       other
//   a_close_wakes          a receiver and a sender that wait, and a close
//   a_value_comes_back     H6: who was handed a value is unwound; the next one receives it
//
// Broken copies follow.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string_view>

#include "explorer.hpp"
#include "sync/parker.hpp"
#include "sync/wait_word.hpp"
#include "wait/channel.hpp"

namespace bulkhead::wait {
namespace {

using model::ModelSync;

constexpr auto kRelaxed = std::memory_order_relaxed;

enum class Flaw {
  kNone,
  kServesTheGone,     // gives values to whoever stands in the list, without claiming
  kParksAnyway,       // parks although an arm is ready
  kDoesNotRetire,     // starts again with its wait open
  kDoesNotAwaitWake,  // does not await the wake-up of who has served it in between
  kStaysLinked,       // leaves its nodes in the lists
  kLosesTheValue,     // does not give back what it did not live to take
  kServesItself,      // sees its own arm as another's
};

/// Plain memory that the explorer watches, in the place of a plain member.
template <class T>
class Watched {
 public:
  Watched() = default;
  Watched& operator=(T value) {
    value_.write(value);
    return *this;
  }
  operator T() const { return value_.read(); }  // NOLINT: stands for a member

 private:
  ModelSync::plain<T> value_{T{}};
};

enum class Outcome : std::uint8_t { kPending, kDone, kClosed };

struct Value {
  Watched<Value*> next;
};

struct Actor {
  sync::WaitWord<ModelSync> word;
  sync::Parker<ModelSync> parker;
  ModelSync::atomic<std::uint32_t> wakes{0};  // of the wait that is open
};

template <Flaw flaw>
struct Actors {
  struct Waiter {
    Actor* slot = nullptr;
    std::uint64_t epoch = 0;
  };
  using Outcome = wait::Outcome;

  [[nodiscard]] static bool claim(const Waiter& waiter) {
    if constexpr (flaw == Flaw::kServesTheGone) {
      static_cast<void>(waiter.slot->word.claim(waiter.epoch));
      return true;
    }
    return waiter.slot->word.claim(waiter.epoch);
  }
  static void wake(const Waiter& waiter) {
    model::check(waiter.slot->wakes.fetch_add(1, kRelaxed) == 0, "a wait is woken once");
    waiter.slot->parker.unpark();
  }
  [[nodiscard]] static bool same(const Waiter& one, const Waiter& other) {
    return flaw != Flaw::kServesItself && one.slot == other.slot && one.epoch == other.epoch;
  }
};

template <Flaw flaw>
struct Node {
  Watched<Node*> next;
  Watched<Node*> previous;
  Watched<Value*> item;
  typename Actors<flaw>::Waiter waiter;
  Watched<Outcome> outcome;
  Watched<bool> linked;
};

template <Flaw flaw>
using State = ChannelState<ModelSync, Actors<flaw>, Node<flaw>, Value, 0>;

enum class Limit { kForever, kSomeTime };

/// One who waits. As class Wait.
template <Flaw flaw>
struct Participant {
  Actor actor;

  using Waiter = typename Actors<flaw>::Waiter;

  [[nodiscard]] Waiter begin() {
    actor.wakes.store(0, kRelaxed);
    return {&actor, actor.word.begin()};
  }
  void park(const Waiter& waiter, Limit limit) {
    if (limit == Limit::kForever) {
      actor.parker.park();
      return;
    }
    if (actor.parker.park_for(1) == sync::Parked::kToken) return;
    if (!actor.word.claim(waiter.epoch)) actor.parker.park();
  }
  /// A later wait, which nobody knows of.
  void wait_for_nobody() {
    const Waiter waiter = begin();
    const bool woken = actor.parker.park_for(1) == sync::Parked::kToken;
    model::check(!woken, "no wake-up lands on a later wait");
    model::check(actor.word.claim(waiter.epoch), "no claim lands on a later wait");
  }
};

enum class Does { kReceives, kSends };

template <Flaw flaw>
struct Arm {
  State<flaw>* channel;
  Does does;
  Value* value = nullptr;  // sent, or received
  Came came = Came::kNotYet;
  Node<flaw>* node = nullptr;

  [[nodiscard]] bool attempt() {
    if (does == Does::kSends) {
      came = channel->try_send(*value);
    } else {
      came = channel->try_receive(value);
    }
    return came != Came::kNotYet;
  }
  [[nodiscard]] bool enroll(const typename Actors<flaw>::Waiter& waiter) {
    node = model::make<Node<flaw>>();
    node->waiter = waiter;
    if (does == Does::kSends) {
      node->item = value;
      return channel->enroll_sender(*node);
    }
    return channel->enroll_receiver(*node);
  }
  // The node goes with the frame.
  [[nodiscard]] bool withdraw() {
    if (node == nullptr) return false;
    if (flaw != Flaw::kStaysLinked) {
      if (does == Does::kSends) {
        channel->withdraw_sender(*node);
      } else {
        channel->withdraw_receiver(*node);
      }
    }
    const Outcome outcome = node->outcome;
    if (outcome == Outcome::kDone && does == Does::kReceives) value = node->item;
    model::free(node);
    node = nullptr;
    came = outcome == Outcome::kDone     ? Came::kDone
           : outcome == Outcome::kClosed ? Came::kClosed
                                         : Came::kNotYet;
    return came != Came::kNotYet;
  }
};

/// As select_for of select.cpp. Returns the arm, or -1.
template <Flaw flaw, std::size_t n>
int select(Participant<flaw>& me, std::array<Arm<flaw>, n>& arms, Limit limit) {
  for (;;) {
    for (std::size_t i = 0; i < n; ++i) {
      if (arms[i].attempt()) return static_cast<int>(i);
    }
    const auto waiter = me.begin();
    bool ready = false;
    for (std::size_t i = 0; i < n && !ready; ++i) ready = !arms[i].enroll(waiter);
    bool parks = true;
    if (ready && flaw != Flaw::kParksAnyway) {
      if constexpr (flaw == Flaw::kDoesNotRetire) {
        parks = false;
      } else {
        parks = !me.actor.word.claim(waiter.epoch);
        if (parks && flaw != Flaw::kDoesNotAwaitWake) me.actor.parker.park();
      }
    } else {
      me.park(waiter, limit);
    }
    int chosen = -1;
    for (std::size_t i = 0; i < n; ++i) {
      if (arms[i].withdraw()) chosen = static_cast<int>(i);
    }
    if (chosen >= 0 || parks) return chosen;
  }
}

/// As wait_to_receive and wait_to_send of channel.cpp, where the first attempt was in vain.
template <Flaw flaw>
Came wait_alone(Participant<flaw>& me, Arm<flaw>& arm, Limit limit) {
  const auto waiter = me.begin();
  arm.node = model::make<Node<flaw>>();
  arm.node->waiter = waiter;
  Came came = Came::kNotYet;
  if (arm.does == Does::kSends) {
    arm.node->item = arm.value;
    came = arm.channel->send_or_enroll(*arm.node);
  } else {
    came = arm.channel->receive_or_enroll(*arm.node, arm.value);
  }
  if (came != Came::kNotYet) {
    model::check(me.actor.word.claim(waiter.epoch), "nobody else knows of it");
    model::free(arm.node);
    arm.node = nullptr;
    return came;
  }
  me.park(waiter, limit);
  static_cast<void>(arm.withdraw());
  return arm.came;
}

template <Flaw flaw>
Came receive(Participant<flaw>& me, State<flaw>& channel, Value*& value, Limit limit) {
  Arm<flaw> arm{.channel = &channel, .does = Does::kReceives};
  const Came came = arm.attempt() ? arm.came : wait_alone(me, arm, limit);
  value = arm.value;
  return came;
}
template <Flaw flaw>
Came send(Participant<flaw>& me, State<flaw>& channel, Value& value, Limit limit) {
  Arm<flaw> arm{.channel = &channel, .does = Does::kSends, .value = &value};
  return arm.attempt() ? arm.came : wait_alone(me, arm, limit);
}

// --- the theorems --------------------------------------------------------------------------------

template <Flaw flaw>
struct World {
  explicit World(std::size_t capacity_a, std::size_t capacity_b = kUnbounded)
      : a(capacity_a), b(capacity_b) {}
  State<flaw> a;
  State<flaw> b;
  Participant<flaw> first;
  Participant<flaw> second;
  Participant<flaw> third;
  Value values[2];
  unsigned received[2] = {0, 0};  // for `finally`
  unsigned sent[2] = {0, 0};

  void name(model::Run& run) {
    run.name("a", a);
    run.name("b", b);
    run.name("first", first);
    run.name("second", second);
    run.name("third", third);
    run.name("values", values);
  }
  void note(const Value* value) {
    model::check(value != nullptr, "a value is there");
    ++received[value == &values[0] ? 0 : 1];
  }
  void take_what_is_left(State<flaw>& channel) {
    Value* value = nullptr;
    while (channel.try_receive(value) == Came::kDone) note(value);
  }
};

template <Flaw flaw>
model::Result a_value_arrives_once(model::Options options) {
  options.time_outs = 2;
  return model::explore(options, [](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(kUnbounded);
    w->name(run);
    run.thread("select", [w] {
      std::array<Arm<flaw>, 2> arms{Arm<flaw>{&w->a, Does::kReceives},
                                    Arm<flaw>{&w->b, Does::kReceives}};
      const int chosen = select(w->first, arms, Limit::kSomeTime);
      if (chosen >= 0) w->note(arms[static_cast<std::size_t>(chosen)].value);
      w->first.wait_for_nobody();
    });
    run.thread("to a", [w] { static_cast<void>(w->a.try_send(w->values[0])); });
    run.thread("to b", [w] { static_cast<void>(w->b.try_send(w->values[1])); });
    run.finally([w] {
      w->take_what_is_left(w->a);
      w->take_what_is_left(w->b);
      model::check(w->received[0] == 1 && w->received[1] == 1, "each value arrives once");
    });
  });
}

// The same without a limit: the select ends.
template <Flaw flaw>
model::Result a_select_ends(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(kUnbounded);
    w->name(run);
    run.thread("select", [w] {
      std::array<Arm<flaw>, 2> arms{Arm<flaw>{&w->a, Does::kReceives},
                                    Arm<flaw>{&w->b, Does::kReceives}};
      const int chosen = select(w->first, arms, Limit::kForever);
      model::check(chosen >= 0, "a select without a limit chooses");
      w->note(arms[static_cast<std::size_t>(chosen)].value);
    });
    run.thread("to b", [w] { static_cast<void>(w->b.try_send(w->values[1])); });
    run.finally([w] { model::check(w->received[1] == 1, "each value arrives once"); });
  });
}

template <Flaw flaw>
model::Result a_rendezvous_agrees(model::Options options, std::size_t capacity) {
  options.time_outs = 2;
  return model::explore(options, [capacity](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(capacity);
    w->name(run);
    run.thread("sender", [w] {
      if (send(w->first, w->a, w->values[0], Limit::kSomeTime) == Came::kDone) w->sent[0] = 1;
      w->first.wait_for_nobody();
    });
    run.thread("receiver", [w] {
      Value* value = nullptr;
      if (receive(w->second, w->a, value, Limit::kSomeTime) == Came::kDone) w->note(value);
    });
    run.finally([w] {
      w->take_what_is_left(w->a);
      model::check(w->sent[0] == w->received[0], "sent if and only if received");
    });
  });
}

template <Flaw flaw>
model::Result nobody_serves_himself(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(std::size_t{0});
    w->name(run);
    for (unsigned i = 0; i < 2; ++i) {
      run.thread(i == 0 ? "one" : "other", [w, i] {
        Participant<flaw>& me = i == 0 ? w->first : w->second;
        std::array<Arm<flaw>, 2> arms{Arm<flaw>{&w->a, Does::kSends, &w->values[i]},
                                      Arm<flaw>{&w->a, Does::kReceives}};
        if (select(me, arms, Limit::kForever) == 0) {
          w->sent[i] = 1;
        } else {
          model::check(arms[1].value == &w->values[1 - i], "nobody receives his own value");
          w->received[1 - i] = 1;
        }
      });
    }
    run.finally([w] {
      model::check(w->sent[0] + w->sent[1] == 1, "one of two sends");
      model::check(w->sent[0] == w->received[0] && w->sent[1] == w->received[1],
                   "sent if and only if received");
    });
  });
}

enum class Ends { kByClose, kByNobody };

template <Flaw flaw>
model::Result a_close_wakes(const model::Options& options, Ends ends) {
  return model::explore(options, [ends](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(std::size_t{0});
    w->name(run);
    run.thread("sender", [w] {
      w->sent[0] = send(w->first, w->a, w->values[0], Limit::kForever) == Came::kDone ? 1 : 0;
    });
    run.thread("receiver", [w] {
      Value* value = nullptr;
      while (receive(w->second, w->a, value, Limit::kForever) == Came::kDone) w->note(value);
    });
    if (ends == Ends::kByClose) run.thread("closer", [w] { w->a.close(); });
    run.finally([w] { model::check(w->sent[0] == w->received[0], "sent and received"); });
  });
}

template <Flaw flaw>
model::Result a_value_comes_back(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto w = std::make_shared<World<flaw>>(kUnbounded);
    w->name(run);
    run.thread("unwound", [w] {
      Value* value = nullptr;
      if (receive(w->first, w->a, value, Limit::kSomeTime) != Came::kDone) return;
      if (flaw != Flaw::kLosesTheValue) {
        model::check(w->a.put_back(*value), "somebody may receive");
      }
    });
    run.thread("receiver", [w] {
      Value* value = nullptr;
      if (receive(w->second, w->a, value, Limit::kForever) == Came::kDone) w->note(value);
    });
    run.thread("sender", [w] { static_cast<void>(w->a.try_send(w->values[0])); });
    run.finally([w] { model::check(w->received[0] == 1, "each value arrives once"); });
  });
}

// --- what is checked -----------------------------------------------------------------------------

void expect_ok(const model::Result& r) { EXPECT_TRUE(r.ok()) << r.report(); }
void expect_found(const model::Result& r, std::string_view what) {
  EXPECT_TRUE(r.found(what)) << r.report();
}

constexpr std::string_view kRace = "data race";
constexpr std::string_view kStuck = "lost wake-up";
constexpr model::Options kSequential{.preemption_bound = 3};
constexpr model::Options kWeak{.preemption_bound = 2, .weak = true};

TEST(ChannelModel, each_value_arrives_once) {
  expect_ok(a_value_arrives_once<Flaw::kNone>(kWeak));
  expect_ok(a_value_arrives_once<Flaw::kNone>(kSequential));
  expect_ok(a_select_ends<Flaw::kNone>(kWeak));
}

TEST(ChannelModel, sender_and_receiver_agree) {
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
    expect_ok(a_rendezvous_agrees<Flaw::kNone>(kWeak, capacity));
  }
}

TEST(ChannelModel, selects_serve_each_other_and_not_themselves) {
  expect_ok(nobody_serves_himself<Flaw::kNone>(kWeak));
}

TEST(ChannelModel, a_close_wakes_all) {
  expect_ok(a_close_wakes<Flaw::kNone>(kWeak, Ends::kByClose));
}

TEST(ChannelModel, a_value_that_was_not_taken_comes_back) {
  expect_ok(a_value_comes_back<Flaw::kNone>(kWeak));
}

TEST(ChannelModel, who_is_served_without_a_claim_is_found) {
  expect_found(a_rendezvous_agrees<Flaw::kServesTheGone>(kSequential, 0), kRace);
}

TEST(ChannelModel, a_select_that_waits_wrongly_is_found) {
  expect_found(a_select_ends<Flaw::kParksAnyway>(kSequential), kStuck);
  expect_found(a_value_arrives_once<Flaw::kDoesNotRetire>(kSequential), kRace);
  expect_found(a_value_arrives_once<Flaw::kDoesNotAwaitWake>(kSequential), kRace);
  expect_found(a_value_arrives_once<Flaw::kStaysLinked>(kSequential), "use after free");
  expect_found(nobody_serves_himself<Flaw::kServesItself>(kSequential), "loop without");
}

TEST(ChannelModel, a_value_that_is_not_given_back_is_found) {
  expect_found(a_value_comes_back<Flaw::kLosesTheValue>(kSequential), kStuck);
}

TEST(ChannelModel, a_close_that_never_comes_is_found) {
  expect_found(a_close_wakes<Flaw::kNone>(kSequential, Ends::kByNobody), kStuck);
}

}  // namespace
}  // namespace bulkhead::wait
