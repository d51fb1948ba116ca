#include "bulkhead/runtime.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/slab.hpp"
#include "machine/cpus.hpp"

namespace bulkhead {

namespace {

constexpr std::size_t kMostCores = 256;

std::size_t cores_from_environment() {
  const char* text = std::getenv("BULKHEAD_CORES");
  if (text == nullptr) return 0;
  const std::string_view given(text);
  std::size_t cores = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), cores);
  if (error != std::errc() || end != given.data() + given.size() || cores == 0 ||
      cores > kMostCores) {
    throw ConfigError("bulkhead: the environment's BULKHEAD_CORES is \"" + std::string(given) +
                      "\"; it must be a whole number from 1 to 256");
  }
  return cores;
}

std::size_t wanted_cores(const Config& config) {
  if (config.cores) {
    if (*config.cores == 0 || *config.cores > kMostCores) {
      throw ConfigError("bulkhead: Config::cores is " + std::to_string(*config.cores) +
                        "; it must be 1 to 256, or unset for all CPUs");
    }
    return *config.cores;
  }
  const std::size_t cores = cores_from_environment();
  return cores != 0 ? cores : std::min(machine::usable_cpus(), kMostCores);
}

void check(const Config& config) {
  if (config.max_actors == 0 || config.max_actors > core::kMaxSlots) {
    throw ConfigError("bulkhead: Config::max_actors is " + std::to_string(config.max_actors) +
                      "; it must be 1 to " + std::to_string(core::kMaxSlots));
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

void refuse_in_actor(const char* function) {
  const core::Inside inside;
  if (core::Core::current() != nullptr) {
    throw std::logic_error(std::string("bulkhead: ") + function +
                           " was called by an actor: it would wait for itself");
  }
}

}  // namespace

Runtime::Runtime(const Config& config) : domain_(nullptr) {
  check(config);
  const std::size_t cores = wanted_cores(config);
  core::Slab::process();
  domain_ = &core::Domain::take(config, cores);
}

Runtime::~Runtime() {
  shutdown();
  core::Domain::give(*domain_);
}

void Runtime::start() {
  refuse_in_actor("Runtime::start");
  if (domain_->running()) throw std::logic_error("bulkhead: Runtime::start: it runs already");
  domain_->start();
}

void Runtime::shutdown(Timeout patience) {
  if (!domain_->running()) return;
  refuse_in_actor("Runtime::shutdown");
  const bool idle =
      domain_->wait_for_idle(core::Domain::Countdowns::kIgnore, patience.nanoseconds());
  domain_->stop(idle ? core::Domain::Left::kIdle : core::Domain::Left::kBusy);
}

bool Runtime::running() const noexcept { return domain_->running(); }

bool Runtime::wait_for_idle(Timeout timeout) {
  refuse_in_actor("Runtime::wait_for_idle");
  return domain_->wait_for_idle(core::Domain::Countdowns::kWaitFor, timeout.nanoseconds());
}

Stats Runtime::stats() const { return domain_->stats(); }

std::size_t Runtime::cores() const noexcept { return domain_->core_count(); }

}  // namespace bulkhead
