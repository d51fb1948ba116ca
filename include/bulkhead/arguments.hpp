/// What actors are made from, where it crosses a wall.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "bulkhead/cross.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead::core {

/// Throws ConfigError: an isolated actor cannot be given this.
[[noreturn]] void refuse_to_isolate(std::string_view type);
/// The same: it could be given this once only.
[[noreturn]] void refuse_to_restart(std::string_view type);

/// What can be given to an actor across a wall.
template <class T>
inline constexpr bool kCrossesAsArgument = kStaysAsItIs<T> || Crossable<T>;

template <class First, class... Rest>
constexpr std::string_view first_that_cannot_cross() {
  if constexpr (!kCrossesAsArgument<First> || sizeof...(Rest) == 0) {
    return type_name<First>();
  } else {
    return first_that_cannot_cross<Rest...>();
  }
}

template <class T>
T argument_anew(const T& from) {
  if constexpr (kStaysAsItIs<T>) {
    return from;
  } else {
    return crossing::anew(from);
  }
}

/// What was handed over has left an argument that was moved from.
template <class Arg>
void leave_argument(std::remove_reference_t<Arg>& argument) noexcept {
  using T = std::remove_reference_t<Arg>;
  if constexpr (!std::is_lvalue_reference_v<Arg> && !std::is_const_v<T> && !kStaysAsItIs<T>) {
    crossing::leave(argument);
  }
}

template <class First, class... Rest>
constexpr std::string_view first_that_is_handed_over() {
  if constexpr (crossing::kHandsOver<First> || sizeof...(Rest) == 0) {
    return type_name<First>();
  } else {
    return first_that_is_handed_over<Rest...>();
  }
}

/// What an actor is made from again that restarts in place. It lies in a heap of its own, or, where
/// there are none, in the process's.
struct Seed {
  void* heap = nullptr;
  bool makes_itself = false;  ///< the actor is constructed in its own turn: see Cell
  /// Makes the actor's state, in the memory that is current.
  void (*sow)(const Seed& seed, void* state) = nullptr;
  void (*destroy)(const Seed* seed) noexcept = nullptr;
};

template <class State, class... Args>
struct SeedOf : Seed {
  explicit SeedOf(bool itself, const Args&... from) : arguments(argument_anew<Args>(from)...) {
    makes_itself = itself;
    sow = [](const Seed& seed, void* state) {
      std::apply([state](const Args&... all) { ::new (state) State(all...); },
                 static_cast<const SeedOf&>(seed).arguments);
    };
    destroy = [](const Seed* seed) noexcept { delete static_cast<const SeedOf*>(seed); };
  }
  std::tuple<Args...> arguments;
};

}  // namespace bulkhead::core
