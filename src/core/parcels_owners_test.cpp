// B4: the memory of parcels is released exactly once, whatever fails when. Who owns them is said
// here as the runtime says it: see parcels.hpp.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead/cross.hpp"
#include "core/belongings.hpp"
#include "core/parcels.hpp"
#include "core/parcels_tested.hpp"
#include "core/recorder.hpp"
#include "support/seed.hpp"

namespace bulkhead::core {
namespace {

using ParcelOwning = ParcelsTest;

struct Message {
  std::string text;
  Bytes parcel;
};

// What the runtime does at a send by an isolated actor, and at a delivery to one.
class Isolated {
 public:
  template <class Code>
  auto runs(Code code) {
    const Stretch mine(&own_);
    return code();
  }
  template <class M>
  M sends(M& message) {
    const Stretch mine(&own_);
    struct Leaving {
      Belongings& own;
      std::size_t before = own.begin_leaving();
      ~Leaving() { own.end_leaving(before); }
    } leaving{own_};
    return cross(std::move(message));
  }
  template <class M>
  M receives(M& message) {
    return runs([&] { return cross(std::move(message)); });
  }
  void traps() { own_.release_all(); }
  [[nodiscard]] std::size_t had() const { return own_.size(); }

 private:
  struct Stretch {
    explicit Stretch(Belongings* owner) : before(set_owner(owner)) {}
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;
    ~Stretch() { set_owner(before); }
    Belongings* before;
  };

  Belongings own_;
};

/// Where an object lies that is discarded without its destructor.
template <class T>
class Discarded {
 public:
  template <class Make>
  explicit Discarded(Make make) {
    ::new (static_cast<void*>(&object_)) T(make());
  }
  Discarded(const Discarded&) = delete;
  Discarded& operator=(const Discarded&) = delete;
  ~Discarded() {}  // NOLINT: that is the point
  T& operator*() { return object_; }
  T* operator->() { return &object_; }

 private:
  union {
    T object_;
  };
};

TEST_F(ParcelOwning, are_released_when_their_owner_traps) {
  Isolated actor;
  Discarded<std::vector<Bytes>> lost([&] {
    return actor.runs([] {
      std::vector<Bytes> all;
      for (int i = 0; i < 100; ++i) all.emplace_back(1000);
      all.erase(all.begin() + 50);
      return all;
    });
  });
  EXPECT_EQ(made(), 99u);
  actor.traps();
  EXPECT_EQ(made(), 0u);
  // The elements' own memory is the test's.
  lost->clear();
  lost->shrink_to_fit();
}

TEST_F(ParcelOwning, go_from_owner_to_owner) {
  Isolated sender;
  Isolated receiver;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent);
  EXPECT_TRUE(sent.parcel.empty());
  sender.traps();  // after the send
  EXPECT_EQ(made(), 1u);
  Discarded<Message> received([&] { return receiver.receives(queued); });
  EXPECT_TRUE(queued.parcel.empty());
  EXPECT_EQ(text(received->parcel), "payload");
  receiver.traps();
  EXPECT_EQ(made(), 0u);
  received->~Message();  // that one may come to this, too, does no harm
}

TEST_F(ParcelOwning, of_a_message_that_is_dropped_are_released) {
  Isolated sender;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  {
    const Message queued = sender.sends(sent);
    EXPECT_EQ(made(), 1u);
  }
  EXPECT_EQ(made(), 0u);
}

TEST_F(ParcelOwning, go_outside) {
  Isolated sender;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent);
  const Message received = cross(std::move(queued));
  sender.traps();
  EXPECT_EQ(text(received.parcel), "payload");
}

// As an offer does, which lies in its sender's frame until it is taken.
TEST_F(ParcelOwning, are_taken_by_whom_they_are_offered) {
  Isolated sender;
  Isolated receiver;
  Message offered = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message received = receiver.receives(offered);
  EXPECT_TRUE(offered.parcel.empty());
  sender.traps();
  EXPECT_EQ(text(received.parcel), "payload");
  received = Message();
  EXPECT_EQ(made(), 0u);
}

TEST_F(ParcelOwning, stay_with_a_sender_whose_send_fails) {
  Isolated sender;
  Frame sent = sender.runs([] { return frame(); });
  Recorder recorder;
  recorder.refuse_from(3);
  EXPECT_THROW(
      {
        const Recording recording(recorder);
        static_cast<void>(sender.sends(sent));
      },
      std::bad_alloc);
  EXPECT_EQ(made(), kInFrame);
  EXPECT_EQ(contents(sent), kContents);
  // Another one has the keys that it would have had.
  const Frame received = cross(std::move(sent));
  sender.traps();
  EXPECT_EQ(contents(received), kContents);
}

// The trap comes while a message is copied: some is there, none has been handed over.
TEST_F(ParcelOwning, are_released_when_a_sender_traps_in_the_middle) {
  Isolated sender;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Discarded<Bytes> half([&] { return sender.runs([&] { return crossed(sent.parcel); }); });
  sender.traps();
  EXPECT_EQ(made(), 0u);
  const Bytes next = bytes("in the same record");
  half->~Bytes();
  EXPECT_EQ(made(), 1u);
}

