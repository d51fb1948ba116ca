// B4: the memory of parcels is released exactly once, whatever fails when. Who owns them is said
// here as the runtime says it: see parcels.hpp.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead/cross.hpp"
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
  Isolated() = default;
  Isolated(const Isolated&) = delete;
  Isolated& operator=(const Isolated&) = delete;
  ~Isolated() { EXPECT_EQ(count(list_).parcels, 0u) << "who ends must release"; }

  template <class Code>
  auto runs(Code code) {
    const ParcelsGo go({&list_, &list_});
    return code();
  }
  template <class M>
  M sends(M& message, ParcelList* into) {
    const ParcelsGo go({&list_, into});
    return cross(std::move(message));
  }
  template <class M>
  M receives(M& message, ParcelList* from) {
    const ParcelsGo go({from, &list_});
    return cross(std::move(message));
  }
  void traps() { release_all(list_); }
  [[nodiscard]] std::size_t owns() const { return count(list_).parcels; }
  [[nodiscard]] std::size_t owns_bytes() const { return count(list_).bytes; }

 private:
  ParcelList list_;
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

TEST_F(ParcelOwning, belong_to_the_isolated_actor_that_makes_them) {
  Isolated actor;
  {
    Bytes parcel = actor.runs([] { return bytes("mine"); });
    EXPECT_EQ(actor.owns(), 1u);
    EXPECT_EQ(actor.owns_bytes(), 4u);
    Bytes moved = std::move(parcel);
    EXPECT_EQ(actor.owns(), 1u);
    actor.runs([&] { moved = Bytes(); });
    EXPECT_EQ(actor.owns(), 0u);
  }
  const Bytes outside = bytes("nobody's");
  EXPECT_EQ(actor.owns(), 0u);
}

TEST_F(ParcelOwning, are_released_when_their_owner_traps) {
  Isolated actor;
  const Discarded<std::vector<Bytes>> lost([&] {
    return actor.runs([] {
      std::vector<Bytes> all;
      for (int i = 0; i < 100; ++i) all.emplace_back(1000);
      all.erase(all.begin() + 50);
      return all;
    });
  });
  EXPECT_EQ(actor.owns(), 99u);
  EXPECT_EQ(made(), 99u);
  actor.traps();
  EXPECT_EQ(made(), 0u);
  // The elements' own memory is the test's.
  const_cast<Discarded<std::vector<Bytes>>&>(lost)->clear();
  const_cast<Discarded<std::vector<Bytes>>&>(lost)->shrink_to_fit();
}

TEST_F(ParcelOwning, go_from_owner_to_owner) {
  Isolated sender;
  Isolated receiver;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent, &message);
  EXPECT_EQ(sender.owns(), 0u);
  EXPECT_EQ(count(message).parcels, 1u);
  sender.traps();  // after the send
  EXPECT_EQ(made(), 1u);
  Message received = receiver.receives(queued, &message);
  EXPECT_EQ(count(message).parcels, 0u);
  EXPECT_EQ(receiver.owns(), 1u);
  EXPECT_EQ(text(received.parcel), "payload");
  receiver.runs([&] { received.parcel = Bytes(); });
}

TEST_F(ParcelOwning, may_go_without_an_owner) {
  Isolated sender;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  {
    const Message queued = sender.sends(sent, nullptr);
    EXPECT_EQ(sender.owns(), 0u);
    EXPECT_EQ(made(), 1u);
  }  // dropped, with its destructor
  EXPECT_EQ(made(), 0u);
}

TEST_F(ParcelOwning, of_a_message_that_is_dropped_are_released) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Discarded<Message> queued([&] { return sender.sends(sent, &message); });
  EXPECT_EQ(made(), 1u);
  release_all(message);
  EXPECT_EQ(made(), 0u);
  queued->~Message();  // that one may come to this, too, does no harm
}

