// A closed-loop load on an echo server: every connection has one message in flight, and every reply
// is compared with what was sent. One thread, one epoll; nothing here may be used from another
// thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "histogram.hpp"
#include "target.hpp"

namespace echo {

struct LoadOptions {
  Target target;
  unsigned connections = 100;
  std::size_t message_bytes = 64;  ///< At least kSmallestMessage.
  std::chrono::duration<double> warm_up{1.0};
  std::chrono::duration<double> duration{5.0};
  double faults =
      0.0;  ///< Share of the connections that start with 'X' and must be closed by the server.
  std::uint64_t churn =
      0;              ///< Messages after which a connection is closed and made anew; 0: never.
  bool cuts = false;  ///< Connections that the server breaks off are made anew, and are no errors.
};

inline constexpr std::size_t kSmallestMessage = 16;

/// What can go wrong, each counted.
enum class Fault : std::size_t {
  kWrongContent,
  kClosedByServer,
  kFaultAnswered,
  kNoReply,
  kSystem,
  kCount
};

[[nodiscard]] std::string_view name(Fault fault);

struct LoadReport {
  double seconds = 0.0;  ///< Measured, without the warm-up.
  Histogram latency;     ///< Of the replies within the measured time.
  std::uint64_t faults_sent = 0;
  std::uint64_t faults_closed = 0;  ///< Closed by the server, as they should be.
  std::uint64_t cuts = 0;           ///< Broken off by the server, where that is no error.
  std::uint64_t reconnects = 0;     ///< By churn, after faults, cuts, and errors.
  std::array<std::uint64_t, static_cast<std::size_t>(Fault::kCount)> errors{};
  std::string first_error;
  std::string stopped;  ///< Why it ended early; empty if it did not.

  [[nodiscard]] std::uint64_t requests() const { return latency.total(); }
  [[nodiscard]] std::uint64_t error_count() const;
  [[nodiscard]] bool ok() const;
};

/// One second of the run, for showing progress.
struct Second {
  double at = 0.0;  ///< Seconds since the messages began to flow.
  double length = 0.0;
  bool warming_up = false;
  Histogram latency;
  std::uint64_t errors = 0;  ///< So far.
  std::uint64_t faults_closed = 0;
};

/// Set from a signal handler to end the run early, with a report.
extern std::atomic<bool> interrupted;

/// Connects, warms up, measures. If the connections cannot be made, `report.stopped` says which
/// address and why.
[[nodiscard]] LoadReport run_load(const LoadOptions& options,
                                  const std::function<void(const Second&)>& on_second);

}  // namespace echo