// It has been handed over, and not been sent.
TEST_F(ParcelOwning, are_released_when_a_sender_traps_at_the_end) {
  Belongings own;
  Belongings* before = set_owner(&own);
  Discarded<Message> sent([] { return Message{"text", bytes("payload")}; });
  const std::size_t had = own.begin_leaving();
  Discarded<Message> queued([&] { return cross(std::move(*sent)); });
  EXPECT_GT(own.size(), had);
  own.release_all();
  set_owner(before);
  EXPECT_EQ(made(), 0u);
  queued->~Message();
  sent->~Message();
}

// What the actor lets go of while something leaves it is not taken for what leaves.
TEST_F(ParcelOwning, keep_their_place_while_something_leaves) {
  static constexpr Belonging::Ops kOther = {
      [](const Belonging& /*each*/) noexcept { return false; },
      [](const Belonging& each) noexcept { ++*reinterpret_cast<int*>(each.what[0]); }};
  int released[3] = {};
  const auto other = [&](int i) {
    return Belonging{&kOther, {reinterpret_cast<std::uint64_t>(&released[i])}};
  };
  Belongings own;
  own.add(other(0));
  own.add(other(1));
  const std::size_t outer = own.begin_leaving();
  own.forget(kOther, other(0).what[0]);
  const std::size_t inner = own.begin_leaving();
  own.add(other(2));
  own.end_leaving(inner);
  own.forget(kOther, other(1).what[0]);
  own.end_leaving(outer);
  own.add(other(2));
  own.release_all();
  EXPECT_EQ(released[0], 0);
  EXPECT_EQ(released[1], 0);
  EXPECT_EQ(released[2], 1);
}

// What is over does not pile up.
TEST_F(ParcelOwning, are_forgotten_when_they_are_gone) {
  Isolated actor;
  for (int i = 0; i < 10'000; ++i) actor.runs([] { return Bytes(10); });
  EXPECT_LE(actor.had(), 100u);
  EXPECT_EQ(made(), 0u);
}

TEST_F(ParcelOwning, are_left_alone_by_keys_that_make_no_sense) {
  const Bytes parcel = bytes("payload");
  release_parcel({1, UINT32_MAX});
  release_parcel({UINT64_MAX, 0});
  hand_over_parcel({UINT64_MAX, 0});
  for (std::uint32_t index = 0; index < 10; ++index) release_parcel({2, index});
  EXPECT_EQ(next_parcel_key({0, 0}).turn, 0u);
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(text(parcel), "payload");
}

// --- any order of things ---

struct World {
  Isolated actors[3];
  std::vector<Message> held[3];  // by each actor
  std::vector<Message> held_outside;
  std::vector<Message> on_the_way;
  std::vector<Message> lost;  // what was discarded; its destructor must do nothing
};

void trap(World& world, std::size_t who) {
  world.actors[who].traps();
  for (Message& message : world.held[who]) world.lost.push_back(std::move(message));
  world.held[who].clear();
}

void step(World& world, support::Random& random) {
  const std::size_t who = random.below(3);
  Isolated& actor = world.actors[who];
  std::vector<Message>& held = world.held[who];
  switch (random.below(8)) {
    case 0:
    case 1:
      held.push_back(actor.runs([&] { return Message{"text", Bytes(random.below(200))}; }));
      break;
    case 2:
      world.held_outside.push_back({"text", Bytes(random.below(200))});
      break;
    case 3:
      if (held.empty()) break;
      world.on_the_way.push_back(actor.sends(held.back()));
      actor.runs([&] { held.pop_back(); });
      break;
    case 4:
      if (world.on_the_way.empty()) break;
      held.push_back(actor.receives(world.on_the_way.back()));
      world.on_the_way.pop_back();
      break;
    case 5:
      if (!world.on_the_way.empty()) world.on_the_way.pop_back();  // dropped
      break;
    case 6:
      if (world.held_outside.empty()) break;
      held.push_back(actor.receives(world.held_outside.back()));
      world.held_outside.pop_back();
      break;
    default:
      if (random.one_in(8)) trap(world, who);
      break;
  }
}

TEST_F(ParcelOwning, are_released_exactly_once_whatever_comes) {
  support::Random random(support::seed_of_test());
  for (int round = 0; round < 50; ++round) {
    World world;
    for (int i = 0; i < 400; ++i) step(world, random);
    for (std::size_t who = 0; who < 3; ++who) trap(world, who);
    world.on_the_way.clear();
    world.held_outside.clear();
    ASSERT_EQ(made(), 0u) << "round " << round;
    const Bytes after = bytes("after");
    world.lost.clear();
    ASSERT_EQ(made(), 1u);
    ASSERT_EQ(text(after), "after");
  }
}

}  // namespace
}  // namespace bulkhead::core
