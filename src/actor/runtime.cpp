#include "bulkhead/runtime.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "actor/refusals.hpp"
#include "base/error_log.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "machine/cpus.hpp"

namespace bulkhead {

namespace {

using core::kMostCores;
constexpr std::size_t kMostAllocations = 1'000'000'000;
constexpr std::size_t kMostReductions = 1'000'000'000'000;

// A whole number in the environment; nothing when the variable is not set, or empty.
std::optional<std::size_t> number_from_environment(const char* name, std::size_t least,
                                                   std::size_t most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view given(text);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (error != std::errc() || end != given.data() + given.size() || number < least ||
      number > most) {
    throw ConfigError(std::string("bulkhead: the environment's ") + name + " is \"" +
                      std::string(given) + "\"; it must be a whole number from " +
                      std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

// Both variables are read, so that a wrong one is told.
std::chrono::nanoseconds message_slice_from_environment() {
  const bool on = number_from_environment("BULKHEAD_PREEMPT", 0, 1).value_or(0) == 1;
  const std::size_t milliseconds =
      number_from_environment("BULKHEAD_PREEMPT_MS", 1, 3'600'000).value_or(1);
  return std::chrono::milliseconds(on ? milliseconds : 0);
}

std::size_t wanted_cores(const Config& config) {
  if (config.cores) {
    if (*config.cores == 0 || *config.cores > kMostCores) {
      throw ConfigError("bulkhead: Config::cores is " + std::to_string(*config.cores) +
                        "; it must be 1 to 256, or unset for all CPUs");
    }
    return *config.cores;
  }
  const auto cores = number_from_environment("BULKHEAD_CORES", 1, kMostCores);
  return cores ? *cores : std::min(machine::usable_cpus(), kMostCores);
}

void check(const Config& config) {
  if (config.max_actors == 0 || config.max_actors > core::kMaxSlots) {
    throw ConfigError("bulkhead: Config::max_actors is " + std::to_string(config.max_actors) +
                      "; it must be 1 to " + std::to_string(core::kMaxSlots));
  }
  if (config.run_queue > RunQueue::kRounds) {
    throw ConfigError("bulkhead: Config::run_queue is " +
                      std::to_string(static_cast<unsigned>(config.run_queue)) +
                      "; it must be one of RunQueue's values, 0 to 4");
  }
  if (!config.hand_over_after.is_forever() &&
      config.hand_over_after.nanoseconds() < machine::kMillisecond) {
    throw ConfigError("bulkhead: Config::hand_over_after is " +
                      std::to_string(config.hand_over_after.nanoseconds()) +
                      " ns; it must be 1 ms or more, or kForever");
  }
  if (config.stack_size < machine::kMinStackBytes || config.stack_size > machine::kMaxStackBytes) {
    throw ConfigError("bulkhead: Config::stack_size is " + std::to_string(config.stack_size) +
                      " bytes; it must be 16 KiB to 1 GiB");
  }
}

// Read when a panic ends the process, where it is too late to refuse it.
void check_stack_trace_setting() {
  const char* text = std::getenv("BULKHEAD_STACK_TRACE");
  const std::string_view given(text != nullptr ? text : "");
  if (!given.empty() && given != "0" && given != "1") {
    throw ConfigError("bulkhead: the environment's BULKHEAD_STACK_TRACE is \"" +
                      std::string(given) + "\"; it must be 0 or 1");
  }
}

void check_preemption(const Config& config) {
  using namespace std::chrono_literals;
  if (config.time_slice < 0ns || config.time_slice > 10s) {
    throw ConfigError("bulkhead: Config::time_slice is " +
                      std::to_string(config.time_slice.count()) +
                      " ns; it must be 0 to 10 seconds");
  }
  if (config.preempt_allocations > kMostAllocations) {
    throw ConfigError("bulkhead: Config::preempt_allocations is " +
                      std::to_string(config.preempt_allocations) +
                      "; it must be 1 to 1,000,000,000, or 0 for never");
  }
  if (config.preempt_reductions > kMostReductions) {
    throw ConfigError("bulkhead: Config::preempt_reductions is " +
                      std::to_string(config.preempt_reductions) +
                      "; it must be 1 to 1,000,000,000,000, or 0 for never");
  }
  const std::chrono::nanoseconds between = config.message_slice.value_or(0ns);
  if (between != 0ns && (between < 1us || between > 1h)) {
    throw ConfigError("bulkhead: Config::message_slice is " + std::to_string(between.count()) +
                      " ns; it must be 1 us to 1 h, or 0 for never");
  }
}

std::optional<LogFormat> log_format_from_environment() {
  const char* text = std::getenv("BULKHEAD_LOG");
  const std::string_view given(text != nullptr ? text : "");
  if (given.empty()) return std::nullopt;
  if (given == "text") return LogFormat::kText;
  if (given == "json") return LogFormat::kJson;
  if (given == "off") return LogFormat::kOff;
  throw ConfigError("bulkhead: the environment's BULKHEAD_LOG is \"" + std::string(given) +
                    "\"; it must be text, json or off");
}

void check(const LogSettings& settings) {
  constexpr std::size_t kMost = 1'000'000;
  if (settings.per_second == 0 || settings.per_second > kMost) {
    throw ConfigError("bulkhead: Config::log.per_second is " + std::to_string(settings.per_second) +
                      "; it must be 1 to 1,000,000");
  }
  if (settings.format && *settings.format > LogFormat::kOff) {
    throw ConfigError("bulkhead: Config::log.format is " +
                      std::to_string(static_cast<unsigned>(*settings.format)) +
                      "; it must be one of LogFormat's values, 0 to 2");
  }
}

bool on_a_core() noexcept {
  const core::BrieflyInside inside;
  return inside.core() != nullptr;
}

}  // namespace

void refuse_in_actor(const char* function, const char* why) {
  if (on_a_core()) {
    throw std::logic_error(std::string("bulkhead: ") + function +
                           " was called by an actor: " + why);
  }
}

void refuse_in_fork(const core::Domain& domain, const char* function) {
  if (domain.left_behind()) {
    throw std::logic_error(std::string("bulkhead: ") + function +
                           " was called in a child process of the one that runs this runtime: its "
                           "threads are not here; make a Runtime after the fork");
  }
}

Config checked(const Config& config) {
  check(config);
  check_stack_trace_setting();
  check_preemption(config);
  check_trace(config);
  check(config.log);
  Config whole = config;
  if (!whole.message_slice) whole.message_slice = message_slice_from_environment();
  if (number_from_environment("BULKHEAD_FAULT_REPORTS", 0, 1) == 0) whole.report_faults = false;
  const auto format = log_format_from_environment();
  if (!whole.log.format) whole.log.format = format;
  return whole;
}

Runtime::Runtime(const Config& config) {
  const Config whole = checked(config);
  const std::size_t cores = wanted_cores(config);
  core::Slab::process();
  domain_ = &core::Domain::take(whole, cores);
}

Runtime::~Runtime() {
  if (domain_->left_behind()) return;
  if (domain_->running() && on_a_core()) {
    std::fprintf(stderr,
                 "bulkhead: a runtime that runs is destroyed in an actor (which has called exit?); "
                 "it is left running\n");
    return;
  }
  shutdown();
  core::Domain::give(*domain_);
}

void Runtime::start() {
  refuse_in_fork(*domain_, "Runtime::start");
  refuse_in_actor("Runtime::start (or bulkhead::run)",
                  "runtimes are started by threads outside; in an actor, bulkhead::spawn and "
                  "spawn_joinable make others in its own runtime");
  if (domain_->running()) throw std::logic_error("bulkhead: Runtime::start: it runs already");
  domain_->start(domain_->config().trace ? std::nullopt : trace_from_environment());
}

void Runtime::shutdown(Timeout patience) {
  if (!domain_->running() || domain_->left_behind()) return;
  refuse_in_actor("Runtime::shutdown");
  const bool idle =
      domain_->wait_for_idle(core::Domain::Countdowns::kIgnore, patience.nanoseconds());
  domain_->stop(idle ? core::Domain::Left::kIdle : core::Domain::Left::kBusy);
}

bool Runtime::running() const noexcept { return domain_->running() && !domain_->left_behind(); }

bool Runtime::wait_for_idle(Timeout timeout) {
  refuse_in_fork(*domain_, "Runtime::wait_for_idle");
  refuse_in_actor("Runtime::wait_for_idle");
  return domain_->wait_for_idle(core::Domain::Countdowns::kWaitFor, timeout.nanoseconds());
}

bool Runtime::wait_for_end(Timeout timeout) {
  refuse_in_fork(*domain_, "Runtime::wait_for_end");
  refuse_in_actor("Runtime::wait_for_end");
  return domain_->wait_for_end(timeout.nanoseconds());
}

void Host::log_line(std::string text, LineKind kind) noexcept {
  {
    const core::Inside inside;
    if (const core::Telling runs(*domain_); runs) {
      return domain_->reporter.put_line(core::line_kind(kind), text);
    }
  }
  base::log_error(base::Severity::kWarning, text);
}

Stats Host::stats() const { return domain_->stats(); }

std::size_t Runtime::cores() const noexcept { return domain_->core_count(); }

}  // namespace bulkhead
