// B4: parcels are handed over without a copy, and their memory is released exactly once, whatever
// fails when. Who owns them is said here as the runtime says it: see parcels.hpp.
#include "core/parcels.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stack>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bulkhead/cross.hpp"
#include "core/recorder.hpp"
#include "support/seed.hpp"

namespace bulkhead {

// --- what a Parcel is ---

using Bytes = Parcel<>;

static_assert(!std::is_copy_constructible_v<Bytes> && std::is_nothrow_move_constructible_v<Bytes>);
static_assert(Crossable<Bytes> && kCrossesWithoutMemory<Bytes> && crossing::kHandsOver<Bytes>);
static_assert(!crossing::kHandsOver<std::vector<std::string>>);

namespace {

using core::all_parcels;
using core::ParcelList;
using core::ParcelsGo;

/// Checks that as many parcels are left as there were before.
class Parcels : public testing::Test {
 protected:
  ~Parcels() override {
    EXPECT_EQ(all_parcels().parcels, before_.parcels);
    EXPECT_EQ(all_parcels().bytes, before_.bytes);
  }
  [[nodiscard]] std::size_t made() const { return all_parcels().parcels - before_.parcels; }

 private:
  core::ParcelCount before_ = all_parcels();
};

Bytes bytes(std::string_view text) {
  return Bytes::copy_of(std::as_bytes(std::span<const char>(text)));
}
std::string text(const Bytes& parcel) {
  return {reinterpret_cast<const char*>(parcel.data()), parcel.size()};
}

TEST_F(Parcels, are_zero_and_aligned) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, std::size_t{1} << 22}) {
    Parcel<std::uint8_t> parcel(size);
    EXPECT_EQ(parcel.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parcel.data()) % 64, 0u);
    for (const std::uint8_t byte : parcel) ASSERT_EQ(byte, 0);
    std::memset(parcel.data(), 0xab, parcel.size_bytes());
    EXPECT_EQ(made(), 1u);
  }
}

TEST_F(Parcels, hold_elements) {
  struct Pixel {
    std::uint8_t red, green, blue;
  };
  const std::vector<Pixel> pixels{{1, 2, 3}, {4, 5, 6}};
  Parcel<Pixel> image = Parcel<Pixel>::copy_of(pixels);
  ASSERT_EQ(image.size(), 2u);
  EXPECT_EQ(image.size_bytes(), 6u);
  EXPECT_EQ(image.at(1).green, 5);
  image.at(0).red = 9;
  EXPECT_EQ(std::as_const(image).span()[0].red, 9);
  EXPECT_THROW(static_cast<void>(image.at(2)), std::out_of_range);
  image.truncate(1);
  EXPECT_EQ(image.size(), 1u);
  EXPECT_THROW(image.truncate(2), std::out_of_range);
}

TEST_F(Parcels, may_be_empty) {
  Bytes nothing;
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(nothing.begin(), nothing.end());
  Bytes none(0);
  EXPECT_TRUE(none.empty() && Bytes::copy_of({}).empty());
  EXPECT_EQ(made(), 0u);
  EXPECT_TRUE(cross(std::move(none)).empty());
}

TEST_F(Parcels, move) {
  Bytes first = bytes("first");
  const auto* where = first.data();
  Bytes second = std::move(first);
  EXPECT_TRUE(first.empty());  // NOLINT: that is the test
  EXPECT_EQ(second.data(), where);
  Bytes third = bytes("third");
  third = std::move(second);
  EXPECT_EQ(text(third), "first");
  EXPECT_EQ(made(), 1u);
  auto& same = third;
  third = std::move(same);
  EXPECT_EQ(text(third), "first");
}

TEST_F(Parcels, of_sizes_that_cannot_be_are_refused) {
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  EXPECT_THROW(Parcel<std::uint64_t>(most / 8 + 1), std::bad_array_new_length);
  EXPECT_THROW(Bytes(most + 1), std::bad_array_new_length);
  EXPECT_THROW(Bytes{most}, std::bad_alloc);
  EXPECT_EQ(made(), 0u);
}

TEST_F(Parcels, are_outside_the_heap) {
  core::Recorder recorder;
  const core::Recording recording(recorder);
  Bytes parcel(100);
  EXPECT_FALSE(recorder.owns(parcel.data()));
}

// --- crossing ---

TEST_F(Parcels, cross_without_a_copy) {
  Bytes from = bytes("payload");
  const auto* where = from.data();
  Bytes to = cross(std::move(from));
  EXPECT_TRUE(from.empty());  // NOLINT
  EXPECT_EQ(to.data(), where);
  EXPECT_EQ(text(to), "payload");
  EXPECT_EQ(made(), 1u);
}

