/// A log that keeps what it is told, for tests.
#pragma once

#include <bulkhead/log.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/log.hpp"
#include "support/wait.hpp"

namespace support {

class Crashes final : public bulkhead::Log {
 public:
  void crash(const bulkhead::CrashReport& report) override { reports_.add(report); }
  void line(std::string_view text) override { lines_.add(std::string(text)); }

  [[nodiscard]] std::vector<bulkhead::CrashReport> reports() const { return reports_.entries(); }
  [[nodiscard]] std::vector<std::string> lines() const { return lines_.entries(); }
  [[nodiscard]] std::size_t size() const { return reports_.size(); }
  /// Waits until there are so many. Whether there are more is certain when the runtime has shut
  /// down.
  [[nodiscard]] bool wait_for(std::size_t count) const {
    return eventually([&] { return size() >= count; });
  }
  /// Waits for a line in which that text is; false when none comes.
  [[nodiscard]] bool wait_for_line(std::string_view text) const {
    return eventually([&] {
      for (const std::string& line : lines()) {
        if (line.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }

 private:
  support::Log<bulkhead::CrashReport> reports_;
  support::Log<std::string> lines_;
};

/// Tells all of them, however fast they come.
inline bulkhead::LogSettings told_to(std::shared_ptr<Crashes> crashes) {
  return {.log = std::move(crashes), .per_second = 1'000'000};
}

}  // namespace support
