// How the tests of crossing look at it. Memory is recorded (recorder.hpp): that of the object which
// is made anew must hold no address in that of the other one, which is overwritten when freed. Then
// memory is refused, at each allocation in turn.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "bulkhead/cross.hpp"
#include "core/recorder.hpp"

namespace bulkhead::core {

/// Room for an object, with zeros around it.
template <class T>
struct Place {
  alignas(T) std::byte bytes[sizeof(T)] = {};
  T* object = nullptr;

  template <class Make>
  void fill(Recorder& recorder, Make make) {
    const Recording recording(recorder);
    object = ::new (static_cast<void*>(bytes)) T(make());
  }
  void empty(Recorder& recorder) {
    const Recording recording(recorder);
    object->~T();
    object = nullptr;
  }
};

// With the n-th allocation, and all after it, refused: nothing is left over, nothing is changed.
// Returns whether there were fewer.
template <class T, class Make, class Same>
bool survives_refusal(std::size_t n, Make make, Same same) {
  auto kept = std::make_unique<Recorder>();
  auto fresh = std::make_unique<Recorder>();
  Place<T> old;
  old.fill(*kept, make);
  const std::size_t blocks = kept->blocks();
  bool done = false;
  Place<T> place;
  fresh->refuse_from(n);
  try {
    const Recording recording(*fresh);
    place.object = ::new (static_cast<void*>(place.bytes)) T(cross(std::move(*old.object)));
    done = true;
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(fresh->blocks(), 0u) << "left over, with allocation " << n << " refused";
  }
  EXPECT_EQ(kept->blocks(), blocks);
  const T expected = make();
  EXPECT_TRUE(same(*old.object, expected)) << "changed, with allocation " << n << " refused";
  old.empty(*kept);
  fresh->refuse_from(0);
  if (done) place.empty(*fresh);
  EXPECT_EQ(kept->blocks() + fresh->blocks(), 0u);
  return done;
}

template <class T, class Make, class Same>
void expect_apart(Make make, Same same) {
  auto kept = std::make_unique<Recorder>();
  auto fresh = std::make_unique<Recorder>();
  Place<T> old;
  Place<T> place;
  old.fill(*kept, make);
  {
    const Recording recording(*fresh);
    fresh->refuse_from(0);
    place.object = ::new (static_cast<void*>(place.bytes)) T(cross(std::move(*old.object)));
  }
  EXPECT_TRUE(same(*place.object, *old.object));
  EXPECT_FALSE(fresh->points_into(*kept) || kept->points_into(*fresh));
  EXPECT_FALSE(kept->is_pointed_into_from(place.bytes, sizeof(T)));
  EXPECT_TRUE(!kCrossesWithoutMemory<T> || fresh->asked() == 0);
  old.empty(*kept);  // overwrites what it had
  EXPECT_EQ(kept->blocks(), 0u);
  const T expected = make();
  EXPECT_TRUE(same(*place.object, expected));
  place.empty(*fresh);
  EXPECT_EQ(fresh->blocks(), 0u);
  EXPECT_EQ(kept->missed() + fresh->missed(), 0u);
}

/// Checks that what make() returns crosses, in all ways, where same(a, b) tells what is equal.
template <class Make, class Same>
void expect_crosses(Make make, Same same) {
  using T = decltype(make());
  static_assert(Crossable<T>);
  expect_apart<T>(make, same);
  std::size_t refused = 1;
  while (!survives_refusal<T>(refused, make, same)) ++refused;
  EXPECT_TRUE(!kCrossesWithoutMemory<T> || refused == 1);
}
template <class Make>
void expect_crosses(Make make) {
  expect_crosses(make, [](const auto& a, const auto& b) { return a == b; });
}

}  // namespace bulkhead::core
