/// Fixtures for behaviours that must hold on one core, on several, and on more than the machine
/// has.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <cstddef>
#include <string>

#include "support/run_queue.hpp"
#include "support/wait.hpp"

namespace support {

class OnCores : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static std::size_t cores() { return GetParam(); }
  [[nodiscard]] static bulkhead::Config config() {
    bulkhead::Config config;
    config.cores = cores();
    config.run_queue = run_queue();
    config.log.format = bulkhead::LogFormat::kOff;  // crashes are many here, and wanted
    return config;
  }
  /// May any core run an actor that was given none?
  [[nodiscard]] static bool roams() { return is_shared(run_queue()); }
  /// A core that exists: numbers go round.
  [[nodiscard]] static bulkhead::SpawnOptions begun_on(std::size_t number) {
    bulkhead::SpawnOptions options;
    options.core = number % cores();
    return options;
  }
  /// The same, for where it matters less: with a shared run queue actors are given none, or they
  /// would keep out of it.
  [[nodiscard]] static bulkhead::SpawnOptions on_core(std::size_t number) {
    return roams() ? bulkhead::SpawnOptions() : begun_on(number);
  }
  [[nodiscard]] static bulkhead::SpawnOptions pinned_to(std::size_t number) {
    bulkhead::SpawnOptions options = begun_on(number);
    options.pinned = true;
    return options;
  }
};

/// The same, with a runtime that runs.
class Running : public OnCores {
 protected:
  Running() : runtime(config()) { runtime.start(); }
  /// With settings beyond the number of cores.
  explicit Running(const bulkhead::Config& config) : runtime(config) { runtime.start(); }

  void wait_for_idle() { ASSERT_TRUE(runtime.wait_for_idle(kDeadline)); }

  bulkhead::Runtime runtime;
};

inline std::string name_of_cores(const testing::TestParamInfo<std::size_t>& info) {
  return std::to_string(info.param) + (info.param == 1 ? "_core" : "_cores");
}

}  // namespace support

/// Five are more than the machines have that these tests run on daily.
#define ON_ONE_AND_SEVERAL_CORES(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Cores, suite, testing::Values<std::size_t>(1, 2, 5), \
                           ::support::name_of_cores)
