// What the tests of parcels share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bulkhead/parcel.hpp"
#include "core/parcels.hpp"

namespace bulkhead::core {

using Bytes = Parcel<>;

/// Checks that as many parcels are left as there were before.
class ParcelsTest : public testing::Test {
 protected:
  ~ParcelsTest() override {
    EXPECT_EQ(all_parcels().parcels, before_.parcels);
    EXPECT_EQ(all_parcels().bytes, before_.bytes);
  }
  [[nodiscard]] std::size_t made() const { return all_parcels().parcels - before_.parcels; }

 private:
  ParcelCount before_ = all_parcels();
};

inline Bytes bytes(std::string_view text) {
  return Bytes::copy_of(std::as_bytes(std::span<const char>(text)));
}
inline std::string text(const Bytes& parcel) {
  return {reinterpret_cast<const char*>(parcel.data()), parcel.size()};
}

// One with parcels wherever they can be.

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

inline Frame frame() {
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
inline constexpr std::size_t kInFrame = 13;

inline std::string contents(const Frame& frame) {
  const auto* either = std::get_if<Bytes>(&frame.either);
  return text(frame.pixels) + text(frame.tiles[0]) + text(frame.tiles[1]) +
         text(frame.numbered.at(7)) + text(*frame.alpha) + text(*either) + text(*frame.owned) +
         text(frame.pair.second) + text(std::get<0>(frame.tuple)) + text(*frame.expected) +
         text(frame.array[0]) + text(frame.array[1]) + text(frame.stack.top());
}
inline const std::string kContents = "0123456789abc";

}  // namespace bulkhead::core
