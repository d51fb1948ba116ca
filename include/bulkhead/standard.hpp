/// The light parts of two standard headers that are heavy: durations without calendars and time
/// zones, and std::function without searchers and binders. A small program compiles in half the
/// time.
#pragma once

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

#if __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