TEST_F(ParcelOwning, come_from_outside) {
  Isolated receiver;
  Message sent{"text", bytes("payload")};
  Discarded<Message> received([&] { return receiver.receives(sent, nullptr); });
  EXPECT_EQ(receiver.owns(), 1u);
  EXPECT_TRUE(sent.parcel.empty());
  receiver.traps();
  EXPECT_EQ(made(), 0u);
  received->~Message();
}

TEST_F(ParcelOwning, go_outside) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent, &message);
  const ParcelsGo go({&message, nullptr});
  const Message received = cross(std::move(queued));
  EXPECT_EQ(count(message).parcels, 0u);
  EXPECT_EQ(text(received.parcel), "payload");
}

TEST_F(ParcelOwning, stay_with_a_sender_whose_send_fails) {
  Isolated sender;
  ParcelList message;
  Frame sent = sender.runs([] { return frame(); });
  Recorder recorder;
  recorder.refuse_from(3);
  EXPECT_THROW(
      {
        const Recording recording(recorder);
        static_cast<void>(sender.sends(sent, &message));
      },
      std::bad_alloc);
  EXPECT_EQ(sender.owns(), kInFrame);
  EXPECT_EQ(count(message).parcels, 0u);
  EXPECT_EQ(contents(sent), kContents);
  sender.runs([&] { sent = Frame(); });
}

// The trap comes while a message is copied: some is there, none has been handed over.
TEST_F(ParcelOwning, are_released_when_a_sender_traps_in_the_middle) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  const Discarded<Bytes> half([&] {
    const ParcelsGo go({nullptr, &message});
    return sender.runs([&] { return crossed(sent.parcel); });
  });
  sender.traps();
  release_all(message);
  EXPECT_EQ(made(), 0u);
  const Bytes next = bytes("in the same record");
  const_cast<Discarded<Bytes>&>(half)->~Bytes();
  EXPECT_EQ(made(), 1u);
}

// An isolated actor has left one where others find it.
TEST_F(ParcelOwning, cannot_be_taken_by_others) {
  Isolated actor;
  Isolated thief;
  Bytes shared = actor.runs([] { return bytes("mine"); });
  EXPECT_TRUE(cross(std::move(shared)).empty());
  EXPECT_TRUE(shared.empty());  // NOLINT
  EXPECT_EQ(actor.owns(), 1u);
  actor.runs([&] { shared = bytes("another"); });
  thief.runs([&] { shared = Bytes(); });
  EXPECT_EQ(actor.owns(), 2u);
  EXPECT_EQ(thief.owns(), 0u);
  actor.traps();
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
  std::vector<std::pair<Message, std::unique_ptr<ParcelList>>> on_the_way;
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
      world.on_the_way.emplace_back(Message{}, std::make_unique<ParcelList>());
      world.on_the_way.back().first =
          actor.sends(held.back(), world.on_the_way.back().second.get());
      actor.runs([&] { held.pop_back(); });
      break;
    case 4: {
      if (world.on_the_way.empty()) break;
      auto& [message, list] = world.on_the_way.back();
      held.push_back(actor.receives(message, list.get()));
      EXPECT_EQ(count(*list).parcels, 0u);
      world.on_the_way.pop_back();
      break;
    }
    case 5:
      if (world.on_the_way.empty()) break;
      release_all(*world.on_the_way.back().second);
      world.lost.push_back(std::move(world.on_the_way.back().first));
      world.on_the_way.pop_back();
      break;
    case 6:
      if (world.held_outside.empty()) break;
      held.push_back(actor.receives(world.held_outside.back(), nullptr));
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
    for (auto& [message, list] : world.on_the_way) release_all(*list);
    world.held_outside.clear();
    ASSERT_EQ(made(), 0u) << "round " << round;
    const Bytes after = bytes("after");
    world.lost.clear();
    world.on_the_way.clear();
    ASSERT_EQ(made(), 1u);
    ASSERT_EQ(text(after), "after");
  }
}

}  // namespace
}  // namespace bulkhead::core
