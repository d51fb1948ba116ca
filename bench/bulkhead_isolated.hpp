// Bulkhead's works with isolated actors, and on a stage.
#pragma once

#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "bulkhead_messages.hpp"
#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

inline SpawnOptions isolated_on(std::size_t core) {
  SpawnOptions options = pinned_to(core);
  options.isolated = ::bulkhead::Isolation{.heap_limit = std::size_t{1} << 20};
  return options;
}

// Traps are many here, and wanted.
inline ::bulkhead::Config without_reports() {
  ::bulkhead::Config config;
  config.log.format = ::bulkhead::LogFormat::kOff;
  return config;
}

inline Clock::time_point faulted_at;

[[gnu::noinline]] inline void fault() {
  faulted_at = Clock::now();
  volatile std::uintptr_t nowhere = 16;  // which the compiler must not see
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

/// Has one isolated child after another trap, and hears of each.
class TrapWatcher {
 public:
  TrapWatcher(Port<Sum> observer, std::uint64_t traps) : observer_(observer), missing_(traps) {}

  void started() { spawn_next(); }
  void receive(const ::bulkhead::Down& down) {
    heard_after_ += Clock::now() - faulted_at;
    require(down.exit.trap() == ::bulkhead::TrapKind::kAccess, "it trapped");
    if (--missing_ > 0) return spawn_next();
    observer_.send(Sum{static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(heard_after_).count())});
  }

 private:
  void spawn_next() {
    ::bulkhead::MonitorRef monitor;
    SpawnOptions options = isolated_on(0);
    options.monitor = &monitor;
    ::bulkhead::spawn_with(options, [] { fault(); });
  }

  Port<Sum> observer_;
  std::uint64_t missing_;
  Clock::duration heard_after_{};
};

inline Result trap(const Request& request) {
  System system(request.cores, 1, without_reports());
  const auto began = Clock::now();
  system->spawn_with<TrapWatcher>(pinned_to(0), system.observer(), request.n);
  const auto heard_after = static_cast<double>(system.total());
  const auto elapsed = Clock::now() - began;
  return Result(request.n, elapsed)
      .extra("heard_after_ns", heard_after / static_cast<double>(request.n));
}

/// Traps whenever it has been made anew.
class Phoenix {
 public:
  Phoenix(Port<Sum> observer, std::uint64_t traps) : observer_(observer), traps_(traps) {}
  void started() {
    if (made_++ < traps_) fault();
    observer_.send(Sum{made_});
  }
  void receive(Number /*message*/) {}

  static inline std::uint64_t made_ = 0;

 private:
  Port<Sum> observer_;
  std::uint64_t traps_;
};

inline Result trap_restart(const Request& request) {
  System system(request.cores, 1, without_reports());
  SpawnOptions options = isolated_on(0);
  options.restart = ::bulkhead::RestartInPlace{.limit = request.n, .window = std::chrono::hours(1)};
  Phoenix::made_ = 0;
  const auto began = Clock::now();
  system->spawn_with<Phoenix>(options, system.observer(), request.n);
  const std::uint64_t made = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(made, request.n + 1, "lives");
  return Result(request.n, elapsed);
}

struct Three {
  std::array<std::int32_t, 3> numbers{};
};

/// Adds what is in its messages, and reports after so many.
class Inmate {
 public:
  Inmate(Port<Sum> observer, std::uint64_t expected) : observer_(observer), missing_(expected) {}

  void receive(Three three) { add(static_cast<std::uint64_t>(three.numbers[2])); }
  void receive(const std::string& text) { add(text.size()); }

 private:
  void add(std::uint64_t value) {
    sum_ += value;
    if (--missing_ == 0) observer_.send(Sum{sum_});
  }
  Port<Sum> observer_;
  std::uint64_t missing_;
  std::uint64_t sum_ = 0;
};

template <class Message>
Result into_isolated(const Request& request, const Message& message, std::uint64_t value) {
  System system(request.cores);
  const auto inmate = system->spawn_with<Inmate>(isolated_on(0), system.observer(), request.n);
  Clock::time_point began;
  system->spawn_with(pinned_to(0), [inmate, &message, n = request.n, &began] {
    began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) inmate.send(message);
  });
  const std::uint64_t sum = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, request.n * value, "sum of the messages");
  return Result(request.n, elapsed);
}

inline Result isolated_three(const Request& request) {
  return into_isolated(request, Three{{1, 2, 3}}, 3);
}

inline Result isolated_string(const Request& request) {
  return into_isolated(request, std::string(100, 's'), 100);
}

/// Has a small heap in use, and waits.
class Cell {
 public:
  Cell() : name_(40, 'n') {}
  std::uint64_t receive(Number number) { return number.value + name_.size(); }

 private:
  std::string name_;
};

inline Result isolated_memory(const Request& request) {
  System system(request.cores);
  std::vector<Address<Cell>> cells;
  cells.reserve(request.n);
  const std::uint64_t before = resident_bytes();
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i) {
    cells.push_back(system->spawn_with<Cell>(isolated_on(0)));
  }
  system->wait_for_idle();
  const auto elapsed = Clock::now() - began;
  const std::uint64_t after = resident_bytes();
  const auto count = static_cast<double>(request.n);
  const double committed = static_cast<double>(::bulkhead::heap_bytes_committed()) / count;
  for (const auto& cell : cells) {
    const auto answer = cell.ask(Number{2});
    require(answer.has_value() && *answer == 42, "it lives");
  }
  return Result(request.n, elapsed)
      .extra("committed_bytes", committed)
      .extra("bytes_per_actor", (static_cast<double>(after) - static_cast<double>(before)) / count);
}

inline Result stage_ping_pong(const Request& request) {
  ::bulkhead::StageConfig config;
  config.actors = 3;
  ::bulkhead::Stage stage(config);
  std::uint64_t rounds = 0;
  struct Last {
    explicit Last(std::uint64_t& its_rounds) : rounds(its_rounds) {}
    void receive(Sum sum) { rounds = sum.value; }
    std::uint64_t& rounds;
  };
  const auto last = stage.spawn<Last>(rounds);
  const auto pong = stage.spawn<Pong>();
  const auto began = Clock::now();
  stage.spawn<Ping>(pong, last, request.n);
  while (rounds == 0) stage.run(std::chrono::milliseconds(1));
  const auto elapsed = Clock::now() - began;
  require_equal(rounds, request.n, "round trips");
  return Result(2 * request.n, elapsed);
}

}  // namespace bench
