// B4, A11: parcels in the messages of ordinary actors. (What becomes of them in isolated ones:
// src/core/parcels_owners_test.cpp.)
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/on_cores.hpp"

namespace {

using bulkhead::Parcel;

class ParcelsInMessages : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(ParcelsInMessages);

struct Frame {
  int number = 0;
  Parcel<std::uint32_t> pixels;
};

Frame frame(std::size_t count) {
  Frame made{7, Parcel<std::uint32_t>(count)};
  for (std::uint32_t& pixel : made.pixels) pixel = 5;
  return made;
}
std::uint64_t sum(const Frame& frame) {
  std::uint64_t all = 0;
  for (const std::uint32_t pixel : frame.pixels) all += pixel;
  return all;
}

// Adds one to each pixel, and gives the frame back.
class Filter {
 public:
  Frame receive(Frame frame) {
    for (std::uint32_t& pixel : frame.pixels) ++pixel;
    return frame;
  }
};

TEST_P(ParcelsInMessages, go_to_and_fro_without_a_copy) {
  const auto filter = runtime.spawn_with<Filter>(on_core(1));
  Frame mine = frame(10'000);
  const auto* where = mine.pixels.data();
  for (int i = 0; i < 10; ++i) {
    auto back = filter.ask(std::move(mine), support::kDeadline);
    ASSERT_TRUE(back.has_value());
    EXPECT_TRUE(mine.pixels.empty());  // NOLINT: that is the test
    mine = std::move(*back);
  }
  EXPECT_EQ(mine.pixels.data(), where);
  EXPECT_EQ(sum(mine), 150'000u);
}

TEST_P(ParcelsInMessages, stay_in_a_message_that_is_refused) {
  const auto filter = runtime.spawn_with<Filter>(on_core(1));
  bulkhead::stop(filter);
  wait_for_idle();
  Frame mine = frame(100);
  EXPECT_EQ(filter.try_send(mine), bulkhead::Delivery::kGone);
  EXPECT_EQ(sum(mine), 500u);
}

}  // namespace