struct Frame {
  std::string name;
  Bytes pixels;
  std::vector<Bytes> tiles;
  std::map<int, Bytes> numbered;
  std::optional<Bytes> alpha;
  std::variant<int, Bytes> either;
  std::unique_ptr<Bytes> owned;
  std::pair<int, Bytes> pair;
  std::tuple<Bytes, int> tuple;
  std::expected<Bytes, int> expected;
  Bytes array[2];
  std::stack<Bytes> stack;
};

Frame frame() {
  Frame made;
  made.name = "a name that is too long for the small buffer of a string";
  made.pixels = bytes("0");
  made.tiles.push_back(bytes("1"));
  made.tiles.push_back(bytes("2"));
  made.numbered.emplace(7, bytes("3"));
  made.alpha = bytes("4");
  made.either = bytes("5");
  made.owned = std::make_unique<Bytes>(bytes("6"));
  made.pair = {1, bytes("7")};
  std::get<0>(made.tuple) = bytes("8");
  made.expected = bytes("9");
  made.array[0] = bytes("a");
  made.array[1] = bytes("b");
  made.stack.push(bytes("c"));
  return made;
}
constexpr std::size_t kInFrame = 13;

std::string contents(const Frame& frame) {
  const auto* either = std::get_if<Bytes>(&frame.either);
  return text(frame.pixels) + text(frame.tiles[0]) + text(frame.tiles[1]) +
         text(frame.numbered.at(7)) + text(*frame.alpha) + text(*either) + text(*frame.owned) +
         text(frame.pair.second) + text(std::get<0>(frame.tuple)) + text(*frame.expected) +
         text(frame.array[0]) + text(frame.array[1]) + text(frame.stack.top());
}
const std::string kContents = "0123456789abc";

TEST_F(Parcels, cross_wherever_they_are_in_a_message) {
  auto from = std::make_unique<Frame>(frame());
  EXPECT_EQ(made(), kInFrame);
  const Frame to = cross(std::move(*from));
  for (const Bytes& tile : from->tiles) EXPECT_TRUE(tile.empty());
  EXPECT_TRUE(from->pixels.empty() && from->owned->empty() && from->stack.top().empty());
  from.reset();
  EXPECT_EQ(made(), kInFrame);
  EXPECT_EQ(contents(to), kContents);
}

// A send that fails leaves the message to its sender, with all that is in it.
TEST_F(Parcels, stay_when_crossing_fails) {
  for (std::size_t refused = 1;; ++refused) {
    Frame from = frame();
    core::Recorder recorder;
    recorder.refuse_from(refused);
    bool done = false;
    try {
      const core::Recording recording(recorder);
      const Frame to = cross(std::move(from));
      done = true;
    } catch (const std::bad_alloc&) {
    }
    EXPECT_EQ(recorder.blocks(), 0u);
    if (done) {
      EXPECT_EQ(made(), 0u);
      EXPECT_GT(refused, 5u);
      break;
    }
    EXPECT_EQ(made(), kInFrame);
    EXPECT_EQ(contents(from), kContents);
    const Frame to = cross(std::move(from));  // and it can be sent again
    EXPECT_EQ(contents(to), kContents);
  }
}

TEST_F(Parcels, that_cross_halfway_belong_to_who_had_them) {
  Bytes from = bytes("payload");
  {
    const Bytes not_yet = crossed(from);
    EXPECT_EQ(not_yet.data(), from.data());
  }
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(text(from), "payload");
}

TEST_F(Parcels, released_while_they_cross_are_nobodys) {
  auto from = std::make_unique<Bytes>(bytes("payload"));
  const Bytes late = crossed(*from);
  from.reset();
  EXPECT_EQ(made(), 0u);
  const Bytes other = bytes("another, in the same record maybe");
  const Bytes more = bytes("and one more");
  EXPECT_EQ(made(), 2u);
}  // late releases none of them

// --- owners ---

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
  ~Isolated() { EXPECT_EQ(core::count(list_).parcels, 0u) << "who ends must release"; }

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
  void traps() { core::release_all(list_); }
  [[nodiscard]] std::size_t owns() const { return core::count(list_).parcels; }
  [[nodiscard]] std::size_t owns_bytes() const { return core::count(list_).bytes; }

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

