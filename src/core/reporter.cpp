#include "core/reporter.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "base/error_log.hpp"
#include "core/domain.hpp"
#include "machine/cpus.hpp"
#include "machine/stack_trace.hpp"

namespace bulkhead::core {

namespace {

constexpr machine::Nanoseconds kSecond = 1'000'000'000;

void complain(const char* what) noexcept {
  std::fprintf(stderr, "bulkhead: the log has thrown: %s; what it was told is lost\n", what);
}

}  // namespace

Telling::Telling(Domain& domain) noexcept
    : domain_(domain),
      own_(Core::current() != nullptr &&
           Core::current()->domain.load(std::memory_order_relaxed) == &domain),
      entered_(!own_ && !domain.left_behind() && domain.gate.enter()) {}

Telling::~Telling() {
  if (entered_) domain_.gate.leave();
}

// --- any thread ----------------------------------------------------------------------------------

// Where very many crash at once, most are refused: that is quick.
bool Reporter::admits(Kind kind, machine::Nanoseconds now) noexcept {
  if (log_ == nullptr) return false;
  Limit& limit = limit_of(kind);
  machine::Nanoseconds ends = limit.second_ends.load(std::memory_order_relaxed);
  if (now >= ends &&
      limit.second_ends.compare_exchange_strong(ends, now + kSecond, std::memory_order_relaxed)) {
    limit.admitted.store(0, std::memory_order_relaxed);
  }
  const bool limited = kind != Kind::kRareLine;
  if (!limited || (limit.admitted.load(std::memory_order_relaxed) < per_second_ &&
                   limit.admitted.fetch_add(1, std::memory_order_relaxed) < per_second_)) {
    if (waiting_.fetch_add(1, std::memory_order_relaxed) < kMostWaiting) return true;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  leave_out(limit);
  return false;
}

// The first one wakes the thread, which looks again when the second has passed.
void Reporter::leave_out(Limit& limit) noexcept {
  if (limit.left_out.fetch_add(1, std::memory_order_relaxed) == 0) parker_.unpark();
}

void Reporter::put(std::unique_ptr<Told> told) noexcept {
  Told* const node = told.release();
  if (arrivals_.push_remote(node, node) == sync::Arrived::kMustWake) parker_.unpark();
}

void Reporter::lost(Kind kind) noexcept {
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  leave_out(limit_of(kind));
}

void Reporter::put_late(std::unique_ptr<Told> told) noexcept {
  if (admits(Kind::kCrash, machine::now())) put(std::move(told));
}

void Reporter::put_line(Kind kind, std::string_view text) noexcept {
  if (!admits(kind, machine::now())) return;
  try {
    auto told = std::make_unique<Told>();
    told->line = std::string(text);
    put(std::move(told));
  } catch (const std::bad_alloc&) {
    lost(kind);
  }
}

// --- start and stop ------------------------------------------------------------------------------

void Reporter::start(const LogSettings& settings) {
  std::shared_ptr<Log> log = settings.log;
  const LogFormat format = settings.format.value_or(LogFormat::kText);
  if (log == nullptr && format != LogFormat::kOff) log = stderr_log(format);
  if (log == nullptr) return;
  per_second_ = settings.per_second;
  redact_ = settings.redact;
  for (Limit& limit : limits_) {
    limit.second_ends.store(0, std::memory_order_relaxed);
    limit.admitted.store(0, std::memory_order_relaxed);
  }
  ends_.store(false, std::memory_order_relaxed);
  ++run_;
  log_ = std::move(log);
  try {
    thread_ = sync::Thread([this] { main(); });
  } catch (...) {
    log_.reset();
    throw;
  }
}

void Reporter::stop() noexcept {
  if (!thread_.joinable()) return;
  ends_.store(true, std::memory_order_release);
  parker_.unpark();
  thread_.join();
  log_.reset();
  redact_ = nullptr;
}

// --- the thread ----------------------------------------------------------------------------------

void Reporter::main() noexcept {
  machine::name_thread("bulkhead-log");
  for (;;) {
    const bool last = ends_.load(std::memory_order_acquire);
    for (Told* told = arrivals_.take_all(); told != nullptr;) {
      const std::unique_ptr<Told> mine(told);
      told = mine->next;
      tell(*mine);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    tell_left_out();
    if (last) return;
    if (!arrivals_.fall_asleep()) continue;
    bool left_out = false;
    for (const Limit& limit : limits_) {
      left_out |= limit.left_out.load(std::memory_order_relaxed) != 0;
    }
    if (!left_out) {
      parker_.park();
    } else {
      static_cast<void>(parker_.park_for(kSecond));
    }
    arrivals_.wake_up();
  }
}

template <class Tell>
void Reporter::guarded(Tell tell) noexcept {
  try {
    tell();
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("something that is not a std::exception");
  }
}

void Reporter::tell(Told& told) noexcept {
  guarded([&] {
    if (told.crash == nullptr) return log_->line(told.line);
    try {
      complete(told);
    } catch (const std::bad_alloc&) {  // it goes with what there is
    }
    redact(*told.crash);
    log_->crash(*told.crash);
  });
}

void Reporter::complete(Told& told) {
  CrashReport& crash = *told.crash;
  crash.last_events = domain_.trace.last({.actor = crash.actor, .most = CrashReport::kMostListed});
  crash.stack = machine::describe_throw(told.stack);  // takes long, and the events say how long ago
}

void Reporter::redact(CrashReport& crash) noexcept {
  if (!redact_) return;
  try {
    redact_(crash);
  } catch (...) {
    crash.state.clear();
    crash.label.clear();
    crash.stack.clear();
    crash.causes.clear();
    crash.reason.clear();
    try {
      crash.reason = "(not told: LogSettings::redact has thrown)";
    } catch (const std::bad_alloc&) {
    }
  }
}

// Those of a second that has passed; or, at the end, all.
void Reporter::tell_left_out() noexcept {
  const machine::Nanoseconds now = machine::now();
  const bool last = ends_.load(std::memory_order_relaxed);
  std::uint64_t counts[kKinds] = {};
  bool any = false;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Limit& limit = limits_[kind];
    if (!last && now < limit.second_ends.load(std::memory_order_relaxed)) continue;
    counts[kind] = limit.left_out.exchange(0, std::memory_order_relaxed);
    any |= counts[kind] != 0;
  }
  if (!any) return;
  guarded([&] {
    log_->line(std::to_string(counts[0]) + " more crashes and " +
               std::to_string(counts[1] + counts[2]) +
               " more lines are not told: they came faster than LogSettings::per_second (" +
               std::to_string(per_second_) + "), or than the log could take them");
  });
}

}  // namespace bulkhead::core
