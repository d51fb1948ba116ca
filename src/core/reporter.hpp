// The way of crash reports, and of other lines, from cores to the log.
//
// Rules
//  R1  Who has something to tell asks first whether there is room (admits), then makes it up, puts
//      it among what has arrived, and goes on. It waits for nobody; the thread is woken when it
//      sleeps. Sleep and arrivals are those of a core: sync/arrivals.hpp, sync/parker.hpp.
//  R2  So many of each kind are admitted in a second, and no more than kMostWaiting may wait for a
//      log that is slow. The others are counted, and the thread tells how many.
//      What is perhaps not to be told at all, the crash of an actor that may be joined, is made up
//      first, and asks for room when nobody joins it any more (Joint::crash, put_late).
//  R3  What was put before stop() is told before it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/log.hpp"
#include "core/slot.hpp"
#include "machine/clock.hpp"
#include "sync/arrivals.hpp"
#include "sync/parker.hpp"
#include "sync/thread.hpp"

namespace bulkhead::core {

class Core;
class Domain;

/// What is on its way to the log: a crash, or a line. The thread adds to a crash what takes long.
struct Told {
  Told* next = nullptr;
  std::unique_ptr<CrashReport> crash;
  std::vector<void*> stack;  // addresses
  std::string line;
  // Of an actor that may still be joined: whose log is to be told, in which of its runs.
  Domain* domain = nullptr;
  std::uint64_t run = 0;
};

class Reporter {
 public:
  explicit Reporter(Domain& domain) noexcept : domain_(domain) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  ~Reporter() = default;

  /// Throws std::system_error, std::bad_alloc.
  void start(const LogSettings& settings);
  void stop() noexcept;

  // Any thread of the domain, while it runs (Telling).

  /// Is anything told at all?
  [[nodiscard]] bool tells() const noexcept { return log_ != nullptr; }
  /// How often it has been started.
  [[nodiscard]] std::uint64_t run() const noexcept { return run_; }
  enum class Kind : std::uint8_t { kCrash, kLine, kRareLine };
  /// Is one more to be told, at that time? If so, put() or lost() comes next; else it is counted.
  [[nodiscard]] bool admits(Kind kind, machine::Nanoseconds now) noexcept;
  void put(std::unique_ptr<Told> told) noexcept;
  /// There was no memory for it.
  void lost(Kind kind) noexcept;
  /// All of that, for a crash that nobody asked for room for.
  void put_late(std::unique_ptr<Told> told) noexcept;
  /// All of that, for a line. Its text is copied: the caller's memory may be that of a heap.
  void put_line(Kind kind, std::string_view text) noexcept;

 private:
  static constexpr std::size_t kMostWaiting = 1000;
  static constexpr std::size_t kKinds = 3;

  /// Of one kind.
  struct Limit {
    RealSync::atomic<machine::Nanoseconds> second_ends{0};
    RealSync::atomic<std::uint64_t> admitted{0};  // in this second
    RealSync::atomic<std::uint64_t> left_out{0};  // that nobody knows of yet
  };

  [[nodiscard]] Limit& limit_of(Kind kind) noexcept {
    return limits_[static_cast<std::size_t>(kind)];
  }
  void leave_out(Limit& limit) noexcept;

  void main() noexcept;
  void tell(Told& told) noexcept;
  void complete(Told& told);
  void redact(CrashReport& crash) noexcept;
  void tell_left_out() noexcept;
  template <class Tell>
  void guarded(Tell tell) noexcept;

  Domain& domain_;
  std::shared_ptr<Log> log_;  // null: nothing is told
  std::function<void(CrashReport&)> redact_;
  std::size_t per_second_ = 0;
  std::uint64_t run_ = 0;
  Limit limits_[kKinds];
  RealSync::atomic<std::size_t> waiting_{0};
  sync::Arrivals<RealSync, Told, &Told::next> arrivals_;
  sync::Parker<RealSync> parker_;
  RealSync::atomic<bool> ends_{false};
  sync::Thread thread_;
};

/// While one is true, the domain runs, and can be told something. Any thread that is inside.
class Telling {
 public:
  explicit Telling(Domain& domain) noexcept;
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling();
  explicit operator bool() const noexcept { return own_ || entered_; }

 private:
  Domain& domain_;
  bool own_;  // its own actors are not outside, and run also while the gate is closed
  bool entered_;
};

[[nodiscard]] constexpr Reporter::Kind line_kind(LineKind kind) noexcept {
  return kind == LineKind::kRare ? Reporter::Kind::kRareLine : Reporter::Kind::kLine;
}

/// The log on stderr.
[[nodiscard]] std::shared_ptr<Log> stderr_log(LogFormat format);

/// Is an actor that ends so said to have crashed?
[[nodiscard]] inline bool is_crash(const Exit& exit) noexcept {
  switch (exit.kind()) {
    case Exit::Kind::kNormal:
    case Exit::Kind::kShutdown:
    case Exit::Kind::kStopped:
      return false;
    case Exit::Kind::kPanic:
    case Exit::Kind::kKilled:
    case Exit::Kind::kNoActor:
    case Exit::Kind::kCustom:
    case Exit::Kind::kTrapped:
      break;
  }
  return true;
}
/// The type of what an actor is handling, or another word for what it is at; empty: nothing.
[[nodiscard]] std::string_view name_in_hand(const Slot& slot, const machine::Stack& stack) noexcept;

}  // namespace bulkhead::core
