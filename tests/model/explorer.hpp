// The model checker: runs a small program of 1 to 7 threads over modelled atomics again and again,
// once for every way in which its steps can interleave and its loads can read, within a bound.
//
//   model::Result r = model::explore({.weak = true}, [](model::Run& run) {
//     auto s = std::make_shared<State>();           // templates over model::ModelSync
//     run.name("head", s->stack);
//     run.thread("producer", [s] { s->stack.push(...); });
//     run.thread("consumer", [s] { ... model::check(x == 1, "sees what was sent"); });
//     run.finally([s] { model::check(s->stack.empty(), "nothing is left"); });
//   });
//   EXPECT_TRUE(r.ok()) << r.report();
//
// What it finds: a failed check; a lost wake-up (all threads that are left sleep or spin for good);
// data races on ModelSync::plain; use after free, double free and leaks of model::make; uncaught
// exceptions; loops without end. It stops at the first and reports the interleaving step by step.
// BULKHEAD_MODEL_REPLAY=<word from the report> runs that one execution again;
// BULKHEAD_MODEL_VERBOSE=1 prints a line for each exploration.
//
// What a model must keep to
//  M1  Whatever decides what a thread does is in atomics or plains of ModelSync. Other variables
//      are for notes that only `finally` reads: between operations a thread runs on its own.
//  M2  A loop that waits calls spin_hint() or futex_wait() in each turn, and a turn changes
//      nothing. A loop that gives up spinning after a number of turns gets 0 for that number.
//      A loop that retries a compare-and-swap needs no hint: it fails only by another's store.
//  M3  The setup makes everything afresh, and the same each time. Nothing depends on addresses.
//
// What is covered
//  - Every execution with at most `preemption_bound` preemptions: switches away from a thread that
//    could go on. (Switches from threads that sleep, spin or end are free.) All of what is below is
//    tried in each.
//  - weak: reads and stores as C++20 has them, but for load buffering (memory.hpp). Else every load
//    reads the last store; data races are still found by the orders that were written.
//  - `stale_bound`, for models that are too large otherwise: only executions with at most so many
//    loads of a value that is not the last, and stores that come before others that are there.
//  - Memory of model::free is not used again in the same execution: no ABA by recycled addresses.
//  - Executions that differ only in the order of independent steps are run once: of a thread that
//    was preempted, if the bound is finite; of any, if not. `reduce` turns this off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "model_sync.hpp"

namespace bulkhead::model {

inline constexpr unsigned kUnbounded = std::numeric_limits<unsigned>::max();

struct Options {
  unsigned preemption_bound = 2;
  bool weak = false;
  unsigned stale_bound = kUnbounded;  // see above
  unsigned spurious = 0;   // failures for no reason, per execution: weak swaps and futex waits
  unsigned time_outs = 1;  // time-outs while others could go on, per execution
  std::uint64_t max_executions = 5'000'000;
  std::uint32_t max_steps = 5'000;  // per execution; more is reported as a loop without end
  std::string_view name{};          // tells replays of several explorations in one test apart
  bool reduce = true;
};

struct Result {
  std::string failure;  // what was found; empty: nothing
  std::string trace;    // the interleaving
  std::string replay;   // the word that runs it again
  std::string mode;     // how it was explored
  std::uint64_t executions = 0;
  bool exhausted = false;
  double seconds = 0;

  /// Nothing was found, and everything within the bound was tried.
  [[nodiscard]] bool ok() const { return failure.empty() && exhausted; }
  /// Such as found("lost wake-up").
  [[nodiscard]] bool found(std::string_view what) const {
    return failure.find(what) != std::string::npos;
  }
  /// One line.
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] std::string report() const;
};

class Engine;

/// A run of the program under test: what the setup fills in. Names must outlive the exploration:
/// give literals.
class Run {
 public:
  using Body = std::move_only_function<void()>;

  explicit Run(Engine& engine) : engine_(engine) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void thread(std::string_view name, Body body);
  /// Runs when all threads have ended; sees all that they did.
  void finally(Body body);
  /// What reports call an object and what lies in it.
  template <class T>
  void name(std::string_view text, const T& object) {
    name_region(text, &object, sizeof object);
  }

 private:
  void name_region(std::string_view text, const void* begin, std::size_t bytes);

  Engine& engine_;
};

[[nodiscard]] Result explore(const Options& options, std::function<void(Run&)> setup);

/// Fails the exploration if `condition` is false. In threads, in `finally` and in the setup.
void check(bool condition, std::string_view what);
/// A line in the report.
void note(std::string_view text);
/// The thread that runs, numbered in the order of Run::thread from 0.
[[nodiscard]] unsigned this_thread();

struct Blocks {
  static void* take(std::size_t bytes, std::size_t alignment, std::string_view name);
  static void give(const void* block);
};

/// An object in memory that is watched: to be freed once, and not touched afterwards.
template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) {
  return ::new (Blocks::take(sizeof(T), alignof(T), {})) T(std::forward<Arguments>(arguments)...);
}
template <class T, class... Arguments>
[[nodiscard]] T* make_named(std::string_view name, Arguments&&... arguments) {
  return ::new (Blocks::take(sizeof(T), alignof(T), name)) T(std::forward<Arguments>(arguments)...);
}
template <class T>
void free(T* object) {
  Blocks::give(object);
  object->~T();
}

}  // namespace bulkhead::model
