// Bulkhead's works about time: timers, and the way into a runtime that sleeps.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bulkhead_messages.hpp"
#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

struct Due {
  std::int64_t at_ns = 0;
};

struct Lateness {
  double first_ms = 0;
  double median_ms = 0;
  double mean_ms = 0;
  double last_ms = 0;
};

/// Asks for the lateness of so many timers; answered when all have fired.
struct FireTimers {
  using Answer = Lateness;
  std::uint64_t count = 0;
};

struct TimerCost {
  Clock::duration start{};
  Clock::duration cancel{};
  std::uint64_t cancelled = 0;
};

struct StartAndCancel {
  std::uint64_t count = 0;
};

/// Starts timers that send to itself.
class TimerStarter {
 public:
  TimerCost receive(StartAndCancel wanted) {
    std::vector<::bulkhead::TimerRef> timers(wanted.count);
    TimerCost cost;
    const auto began = Clock::now();
    for (std::uint64_t i = 0; i < timers.size(); ++i) {
      timers[i] = ::bulkhead::send_after(std::chrono::minutes(1), me(), Due{});
      give_way_after(i);
    }
    const auto started = Clock::now();
    for (const auto timer : timers) cost.cancelled += ::bulkhead::cancel(timer) ? 1 : 0;
    const auto ended = Clock::now();
    cost.start = started - began;
    cost.cancel = ended - started;
    return cost;
  }

  void receive(FireTimers wanted, Reply<Lateness> reply) {
    reply_ = std::move(reply);
    expected_ = wanted.count;
    late_ms_.reserve(expected_);
    constexpr std::chrono::seconds kDelay{1};
    for (std::uint64_t i = 0; i < wanted.count; ++i) {
      ::bulkhead::send_after(kDelay, me(), Due{ns_since_epoch(Clock::now() + kDelay)});
      give_way_after(i);
    }
  }

  void receive(Due due) {
    require(due.at_ns != 0, "a cancelled timer does not fire");
    late_ms_.push_back(static_cast<double>(ns_since_epoch(Clock::now()) - due.at_ns) / 1e6);
    if (late_ms_.size() == expected_) (*reply_)(lateness());
  }

 private:
  /// A thousand timers a turn, not a million: the runtime files new ones between turns, which is
  /// part of what they cost.
  static void give_way_after(std::uint64_t timer) {
    if (timer % 16 == 15) this_actor::yield();
  }

  static std::int64_t ns_since_epoch(Clock::time_point time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
  }

  [[nodiscard]] Port<Due> me() const { return this_actor::address(this); }

  Lateness lateness() {
    const double total = std::accumulate(late_ms_.begin(), late_ms_.end(), 0.0);
    Lateness found;
    found.mean_ms = total / static_cast<double>(late_ms_.size());
    found.first_ms = percentile(late_ms_, 0.0);
    found.median_ms = percentile(late_ms_, 0.5);
    found.last_ms = percentile(late_ms_, 1.0);
    return found;
  }

  std::vector<double> late_ms_;
  std::uint64_t expected_ = 0;
  std::optional<Reply<Lateness>> reply_;
};

inline Result timers(const Request& request) {
  System system(request.cores);
  const auto starter = system->spawn<TimerStarter>();
  const auto cost = starter.ask(StartAndCancel{request.n}, ::bulkhead::kForever);
  require(cost.has_value(), "timers are started and cancelled");
  require_equal(cost->cancelled, request.n, "timers cancelled in time");
  const auto late = starter.ask(FireTimers{request.n}, ::bulkhead::kForever);
  require(late.has_value(), "timers fire");
  require(late->first_ms >= 0, "no timer fires before it is due");
  const auto count = static_cast<double>(request.n);
  return Result(request.n, cost->start)
      .extra("start_ns", to_ns(cost->start) / count)
      .extra("cancel_ns", to_ns(cost->cancel) / count)
      .extra("late_p50_ms", late->median_ms)
      .extra("late_mean_ms", late->mean_ms)
      .extra("late_max_ms", late->last_ms);
}

inline Result idle_round_trip(const Request& request) {
  System system(request.cores);
  const auto server = system->spawn<Incrementer>();
  std::vector<double> samples;
  Clock::duration total{};
  for (std::uint64_t i = 0; i < request.n; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto began = Clock::now();
    const auto reply = server.ask(Question{i});
    const auto elapsed = Clock::now() - began;
    require(reply.has_value(), "an ask is answered");
    require_equal(*reply, i + 1, "reply");
    total += elapsed;
    samples.push_back(to_ns(elapsed) / 1e3);
  }
  return Result(request.n, total)
      .extra("p50_us", percentile(samples, 0.50))
      .extra("p99_us", percentile(samples, 0.99));
}

}  // namespace bench
