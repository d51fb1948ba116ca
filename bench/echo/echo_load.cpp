// echo_load: puts a closed-loop load on a TCP echo server on this machine, and says how it did.
// Exit status: 0 all well, 1 errors or no connection, 2 the command line makes no sense, 130
// interrupted.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

#include "load.hpp"

namespace {

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

std::string readable(std::uint64_t nanoseconds) {
  char text[32];
  if (nanoseconds < 1'000'000) {
    std::snprintf(text, sizeof text, "%.1f us", microseconds(nanoseconds));
  } else {
    std::snprintf(text, sizeof text, "%.2f ms", microseconds(nanoseconds) / 1e3);
  }
  return text;
}

void print_second(const echo::Second& second) {
  const double rate =
      second.length > 0 ? static_cast<double>(second.latency.total()) / second.length : 0.0;
  std::printf("%5.1f s  %9.0f requests/s   p50 %-10s p99 %-10s", second.at, rate,
              readable(second.latency.percentile(0.50)).c_str(),
              readable(second.latency.percentile(0.99)).c_str());
  if (second.faults_closed != 0)
    std::printf(" faults %llu", static_cast<unsigned long long>(second.faults_closed));
  if (second.errors != 0)
    std::printf(" ERRORS %llu", static_cast<unsigned long long>(second.errors));
  std::puts(second.warming_up ? "  (warming up)" : "");
  std::fflush(stdout);
}

double rate(const echo::LoadReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.requests()) / report.seconds : 0.0;
}

void print_summary(const echo::LoadOptions& options, const echo::LoadReport& report) {
  const auto& latency = report.latency;
  std::printf("\n%u connection%s to %s, %zu bytes there and back, measured for %.1f s\n",
              options.connections, options.connections == 1 ? "" : "s", options.target.text.c_str(),
              options.message_bytes, report.seconds);
  std::printf("  requests    %llu, %.0f a second\n",
              static_cast<unsigned long long>(report.requests()), rate(report));
  if (report.requests() != 0) {
    std::printf("  latency     p50 %s, p99 %s, p99.9 %s, worst %s\n",
                readable(latency.percentile(0.50)).c_str(),
                readable(latency.percentile(0.99)).c_str(),
                readable(latency.percentile(0.999)).c_str(), readable(latency.max()).c_str());
  }
  if (report.faults_sent != 0) {
    std::printf(
        "  faults      %llu connections began with X, %llu of them were closed by the server\n",
        static_cast<unsigned long long>(report.faults_sent),
        static_cast<unsigned long long>(report.faults_closed));
  }
  if (options.cuts) {
    std::printf("  cuts        %llu connections were broken off by the server\n",
                static_cast<unsigned long long>(report.cuts));
  }
  if (report.reconnects != 0) {
    std::printf("  reconnects  %llu\n", static_cast<unsigned long long>(report.reconnects));
  }
  std::printf("  errors      %llu\n", static_cast<unsigned long long>(report.error_count()));
  for (std::size_t i = 0; i < report.errors.size(); ++i) {
    if (report.errors[i] == 0) continue;
    const std::string kind(echo::name(static_cast<echo::Fault>(i)));
    std::printf("    %-22s %llu\n", kind.c_str(),
                static_cast<unsigned long long>(report.errors[i]));
  }
}

void print_json(const echo::LoadOptions& options, const echo::LoadReport& report) {
  const auto& latency = report.latency;
  std::printf(
      "{\"connections\":%u,\"message_bytes\":%zu,\"seconds\":%.6f,\"requests\":%llu,"
      "\"requests_per_s\":%.1f,\"p50_us\":%.2f,\"p99_us\":%.2f,\"p999_us\":%.2f,\"max_us\":%.2f,"
      "\"faults_sent\":%llu,\"faults_closed\":%llu,\"cuts\":%llu,\"reconnects\":%llu,\"errors\":%"
      "llu,\"ok\":%s}"
      "\n",
      options.connections, options.message_bytes, report.seconds,
      static_cast<unsigned long long>(report.requests()), rate(report),
      microseconds(latency.percentile(0.50)), microseconds(latency.percentile(0.99)),
      microseconds(latency.percentile(0.999)), microseconds(latency.max()),
      static_cast<unsigned long long>(report.faults_sent),
      static_cast<unsigned long long>(report.faults_closed),
      static_cast<unsigned long long>(report.cuts),
      static_cast<unsigned long long>(report.reconnects),
      static_cast<unsigned long long>(report.error_count()), report.ok() ? "true" : "false");
}

void stop_early(int) { echo::interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Puts a load on a TCP echo server on this machine: every connection sends a message, waits "
      "for it to come back,\n"
      "compares it, and sends the next one.");
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  echo::LoadOptions options;
  double warm_up = options.warm_up.count();
  double duration = options.duration.count();
  bool json = false;
  app.add_option("--host", host, "Address of this machine: 127.x.y.z, ::1 or localhost")
      ->capture_default_str();
  app.add_option("-p,--port", port, "TCP port of the server")
      ->required()
      ->check(CLI::Range(1, 65535));
  app.add_option("-c,--connections", options.connections,
                 "Connections, each with one message in flight")
      ->capture_default_str()
      ->check(CLI::Range(1, 60000));
  app.add_option("-d,--duration", duration, "Seconds to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--warmup", warm_up, "Seconds before that, not counted")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--size", options.message_bytes, "Bytes of a message")
      ->capture_default_str()
      ->check(CLI::Range(echo::kSmallestMessage, std::size_t{1} << 20));
  app.add_option("--faults", options.faults,
                 "Share of the connections, from 0 to 1, that begin with the byte X, expect to be "
                 "closed by the server,\n"
                 "and then connect again")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--churn{100}", options.churn,
               "Close each connection after 100 messages (or --churn=N), and make a new one");
  app.add_flag(
      "--cuts", options.cuts,
      "Make connections anew that the server breaks off, and count them, but not as errors");
  app.add_flag("--json", json, "One line of JSON at the end, and nothing else");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("echo_load: ") + error.what() +
           "\nRun echo_load --help for what it understands.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  const auto target = echo::loopback_target(host, port);
  if (!target) {
    std::fprintf(stderr,
                 "echo_load: refusing to connect to '%s': only this machine's loopback addresses "
                 "(127.x.y.z, "
                 "::1, localhost) are allowed\n",
                 host.c_str());
    return 2;
  }
  options.target = *target;
  options.warm_up = std::chrono::duration<double>(warm_up);
  options.duration = std::chrono::duration<double>(duration);

  std::signal(SIGINT, stop_early);
  std::signal(SIGTERM, stop_early);
  std::signal(SIGPIPE, SIG_IGN);
  std::function<void(const echo::Second&)> on_second;
  if (!json) on_second = print_second;
  const echo::LoadReport report = echo::run_load(options, on_second);

  if (!report.stopped.empty()) std::fprintf(stderr, "echo_load: %s\n", report.stopped.c_str());
  if (json) {
    print_json(options, report);
  } else if (report.seconds > 0) {
    print_summary(options, report);
  }
  if (!report.first_error.empty())
    std::fprintf(stderr, "echo_load: first error: %s\n", report.first_error.c_str());
  if (echo::interrupted.load(std::memory_order_relaxed)) return 130;
  return report.ok() ? 0 : 1;
}