TEST_F(Parcels, belong_to_the_isolated_actor_that_makes_them) {
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

TEST_F(Parcels, are_released_when_their_owner_traps) {
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

TEST_F(Parcels, go_from_owner_to_owner) {
  Isolated sender;
  Isolated receiver;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent, &message);
  EXPECT_EQ(sender.owns(), 0u);
  EXPECT_EQ(core::count(message).parcels, 1u);
  sender.traps();  // after the send
  EXPECT_EQ(made(), 1u);
  Message received = receiver.receives(queued, &message);
  EXPECT_EQ(core::count(message).parcels, 0u);
  EXPECT_EQ(receiver.owns(), 1u);
  EXPECT_EQ(text(received.parcel), "payload");
  receiver.runs([&] { received.parcel = Bytes(); });
}

TEST_F(Parcels, may_go_without_an_owner) {
  Isolated sender;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  {
    const Message queued = sender.sends(sent, nullptr);
    EXPECT_EQ(sender.owns(), 0u);
    EXPECT_EQ(made(), 1u);
  }  // dropped, with its destructor
  EXPECT_EQ(made(), 0u);
}

TEST_F(Parcels, of_a_message_that_is_dropped_are_released) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Discarded<Message> queued([&] { return sender.sends(sent, &message); });
  EXPECT_EQ(made(), 1u);
  core::release_all(message);
  EXPECT_EQ(made(), 0u);
  queued->~Message();  // that one may come to this, too, does no harm
}

TEST_F(Parcels, come_from_outside) {
  Isolated receiver;
  Message sent{"text", bytes("payload")};
  Discarded<Message> received([&] { return receiver.receives(sent, nullptr); });
  EXPECT_EQ(receiver.owns(), 1u);
  EXPECT_TRUE(sent.parcel.empty());
  receiver.traps();
  EXPECT_EQ(made(), 0u);
  received->~Message();
}

TEST_F(Parcels, go_outside) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  Message queued = sender.sends(sent, &message);
  const ParcelsGo go({&message, nullptr});
  const Message received = cross(std::move(queued));
  EXPECT_EQ(core::count(message).parcels, 0u);
  EXPECT_EQ(text(received.parcel), "payload");
}

TEST_F(Parcels, stay_with_a_sender_whose_send_fails) {
  Isolated sender;
  ParcelList message;
  Frame sent = sender.runs([] { return frame(); });
  core::Recorder recorder;
  recorder.refuse_from(3);
  EXPECT_THROW(
      {
        const core::Recording recording(recorder);
        static_cast<void>(sender.sends(sent, &message));
      },
      std::bad_alloc);
  EXPECT_EQ(sender.owns(), kInFrame);
  EXPECT_EQ(core::count(message).parcels, 0u);
  EXPECT_EQ(contents(sent), kContents);
  sender.runs([&] { sent = Frame(); });
}

// The trap comes while a message is copied: some is there, none has been handed over.
TEST_F(Parcels, are_released_when_a_sender_traps_in_the_middle) {
  Isolated sender;
  ParcelList message;
  Message sent = sender.runs([] { return Message{"text", bytes("payload")}; });
  const Discarded<Bytes> half([&] {
    const ParcelsGo go({nullptr, &message});
    return sender.runs([&] { return crossed(sent.parcel); });
  });
  sender.traps();
  core::release_all(message);
  EXPECT_EQ(made(), 0u);
  const Bytes next = bytes("in the same record");
  const_cast<Discarded<Bytes>&>(half)->~Bytes();
  EXPECT_EQ(made(), 1u);
}

// An isolated actor has left one where others find it.
TEST_F(Parcels, cannot_be_taken_by_others) {
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

TEST_F(Parcels, are_left_alone_by_keys_that_make_no_sense) {
  const Bytes parcel = bytes("payload");
  core::release_parcel({1, UINT32_MAX});
  core::release_parcel({UINT64_MAX, 0});
  core::hand_over({UINT64_MAX, 0});
  for (std::uint32_t index = 0; index < 10; ++index) core::release_parcel({2, index});
  EXPECT_EQ(core::next_key({0, 0}).turn, 0u);
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(text(parcel), "payload");
}

// --- threads ---

TEST_F(Parcels, are_made_and_released_by_many_threads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<Bytes>> made(4);
  for (std::vector<Bytes>& own : made) {
    threads.emplace_back([&own] {
      for (int i = 0; i < 500; ++i) {
        own.emplace_back(static_cast<std::size_t>(i) + 1);
        if (i % 3 == 0) own.pop_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (std::size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&made, i] { made[(i + 1) % made.size()].clear(); });
  }
  for (std::thread& thread : threads) thread.join();
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
      EXPECT_EQ(core::count(*list).parcels, 0u);
      world.on_the_way.pop_back();
      break;
    }
    case 5:
      if (world.on_the_way.empty()) break;
      core::release_all(*world.on_the_way.back().second);
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

TEST_F(Parcels, are_released_exactly_once_whatever_comes) {
  support::Random random(support::seed_of_test());
  for (int round = 0; round < 50; ++round) {
    World world;
    for (int i = 0; i < 400; ++i) step(world, random);
    for (std::size_t who = 0; who < 3; ++who) trap(world, who);
    for (auto& [message, list] : world.on_the_way) core::release_all(*list);
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
}  // namespace bulkhead
