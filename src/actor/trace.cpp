// The functions of Runtime that trace: see core/trace.hpp.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "actor/refusals.hpp"
#include "bulkhead/runtime.hpp"
#include "core/domain.hpp"

namespace bulkhead {

namespace {

constexpr std::size_t kFewestEvents = 16;
constexpr std::size_t kMostEvents = 16'777'216;

void check(const TraceOptions& options) {
  if (options.events_per_core < kFewestEvents || options.events_per_core > kMostEvents) {
    throw ConfigError("bulkhead: TraceOptions::events_per_core is " +
                      std::to_string(options.events_per_core) + "; it must be 16 to 16,777,216");
  }
}

std::expected<void, TraceError> result(std::optional<TraceError> error) {
  if (error) return std::unexpected(*std::move(error));
  return {};
}

void refuse_here(const core::Domain& domain, const char* function) {
  refuse_in_fork(domain, function);
  refuse_in_actor(function, "it waits for all cores; call it by bulkhead::blocking");
}

}  // namespace

void check_trace(const Config& config) {
  if (!config.trace) return;
  check(config.trace->options);
  const int ways = (config.trace->path.empty() ? 0 : 1) + (config.trace->sink ? 1 : 0) +
                   (config.trace->flight_recorder ? 1 : 0);
  if (ways != 1) {
    throw ConfigError(
        "bulkhead: Config::trace: one of path, sink and flight_recorder must be set, and no more");
  }
}

std::optional<TraceSettings> trace_from_environment() {
  const char* path = std::getenv("BULKHEAD_TRACE");
  if (path == nullptr || *path == '\0') return std::nullopt;
  static sync::RealSync::atomic<unsigned> files{0};
  const unsigned number = files.fetch_add(1, std::memory_order_relaxed) + 1;
  return TraceSettings{.path = number == 1 ? path : path + ("." + std::to_string(number))};
}

std::expected<void, TraceError> Runtime::start_trace(const std::string& path,
                                                     const TraceOptions& options) {
  check(options);
  refuse_here(*domain_, "Runtime::start_trace");
  return result(domain_->trace.start(path, {}, options));
}

std::expected<void, TraceError> Runtime::start_trace(TraceSink sink, const TraceOptions& options) {
  check(options);
  if (!sink) {
    throw std::invalid_argument("bulkhead: Runtime::start_trace was given an empty sink");
  }
  refuse_here(*domain_, "Runtime::start_trace");
  return result(domain_->trace.start({}, std::move(sink), options));
}

std::expected<TraceSummary, TraceError> Runtime::stop_trace() {
  refuse_here(*domain_, "Runtime::stop_trace");
  return domain_->trace.stop();
}

// In a fork nobody may let go of the trace's lock.
bool Runtime::tracing() const noexcept {
  return !domain_->left_behind() && domain_->trace.writes();
}

std::expected<void, TraceError> Runtime::start_flight_recorder(const TraceOptions& options) {
  check(options);
  refuse_here(*domain_, "Runtime::start_flight_recorder");
  return result(domain_->trace.start_recorder(options));
}

void Runtime::stop_flight_recorder() {
  refuse_here(*domain_, "Runtime::stop_flight_recorder");
  domain_->trace.stop_recorder();
}

std::vector<std::string> Runtime::last_events(const LastEvents& which) const {
  if (domain_->left_behind()) return {};
  return domain_->trace.last(which);
}

}  // namespace bulkhead
