// B4: what a Parcel is, and that it crosses without a copy.
#include "core/parcels.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "bulkhead/cross.hpp"
#include "core/parcels_tested.hpp"
#include "core/record_slab.hpp"
#include "core/recorder.hpp"
#include "support/process.hpp"

namespace bulkhead::core {
namespace {

using Parcels = ParcelsTest;

static_assert(!std::is_copy_constructible_v<Bytes> && std::is_nothrow_move_constructible_v<Bytes>);
static_assert(Crossable<Bytes> && crossing::kHandsOver<Bytes>);
static_assert(!crossing::kHandsOver<std::vector<std::string>>);

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
  EXPECT_EQ(made(), 0u);
}

TEST_F(Parcels, leave_nothing_when_there_is_no_memory) {
  if constexpr (support::kMemoryFactor > 1) return;  // sanitizers end the program instead
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  const Bytes there = bytes("so there are records");
  const std::uint32_t records = RecordSlab<ParcelRecord>::process().made();
  for (int i = 0; i < 300; ++i) EXPECT_THROW(Bytes{most - 64}, std::bad_alloc);
  EXPECT_LE(RecordSlab<ParcelRecord>::process().made(), records + 1);
  EXPECT_EQ(made(), 1u);
}

TEST_F(Parcels, are_outside_the_heap) {
  Recorder recorder;
  const Recording recording(recorder);
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
    Recorder recorder;
    recorder.refuse_from(refused);
    bool done = false;
    try {
      const Recording recording(recorder);
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
  auto late = std::make_unique<Bytes>(crossed(*from));
  from.reset();
  EXPECT_EQ(made(), 0u);
  const Bytes other = bytes("another, in the same record");
  late.reset();
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(text(other), "another, in the same record");
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

}  // namespace
}  // namespace bulkhead::core
