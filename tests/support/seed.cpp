#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>

namespace support {

std::uint64_t seed_of_test() {
  const char* given = std::getenv("BULKHEAD_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::cout << "seed " << seed << "; to repeat: BULKHEAD_SEED=" << seed << ' '
            << program_invocation_short_name << " --gtest_filter=" << test->test_suite_name() << '.'
            << test->name() << std::endl;
  return seed;
}

std::chrono::milliseconds stress_time() {
  const char* given = std::getenv("BULKHEAD_STRESS_SECONDS");
  return given != nullptr ? std::chrono::seconds(std::strtoull(given, nullptr, 10))
                          : std::chrono::milliseconds(1500);
}

}  // namespace support
