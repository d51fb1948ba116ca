/// The light parts of two standard headers that are heavy: durations without calendars and time
/// zones, and std::function, std::move_only_function and std::invoke without searchers and binders.
/// A small program compiles in half the time. And what depends on the platform and the compiler:
/// whether they have what all of these headers need, and how noexcept is compiled.
#pragma once

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "bulkhead runs on Linux on x86-64 and AArch64 only: nothing could be contained here"
#endif

#include <initializer_list>
#include <utility>
#include <version>

#ifndef __cpp_lib_expected
#error "bulkhead needs C++23 with std::expected: g++ 12 or newer, and -std=c++23"
// Clang before 19 also needs -U__cpp_concepts -D__cpp_concepts=202002L. The CMake target passes
// that on; for others: pkg-config --variable=clang_cflags bulkhead
#endif

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

#if __has_include(<bits/std_function.h>) && __has_include(<bits/move_only_function.h>)
#include <bits/invoke.h>
#include <bits/move_only_function.h>
#include <bits/std_function.h>
#define BULKHEAD_INVOKE std::__invoke
#else
#include <functional>
#define BULKHEAD_INVOKE std::invoke
#endif

namespace bulkhead::core {

/// std::invoke.
template <class F, class... Arguments>
constexpr decltype(auto) invoke(F&& function, Arguments&&... arguments) {
  return BULKHEAD_INVOKE(std::forward<F>(function), std::forward<Arguments>(arguments)...);
}
#undef BULKHEAD_INVOKE

/// Does the compiler end a function that is noexcept by a handler that looks like catch (...)?
#ifdef __clang__
constexpr bool kHidesNoexcept = true;
#else
constexpr bool kHidesNoexcept = false;
#endif

}  // namespace bulkhead::core
